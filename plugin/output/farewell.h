/* SPDX-License-Identifier: PostgreSQL */
/* The last message of a walsender that is told to end. */
#pragma once

#include "postgres.h"

/*
 * From here on, for the life of the process, a FATAL error is not sent to a client that does not
 * read. The server would wait for such a client, for ever, where it sends decoded changes.
 */
extern void varve_farewell_init(void);
