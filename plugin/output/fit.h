/* SPDX-License-Identifier: PostgreSQL */
/* Whether a change fits into a message. */
#pragma once

#include "plugin/output/output.h"

/* Makes what is sent of a change; after an error the caller starts anew. */
typedef void (*VarveEncodeChange)(VarveOutput *output, const VarveEvent *event);

/* Calls encode. False when the result is too large to be sent, and output->too_large why. */
extern bool varve_fit(VarveOutput *output, const VarveEvent *event, VarveEncodeChange encode);
