/* SPDX-License-Identifier: PostgreSQL */
/*
 * Output functions obey settings that roles and databases change. While text is made, these have
 * the values that schemas/README.md names.
 */
#pragma once

#include "postgres.h"

/*
 * Sets those that have other values until varve_settings_restore, or until the transaction or
 * subtransaction ends. Returns the level to restore, 0 for none. REQUIRES:
 * a transaction.
 */
extern int varve_settings_pin(void);
extern void varve_settings_restore(int level);
