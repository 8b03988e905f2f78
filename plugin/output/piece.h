/* SPDX-License-Identifier: PostgreSQL */
/* What pieces of transactions look like in the stream; schemas/README.md has them. */
#pragma once

#include "postgres.h"

#include "plugin/output/output.h"

static const uint32 varve_stage_flags[] = {
	[VARVE_STAGE_WHOLE] = 0,
	[VARVE_STAGE_PREPARED] = VARVE_TRANSACTION_PREPARED,
	[VARVE_STAGE_STREAMED] = VARVE_TRANSACTION_STREAMED,
	[VARVE_STAGE_STREAM_ABORT] = VARVE_TRANSACTION_STREAMED | VARVE_TRANSACTION_ABORT,
	[VARVE_STAGE_STREAM_COMMIT] = VARVE_TRANSACTION_STREAMED | VARVE_TRANSACTION_COMMIT,
	[VARVE_STAGE_STREAM_PREPARE] =
		VARVE_TRANSACTION_STREAMED | VARVE_TRANSACTION_PREPARED | VARVE_TRANSACTION_COMMIT,
	[VARVE_STAGE_COMMIT_PREPARED] = VARVE_TRANSACTION_COMMIT | VARVE_TRANSACTION_COMMIT_PREPARED,
	[VARVE_STAGE_ROLLBACK_PREPARED] =
		VARVE_TRANSACTION_COMMIT | VARVE_TRANSACTION_ROLLBACK_PREPARED,
};

/* What belongs to a subtransaction, or ends one, has its xid where others have an LSN. */
static inline uint64
varve_piece_position(const VarveEventTransaction *transaction)
{
	return transaction->stage == VARVE_STAGE_STREAMED ||
				   transaction->stage == VARVE_STAGE_STREAM_ABORT
			   ? transaction->subxid
			   : transaction->position;
}
