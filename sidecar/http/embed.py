#!/usr/bin/env python3
# SPDX-License-Identifier: PostgreSQL
"""Makes the C++ source that holds openapi.json: embed.py INPUT OUTPUT. Fails when INPUT is no JSON."""
import json
import sys

PIECE = 8000  # compilers bound the length of one literal


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        text = f.read()
    json.loads(text)
    pieces = [text[i:i + PIECE] for i in range(0, len(text), PIECE)]
    with open(sys.argv[2], "w", encoding="utf-8") as f:
        f.write('#include "sidecar/http/openapi.h"\n\nnamespace varve::http {\n\n')
        f.write("std::string_view OpenApiDocument() {\n  static constexpr char kText[] =\n")
        for piece in pieces:
            f.write(f'R"json({piece})json"\n')
        f.write(";\n  return std::string_view(kText, sizeof(kText) - 1);\n}\n\n}  // namespace varve::http\n")


main()
