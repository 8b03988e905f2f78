/* SPDX-License-Identifier: PostgreSQL */
/* Transactions in two phases: sent where they are prepared, ended by their identifier. */
#include "postgres.h"
#include "utils/memutils.h"

#include "plugin/output/callbacks.h"
#include "plugin/output/origin.h"

void
varve_output_begin_prepare(LogicalDecodingContext *ctx, ReorderBufferTXN *txn)
{
	varve_output_open(ctx->output_plugin_private, txn, VARVE_STAGE_PREPARED);
}

static void
send_prepare(VarveOutput *output)
{
	/* Also without changes: its end will come in another session that does not know of that. */
	varve_emit_begin(output);
	output->sink->commit(output);
	output->begun = false;
	/* So that another prepare is not taken for its end. */
	output->transaction.stage = VARVE_STAGE_WHOLE;
}

/* Is also called, outside decoding, for a transaction that rolled back while it was decoded. */
void
varve_output_prepare(LogicalDecodingContext *ctx, ReorderBufferTXN *txn, XLogRecPtr prepare_lsn)
{
	VarveOutput *output = ctx->output_plugin_private;
	MemoryContext old_context = varve_output_enter(output);
	bool changed = txn->base_snapshot != NULL;

	if (changed)
	{
		if (output->transaction.stage != VARVE_STAGE_PREPARED ||
			!TransactionIdEquals(output->transaction.xid, txn->xid))
			varve_output_open(output, txn, VARVE_STAGE_PREPARED);
		varve_output_close(output, txn);
		varve_origin_note(output, txn);
		send_prepare(output);
	}
	output->staged = NULL;
	varve_staged_free(txn);
	MemoryContextSwitchTo(old_context);
	MemoryContextReset(output->change_context);
	OutputPluginUpdateProgress(ctx, !changed);
}

static void
end_prepared(LogicalDecodingContext *ctx, ReorderBufferTXN *txn, VarveStage stage)
{
	VarveOutput *output = ctx->output_plugin_private;
	MemoryContext old_context = varve_output_enter(output);
	/* The server decodes no others, and says nothing where they are prepared. */
	bool changed = txn->base_snapshot != NULL;

	if (changed)
	{
		memset(&output->transaction, 0, sizeof(output->transaction));
		output->transaction.stage = stage;
		output->transaction.position = txn->end_lsn;
		output->transaction.commit_time = txn->xact_time.commit_time;
		output->transaction.xid = txn->xid;
		output->transaction.gid = txn->gid;
		output->next_seq = 0;
		varve_origin_note(output, txn);
		output->sink->end(output);
	}
	MemoryContextSwitchTo(old_context);
	MemoryContextReset(output->change_context);
	OutputPluginUpdateProgress(ctx, !changed);
}

void
varve_output_commit_prepared(LogicalDecodingContext *ctx, ReorderBufferTXN *txn,
							 XLogRecPtr commit_lsn)
{
	const VarveOutput *output = ctx->output_plugin_private;

	end_prepared(ctx, txn, VARVE_STAGE_COMMIT_PREPARED);
	if (txn->ninvalidations > 0)
		varve_relations_forget_announced(output->relations);
}

void
varve_output_rollback_prepared(LogicalDecodingContext *ctx, ReorderBufferTXN *txn,
							   XLogRecPtr prepare_end_lsn, TimestampTz prepare_time)
{
	end_prepared(ctx, txn, VARVE_STAGE_ROLLBACK_PREPARED);
}
