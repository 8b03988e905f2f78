/* SPDX-License-Identifier: PostgreSQL */
/*
 * Large transactions that are sent in blocks while they are in progress, other transactions between
 * them. A subtransaction, or all of it, may still roll back.
 */
#include "postgres.h"
#include "access/xact.h"
#include "utils/inval.h"
#include "utils/memutils.h"

#include "plugin/output/callbacks.h"
#include "plugin/output/origin.h"

void
varve_output_stream_start(LogicalDecodingContext *ctx, ReorderBufferTXN *txn)
{
	/*
	 * Transactions that were decoded since the last block have filled the caches with definitions
	 * from before this one's.
	 */
	for (uint32 i = 0; i < txn->ninvalidations; i++)
		LocalExecuteInvalidationMessage(&txn->invalidations[i]);
	varve_output_open(ctx->output_plugin_private, txn, VARVE_STAGE_STREAMED);
}

/*
 * The subtransaction that the change in hand belongs to, where the server does not say: it watches
 * it as long as it has not committed. One that has will not roll back: then it may as well be the
 * transaction itself.
 */
static TransactionId
watched_subtransaction(const ReorderBufferTXN *txn)
{
	return TransactionIdIsValid(CheckXidAlive) ? CheckXidAlive : txn->xid;
}

/* Is called again, outside decoding, when this or a change meets a concurrent abort. */
void
varve_output_stream_stop(LogicalDecodingContext *ctx, ReorderBufferTXN *txn)
{
	VarveOutput *output = ctx->output_plugin_private;
	MemoryContext old_context = varve_output_enter(output);

	/* Definitions go with the newest subtransaction: if it rolls back, they do not hold. */
	output->transaction.subxid = watched_subtransaction(txn);
	varve_output_close(output, txn);
	if (output->begun)
		output->sink->stop(output);
	output->begun = false;
	output->staged = NULL;
	varve_output_leave(output, old_context);
}

/* The next change belongs to this subtransaction, or to the transaction itself. */
static void
enter_subtransaction(VarveOutput *output, ReorderBufferTXN *subtxn, TransactionId subxid)
{
	output->subtxn = subtxn;
	output->transaction.subxid = subxid;
}

void
varve_output_stream_change(LogicalDecodingContext *ctx, ReorderBufferTXN *txn, Relation relation,
						   ReorderBufferChange *change)
{
	VarveOutput *output = ctx->output_plugin_private;

	enter_subtransaction(output, change->txn, change->txn->xid);
	varve_output_emit_change(output, relation, change);
}

void
varve_output_stream_truncate(LogicalDecodingContext *ctx, ReorderBufferTXN *txn, int count,
							 Relation relations[], ReorderBufferChange *change)
{
	VarveOutput *output = ctx->output_plugin_private;

	enter_subtransaction(output, change->txn, change->txn->xid);
	varve_output_emit_truncate(output, count, relations, change);
}

void
varve_output_stream_message(LogicalDecodingContext *ctx, ReorderBufferTXN *txn, XLogRecPtr lsn,
							bool transactional, const char *prefix, Size size, const char *content)
{
	VarveOutput *output = ctx->output_plugin_private;

	if (!output->options.messages)
		return;
	enter_subtransaction(output, NULL, watched_subtransaction(txn));
	varve_output_emit_message(output, true, prefix, size, content);
}

static void
end_stream(VarveOutput *output, ReorderBufferTXN *txn, TransactionId subxid, VarveStage stage)
{
	ReorderBufferTXN *top = txn->toptxn != NULL ? txn->toptxn : txn;
	const VarveStaged *staged = top->output_plugin_private;

	memset(&output->transaction, 0, sizeof(output->transaction));
	output->transaction.stage = stage;
	output->transaction.position = top->end_lsn;
	output->transaction.commit_time = top->xact_time.commit_time;
	output->transaction.xid = top->xid;
	output->transaction.subxid = subxid;
	if (stage == VARVE_STAGE_STREAM_PREPARE)
		output->transaction.gid = top->gid;
	output->next_seq = staged->next_seq;
	if (stage != VARVE_STAGE_STREAM_ABORT)
		varve_origin_note(output, top);
	output->sink->end(output);
}

static bool
was_sent(const ReorderBufferTXN *txn)
{
	const VarveStaged *staged = txn->output_plugin_private;

	return staged != NULL && staged->sent;
}

static void
abort_subtransaction(VarveOutput *output, ReorderBufferTXN *txn)
{
	VarveStaged *staged = txn->toptxn->output_plugin_private;

	if (staged == NULL ||
		(txn->output_plugin_private == NULL && !list_member_oid(staged->subxids, txn->xid)))
		return;
	end_stream(output, txn, txn->xid, VARVE_STAGE_STREAM_ABORT);
	staged->subxids = list_delete_oid(staged->subxids, txn->xid);
	varve_staged_forget_tables(staged);
}

void
varve_output_stream_abort(LogicalDecodingContext *ctx, ReorderBufferTXN *txn, XLogRecPtr abort_lsn)
{
	VarveOutput *output = ctx->output_plugin_private;
	MemoryContext old_context = varve_output_enter(output);

	if (txn->toptxn != NULL)
		abort_subtransaction(output, txn);
	else
	{
		if (was_sent(txn))
			end_stream(output, txn, txn->xid, VARVE_STAGE_STREAM_ABORT);
		varve_staged_free(txn);
	}
	varve_output_leave(output, old_context);
}

void
varve_output_stream_commit(LogicalDecodingContext *ctx, ReorderBufferTXN *txn,
						   XLogRecPtr commit_lsn)
{
	VarveOutput *output = ctx->output_plugin_private;
	MemoryContext old_context = varve_output_enter(output);
	bool sent = was_sent(txn);

	if (sent)
		end_stream(output, txn, txn->xid, VARVE_STAGE_STREAM_COMMIT);
	if (sent && txn->ninvalidations > 0)
		varve_relations_forget_announced(output->relations);
	varve_staged_free(txn);
	MemoryContextSwitchTo(old_context);
	MemoryContextReset(output->change_context);
	OutputPluginUpdateProgress(ctx, !sent);
}

void
varve_output_stream_prepare(LogicalDecodingContext *ctx, ReorderBufferTXN *txn,
							XLogRecPtr prepare_lsn)
{
	VarveOutput *output = ctx->output_plugin_private;
	MemoryContext old_context;

	/* Nothing of it was sent: it is one of those without changes. */
	if (!was_sent(txn))
	{
		varve_output_prepare(ctx, txn, prepare_lsn);
		return;
	}
	old_context = varve_output_enter(output);
	end_stream(output, txn, txn->xid, VARVE_STAGE_STREAM_PREPARE);
	varve_staged_free(txn);
	MemoryContextSwitchTo(old_context);
	MemoryContextReset(output->change_context);
	OutputPluginUpdateProgress(ctx, false);
}
