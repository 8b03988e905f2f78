// SPDX-License-Identifier: PostgreSQL
int main() { return 0; }
