/* SPDX-License-Identifier: PostgreSQL */
#pragma once

#include "plugin/output/output.h"

/* A row of the new heap of a table that is being rewritten. */
extern void varve_rewrite_change(VarveOutput *output, Relation heap, ReorderBufferChange *change);

/* definitions.c: all rows of the table were sent, with this many attributes. */
extern void varve_definitions_rewritten(VarveOutput *output, Oid relid, int attribute_count);
