/* SPDX-License-Identifier: PostgreSQL */
/* Where a transaction comes from that replication has applied here. */
#pragma once

#include "plugin/output/output.h"

/* Notes it in output->transaction, which is about to end; the name lives in change_context. */
extern void varve_origin_note(VarveOutput *output, const ReorderBufferTXN *txn);

/* For `origins`, of VarveOrigin: the name goes to the heap. */
extern void varve_origin_append(const VarveEventTransaction *transaction, uint32 piece,
								VarveBuffer *heap, VarveBuffer *origins);
