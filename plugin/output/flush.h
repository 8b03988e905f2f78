/* SPDX-License-Identifier: PostgreSQL */
/* Messages of small transactions are sent together, but never later than the walsender waits. */
#pragma once

#include "postgres.h"
#include "replication/logical.h"
#include "replication/reorderbuffer.h"

/* For a decoding context that sends batches; lasts as long as it. */
extern void varve_flush_open(LogicalDecodingContext *ctx);

/* Instead of OutputPluginWrite, for a message of `length` bytes. */
extern void varve_flush_write(LogicalDecodingContext *ctx, Size length);

/* Sends what is held as far as the client takes it now: it does not wait. */
extern void varve_flush_held(void);

/* Comes before the changes of a transaction, which may keep the walsender busy for long. */
extern void varve_flush_before(const LogicalDecodingContext *ctx, const ReorderBufferTXN *txn);
