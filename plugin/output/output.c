/* SPDX-License-Identifier: PostgreSQL */
#include "postgres.h"
#include "catalog/pg_class.h"
#include "replication/origin.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "plugin/output/callbacks.h"
#include "plugin/output/farewell.h"
#include "plugin/output/flush.h"
#include "plugin/output/origin.h"
#include "plugin/output/output.h"
#include "plugin/output/rewrite.h"
#include "plugin/output/root.h"
#include "plugin/output/settings.h"

/* How many changes may pass without a sign of life for the client. */
#define CHANGES_PER_KEEPALIVE 100

static void
require_support(const char *option, bool wanted, bool supported)
{
	if (wanted && !supported)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("option \"%s\" is not possible with this server and slot", option),
						errhint("Leave the option out, or give the value off.")));
}

/*
 * Where decoding ends well the server closes the WAL segment that it reads, and after an error in a
 * walsender. After one in an SQL function it stays open as long as the backend lives.
 */
static void
close_segment(void *argument)
{
	const VarveOutput *output = argument;
	XLogReaderState *reader = output->ctx->reader;

	if (!output->is_shut_down && reader->seg.ws_file >= 0)
		reader->routine.segment_close(reader);
}

static void
close_segment_after_error(VarveOutput *output)
{
	MemoryContextCallback *on_reset =
		MemoryContextAlloc(output->ctx->context, sizeof(MemoryContextCallback));

	on_reset->func = close_segment;
	on_reset->arg = output;
	MemoryContextRegisterResetCallback(output->ctx->context, on_reset);
}

void
varve_output_startup(LogicalDecodingContext *ctx, OutputPluginOptions *opt, bool is_init)
{
	VarveOutput *output;

	opt->output_type = OUTPUT_PLUGIN_BINARY_OUTPUT;
	/* The transient heaps of rewrites are how a rewrite is seen at all. */
	opt->receive_rewrites = true;
	if (is_init)
	{
		ctx->streaming = false;
		ctx->twophase = false;
		return;
	}
	varve_farewell_init();
	output = MemoryContextAllocZero(ctx->context, sizeof(VarveOutput));
	output->ctx = ctx;
	close_segment_after_error(output);
	varve_options_parse(ctx->output_plugin_options, &output->options);
	require_support("streaming", output->options.streaming, ctx->streaming);
	require_support("two_phase", output->options.two_phase, ctx->twophase);
	ctx->streaming &= output->options.streaming;
	ctx->twophase &= output->options.two_phase;
	/* With it the server marks the slot as one for prepared transactions. */
	ctx->twophase_opt_given = ctx->twophase;
	output->change_context =
		AllocSetContextCreate(ctx->context, "varve change", ALLOCSET_DEFAULT_SIZES);
	output->roots_context =
		AllocSetContextCreate(ctx->context, "varve roots", ALLOCSET_SMALL_SIZES);
	output->publications = varve_publications_open(output->options.publication_names, ctx->context);
	output->relations = varve_relations_open(
		output->publications, output->options.format == VARVE_FORMAT_JSON, ctx->context);
	if (output->options.format == VARVE_FORMAT_JSON)
	{
		opt->output_type = OUTPUT_PLUGIN_TEXTUAL_OUTPUT;
		output->sink = &varve_json_sink;
	}
	else
	{
		output->sink = &varve_batch_sink;
		output->batch = varve_batch_open(output, ctx->context);
		varve_flush_open(ctx);
	}
	ctx->output_plugin_private = output;
}

/* The server frees the reader next. */
void
varve_output_shutdown(LogicalDecodingContext *ctx)
{
	VarveOutput *output = ctx->output_plugin_private;

	if (output != NULL)
		output->is_shut_down = true;
}

void
varve_output_need_settings(VarveOutput *output)
{
	if (output->settings_level == 0)
		output->settings_level = varve_settings_pin();
}

MemoryContext
varve_output_enter(VarveOutput *output)
{
	return MemoryContextSwitchTo(output->change_context);
}

void
varve_output_leave(VarveOutput *output, MemoryContext old_context)
{
	MemoryContextSwitchTo(old_context);
	MemoryContextReset(output->change_context);
	if (VARVE_PLUGIN_KEEPS_ALIVE && ++output->unreported_changes >= CHANGES_PER_KEEPALIVE)
	{
		output->unreported_changes = 0;
		OutputPluginUpdateProgress(output->ctx, false);
	}
}

void
varve_output_open(VarveOutput *output, ReorderBufferTXN *txn, VarveStage stage)
{
	VarveEventTransaction *transaction = &output->transaction;

	varve_flush_before(output->ctx, txn);
	memset(transaction, 0, sizeof(*transaction));
	transaction->stage = stage;
	transaction->position = txn->end_lsn;
	transaction->commit_time = txn->xact_time.commit_time;
	transaction->xid = txn->xid;
	transaction->subxid = txn->xid;
	transaction->gid = stage == VARVE_STAGE_PREPARED ? txn->gid : NULL;
	output->txn = txn;
	output->staged = stage == VARVE_STAGE_WHOLE ? NULL : varve_staged_of(output, txn);
	output->number = output->staged == NULL ? ++output->last_number : output->staged->number;
	transaction->goes_on = output->staged != NULL && output->staged->sent;
	output->subtxn = NULL;
	output->begun = false;
	varve_move_forget(output);
	list_free(output->rewritten);
	output->rewritten = NIL;
	list_free(output->truncated);
	output->truncated = NIL;
	output->settings_level = 0;
	if (stage != VARVE_STAGE_STREAMED)
		output->unreported_changes = 0;
	if (txn->ninvalidations > 0 && HistoricSnapshotActive())
		varve_definitions_begin(output, txn);
}

/*
 * Where a concurrent abort cut it short the catalogs can no longer be read, and the settings are
 * what they were before.
 */
void
varve_output_close(VarveOutput *output, ReorderBufferTXN *txn)
{
	bool decoding = HistoricSnapshotActive();

	if (decoding)
		varve_move_flush(output);
	else
		varve_move_forget(output);
	output->subtxn = NULL;
	if (decoding && txn->ninvalidations > 0)
		varve_definitions_commit(output, txn);
	if (decoding)
		varve_settings_restore(output->settings_level);
	output->settings_level = 0;
	list_free(output->rewritten);
	output->rewritten = NIL;
	list_free(output->truncated);
	output->truncated = NIL;
	if (output->staged != NULL && output->begun)
		output->staged->next_seq = output->next_seq;
}

void
varve_output_begin(LogicalDecodingContext *ctx, ReorderBufferTXN *txn)
{
	varve_output_open(ctx->output_plugin_private, txn, VARVE_STAGE_WHOLE);
}

static void
set_event_tuples(VarveEvent *event, const ReorderBufferChange *change)
{
	event->new_tuple = varve_change_tuple(change->data.tp.newtuple);
	event->old_tuple = varve_change_tuple(change->data.tp.oldtuple);
	switch (change->action)
	{
		case REORDER_BUFFER_CHANGE_INSERT:
			event->op = VARVE_OP_INSERT;
			break;
		case REORDER_BUFFER_CHANGE_UPDATE:
			event->op = VARVE_OP_UPDATE;
			break;
		case REORDER_BUFFER_CHANGE_DELETE:
			event->op = VARVE_OP_DELETE;
			break;
		default:
			elog(ERROR, "unexpected kind of change: %d", (int)change->action);
	}
}

static void
emit_row(VarveOutput *output, VarveRelationEntry *entry, Relation relation,
		 ReorderBufferChange *change)
{
	VarveEvent event = {0};

	set_event_tuples(&event, change);
	event.entry = entry;
	event.relid = RelationGetRelid(relation);
	event.descriptor = event.old_descriptor = RelationGetDescr(relation);
	if (event.old_tuple != NULL && entry->identity == REPLICA_IDENTITY_FULL)
		event.flags |= VARVE_CHANGE_OLD_IS_FULL;
	if (entry->root_entry != NULL)
		varve_roots_map(entry, &event);
	varve_move_meet(output, &event, change);
	if (!varve_move_hold(output, &event, change))
		varve_emit(output, &event);
}

void
varve_output_emit_change(VarveOutput *output, Relation relation, ReorderBufferChange *change)
{
	MemoryContext old_context = varve_output_enter(output);
	VarveRelationEntry *entry = varve_relation_get(output->relations, relation);

	if (entry->is_transient)
	{
		varve_move_flush(output);
		varve_rewrite_change(output, relation, change);
	}
	else
	{
		varve_roots_note_row(output, entry);
		if (entry->published)
			emit_row(output, entry, relation, change);
		else
		{
			varve_move_flush(output);
			varve_definitions_unpublished(output, entry);
		}
	}
	varve_output_leave(output, old_context);
}

void
varve_output_change(LogicalDecodingContext *ctx, ReorderBufferTXN *txn, Relation relation,
					ReorderBufferChange *change)
{
	varve_output_emit_change(ctx->output_plugin_private, relation, change);
}

void
varve_output_emit_truncate(VarveOutput *output, int count, Relation relations[],
						   ReorderBufferChange *change)
{
	MemoryContext old_context = varve_output_enter(output);

	varve_move_flush(output);
	for (int i = 0; i < count; i++)
	{
		VarveEvent event = {0};

		event.entry = varve_relation_get(output->relations, relations[i]);
		if (!event.entry->published)
		{
			varve_definitions_unpublished(output, event.entry);
			continue;
		}
		varve_definitions_truncated(output, RelationGetRelid(relations[i]));
		if (event.entry->root_entry != NULL)
		{
			varve_roots_truncate(output, event.entry, count, relations);
			continue;
		}
		event.op = VARVE_OP_TRUNCATE;
		event.relid = RelationGetRelid(relations[i]);
		if (change->data.truncate.cascade)
			event.flags |= VARVE_CHANGE_TRUNCATE_CASCADE;
		if (change->data.truncate.restart_seqs)
			event.flags |= VARVE_CHANGE_TRUNCATE_RESTART;
		varve_emit(output, &event);
	}
	varve_output_leave(output, old_context);
}

void
varve_output_truncate(LogicalDecodingContext *ctx, ReorderBufferTXN *txn, int count,
					  Relation relations[], ReorderBufferChange *change)
{
	varve_output_emit_truncate(ctx->output_plugin_private, count, relations, change);
}

/*
 * A non-transactional message comes between transactions, before the one that wrote it ends or even
 * if it rolls back, and outside any transaction of ours: no catalogs, no settings.
 */
static void
emit_lone_message(VarveOutput *output, VarveEvent *event)
{
	memset(&output->transaction, 0, sizeof(output->transaction));
	output->transaction.position = output->ctx->reader->EndRecPtr;
	output->transaction.non_transactional = true;
	output->staged = NULL;
	output->begun = false;
	varve_emit(output, event);
	if (output->begun)
		output->sink->commit(output);
	output->begun = false;
}

void
varve_output_emit_message(VarveOutput *output, bool transactional, const char *prefix, Size size,
						  const char *content)
{
	MemoryContext old_context = varve_output_enter(output);
	VarveEvent event = {0};

	event.op = VARVE_OP_MESSAGE;
	event.prefix = (VarveBytes){prefix, strlen(prefix)};
	event.content = (VarveBytes){content, size};
	if (transactional)
	{
		varve_move_flush(output);
		event.flags = VARVE_CHANGE_MESSAGE_TRANSACTIONAL;
		varve_emit(output, &event);
	}
	else
		emit_lone_message(output, &event);
	varve_output_leave(output, old_context);
}

void
varve_output_message(LogicalDecodingContext *ctx, ReorderBufferTXN *txn, XLogRecPtr lsn,
					 bool transactional, const char *prefix, Size size, const char *content)
{
	VarveOutput *output = ctx->output_plugin_private;

	if (output->options.messages)
		varve_output_emit_message(output, transactional, prefix, size, content);
}

void
varve_output_commit(LogicalDecodingContext *ctx, ReorderBufferTXN *txn, XLogRecPtr commit_lsn)
{
	VarveOutput *output = ctx->output_plugin_private;
	MemoryContext old_context = varve_output_enter(output);
	bool begun;

	varve_output_close(output, txn);
	begun = output->begun;
	if (begun)
	{
		varve_origin_note(output, txn);
		output->sink->commit(output);
	}
	output->begun = false;
	MemoryContextSwitchTo(old_context);
	MemoryContextReset(output->change_context);
	/* Last, because a skipped transaction makes the walsender send a keepalive at once. */
	OutputPluginUpdateProgress(ctx, !begun);
}

bool
varve_output_filter_by_origin(LogicalDecodingContext *ctx, RepOriginId origin_id)
{
	const VarveOutput *output = ctx->output_plugin_private;

	return output != NULL && output->options.only_local && origin_id != InvalidRepOriginId;
}
