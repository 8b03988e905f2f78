/* SPDX-License-Identifier: PostgreSQL */
/* Whether a change fits into a message. */
#pragma once

#include "plugin/output/output.h"

/* Makes what is sent of a change; after an error the caller starts anew. */
typedef void (*VarveEncodeChange)(VarveOutput *output, const VarveEvent *event);

/* Calls encode. False when its result cannot be sent, and output->too_large why. */
extern bool varve_fit(VarveOutput *output, const VarveEvent *event, VarveEncodeChange encode);

/* Whether an error says something of the value in hand, and nothing of the server. */
extern bool varve_is_data_error(int sqlerrcode);

/* The beginning of a message's prefix: it may be as large as the message. */
extern char *varve_fit_shown_prefix(const VarveEvent *event);
