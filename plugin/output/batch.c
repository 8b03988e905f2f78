/* SPDX-License-Identifier: PostgreSQL */
/* format=flatbuffers: changes are collected in plain arrays, one message is built of them at a
 * time. */
#include "postgres.h"
#include "access/transam.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "access/xlogrecovery.h"
#include "commands/dbcommands.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "replication/slot.h"
#include "utils/guc.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

#include "plugin/output/fit.h"
#include "plugin/output/output.h"
#include "plugin/output/row.h"

#define REFS_MAX (VARVE_NO_RELATION - 1)

typedef struct VarveBatch
{
	VarveWire *wire;
	uint64 sequence;
	VarveHandshake handshake;
	HTAB *described; /* hashes of the descriptions that the client has */
	VarveBuffer heap;
	VarveBuffer scratch;
	VarveChange *changes;
	int change_count;
	int change_capacity;
	VarveTransaction *transactions;
	int transaction_count;
	int transaction_capacity;
	VarveRelationRef *refs;
	int ref_count;
	size_t described_bytes; /* of the descriptions that the next message begins with */
	int ref_capacity;
	bool piece_open; /* the last of `transactions` belongs to the transaction in hand */
	bool begin_sent;
} VarveBatch;

static void
close_wire(void *wire)
{
	varve_wire_close(wire);
}

static void
check_status(VarveWireStatus status)
{
	if (status == VARVE_WIRE_OUT_OF_MEMORY)
		ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory"),
						errdetail("Failed while building a batch of changes.")));
	if (status == VARVE_WIRE_TOO_LARGE)
		ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
						errmsg("a batch of changes does not fit into one message of %d bytes",
							   VARVE_MESSAGE_BYTES_MAX)));
}

static VarveBytes
bytes_of(const char *text)
{
	VarveBytes bytes = {text, strlen(text)};

	return bytes;
}

/*
 * A walsender starts decoding outside any transaction: it needs one to read the catalogs.
 * (MyProcPort would know the name too, but its header wants those of every authentication library
 * of the server.)
 */
static char *
database_name(MemoryContext context)
{
	bool own_transaction = !IsTransactionState();
	ResourceOwner old_owner = CurrentResourceOwner;
	char *name;

	if (own_transaction)
		StartTransactionCommand();
	name = get_database_name(MyDatabaseId);
	name = MemoryContextStrdup(context, name == NULL ? "" : name);
	if (own_transaction)
	{
		CommitTransactionCommand();
		CurrentResourceOwner = old_owner;
	}
	MemoryContextSwitchTo(context);
	return name;
}

static void
fill_handshake(VarveHandshake *handshake, const ReplicationSlot *slot)
{
	TimeLineID timeline;

	if (RecoveryInProgress())
		(void)GetXLogReplayRecPtr(&timeline);
	else
		timeline = GetWALInsertionTimeLine();
	handshake->plugin_version = bytes_of(VARVE_VERSION);
	handshake->server_version_num =
		(uint32)atoi(GetConfigOption("server_version_num", false, false));
	handshake->system_identifier = GetSystemIdentifier();
	handshake->timeline = timeline;
	handshake->database_oid = MyDatabaseId;
	handshake->database = bytes_of(database_name(CurrentMemoryContext));
	handshake->slot = bytes_of(pstrdup(NameStr(slot->data.name)));
	handshake->encoding = bytes_of(GetDatabaseEncodingName());
	handshake->next_full_xid = U64FromFullTransactionId(ReadNextFullTransactionId());
}

VarveBatch *
varve_batch_open(VarveOutput *output, MemoryContext context)
{
	MemoryContext old_context = MemoryContextSwitchTo(context);
	VarveBatch *batch = palloc0(sizeof(VarveBatch));
	MemoryContextCallback *on_reset = palloc(sizeof(MemoryContextCallback));
	HASHCTL control = {0};

	control.keysize = sizeof(uint64);
	control.entrysize = sizeof(uint64);
	control.hcxt = context;
	batch->described =
		hash_create("varve descriptions", 128, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	varve_buffer_init(&batch->heap, context, (Size)output->options.batch_bytes * 2);
	varve_buffer_init(&batch->scratch, context, 1024);
	batch->change_capacity = 1024;
	batch->changes = palloc(batch->change_capacity * sizeof(VarveChange));
	batch->transaction_capacity = 16;
	batch->transactions = palloc(batch->transaction_capacity * sizeof(VarveTransaction));
	batch->ref_capacity = 16;
	batch->refs = palloc(batch->ref_capacity * sizeof(VarveRelationRef));
	fill_handshake(&batch->handshake, output->ctx->slot);
	batch->wire = varve_wire_open();
	if (batch->wire == NULL)
		check_status(VARVE_WIRE_OUT_OF_MEMORY);
	/* The shutdown callback does not run after an error; this does. */
	on_reset->func = close_wire;
	on_reset->arg = batch->wire;
	MemoryContextRegisterResetCallback(context, on_reset);
	MemoryContextSwitchTo(old_context);
	return batch;
}

static bool
is_empty(const VarveBatch *batch)
{
	return batch->transaction_count == 0;
}

/* Sends what was collected as one message. */
static void
flush(VarveOutput *output)
{
	VarveBatch *batch = output->batch;
	LogicalDecodingContext *ctx = output->ctx;
	VarveBatchParts parts = {0};
	size_t length;

	if (is_empty(batch))
		return;
	parts.session_high = output->options.session_high;
	parts.session_low = output->options.session_low;
	parts.sequence = batch->sequence;
	parts.handshake = batch->sequence == 0 ? &batch->handshake : NULL;
	parts.refs = batch->refs;
	parts.ref_count = batch->ref_count;
	parts.transactions = batch->transactions;
	parts.transaction_count = batch->transaction_count;
	parts.changes = batch->changes;
	parts.change_count = batch->change_count;
	parts.heap = batch->heap.data;
	parts.heap_length = batch->heap.length;
	check_status(varve_wire_finish(batch->wire, &parts, &length));
	/* A walsender has put its header into ctx->out already, an SQL function nothing. */
	OutputPluginPrepareWrite(ctx, true);
	enlargeStringInfo(ctx->out, (int)length);
	varve_wire_write(batch->wire, &parts, ctx->out->data + ctx->out->len);
	ctx->out->len += (int)length;
	ctx->out->data[ctx->out->len] = '\0';
	OutputPluginWrite(ctx, true);
	batch->sequence++;
	varve_buffer_reset(&batch->heap);
	batch->change_count = 0;
	batch->transaction_count = 0;
	batch->ref_count = 0;
	batch->described_bytes = 0;
	batch->piece_open = false;
	output->unreported_changes = 0;
}

static const uint32 stage_flags[] = {
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
static uint64
piece_position(const VarveEventTransaction *transaction)
{
	return transaction->stage == VARVE_STAGE_STREAMED ||
				   transaction->stage == VARVE_STAGE_STREAM_ABORT
			   ? transaction->subxid
			   : transaction->position;
}

/* The piece of the transaction in hand that the next change goes to. */
static VarveTransaction *
open_piece(VarveOutput *output)
{
	VarveBatch *batch = output->batch;
	VarveTransaction *piece;

	if (batch->piece_open)
	{
		piece = &batch->transactions[batch->transaction_count - 1];
		if (piece->position == piece_position(&output->transaction))
			return piece;
	}
	if (batch->transaction_count == batch->transaction_capacity)
	{
		batch->transaction_capacity *= 2;
		batch->transactions =
			repalloc(batch->transactions, batch->transaction_capacity * sizeof(VarveTransaction));
	}
	piece = &batch->transactions[batch->transaction_count++];
	piece->position = piece_position(&output->transaction);
	piece->commit_time = output->transaction.commit_time;
	piece->xid = output->transaction.xid;
	piece->first_change = (uint32)batch->change_count;
	piece->count = 0;
	piece->flags = stage_flags[output->transaction.stage];
	if (!batch->begin_sent)
		piece->flags |= VARVE_TRANSACTION_BEGIN;
	if (output->transaction.non_transactional)
		piece->flags |= VARVE_TRANSACTION_NON_TRANSACTIONAL;
	batch->piece_open = true;
	batch->begin_sent = true;
	return piece;
}

static uint16
add_ref(VarveBatch *batch, Oid relid, uint64 version)
{
	VarveRelationRef *ref;

	if (batch->ref_count == batch->ref_capacity)
	{
		batch->ref_capacity *= 2;
		batch->refs = repalloc(batch->refs, batch->ref_capacity * sizeof(VarveRelationRef));
	}
	ref = &batch->refs[batch->ref_count];
	ref->version = version;
	ref->oid = relid;
	ref->reserved = 0;
	return (uint16)batch->ref_count++;
}

static void
describe(VarveBatch *batch, const VarveRelation *definition)
{
	VarveWireStatus status =
		varve_wire_add_relation(batch->wire, definition, &batch->described_bytes);

	if (status != VARVE_WIRE_OK)
		hash_search(batch->described, &definition->description, HASH_REMOVE, NULL);
	check_status(status);
}

/* The place of the table, as it is now, among the refs of this batch; describes it where it is new.
 */
static uint16
ref_of(VarveBatch *batch, VarveRelationEntry *entry)
{
	uint64 description = entry->definition.description;
	bool found;

	/* Sequences start at 0, entries too. */
	if (entry->ref_description == description && entry->ref_sequence == batch->sequence + 1)
		return entry->ref_index;
	hash_search(batch->described, &description, HASH_ENTER, &found);
	if (!found)
		describe(batch, &entry->definition);
	entry->ref_index = add_ref(batch, entry->relid, entry->definition.version);
	entry->ref_description = description;
	entry->ref_sequence = batch->sequence + 1;
	return entry->ref_index;
}

static void
append_image(VarveOutput *output, VarveRelationEntry *entry, HeapTuple tuple, TupleDesc descriptor,
			 VarveRowPart part, uint32 *offset, uint32 *length)
{
	VarveBatch *batch = output->batch;

	*offset = (uint32)batch->heap.length;
	if (tuple != NULL)
		varve_row_append_image(entry, tuple, descriptor, part, &batch->heap, &batch->scratch);
	*length = (uint32)(batch->heap.length - *offset);
}

static void
append_bytes(VarveBatch *batch, const VarveBytes *bytes, uint32 *offset, uint32 *length)
{
	*offset = (uint32)batch->heap.length;
	varve_buffer_append(&batch->heap, bytes->data, bytes->length);
	*length = (uint32)bytes->length;
}

static void
batch_begin(VarveOutput *output, const VarveEventTransaction *transaction)
{
	output->batch->piece_open = false;
	output->batch->begin_sent = transaction->goes_on;
}

/* Behind those that wait to be sent; not yet one of them. */
static void
encode_change(VarveOutput *output, const VarveEvent *event)
{
	VarveBatch *batch = output->batch;
	VarveChange *change;

	if (batch->change_count == batch->change_capacity)
	{
		batch->change_capacity *= 2;
		batch->changes = repalloc(batch->changes, batch->change_capacity * sizeof(VarveChange));
	}
	change = &batch->changes[batch->change_count];
	memset(change, 0, sizeof(*change));
	change->op = event->op;
	change->flags = event->flags;
	change->seq = event->seq;
	if (event->op == VARVE_OP_MESSAGE || event->op == VARVE_OP_GID)
	{
		change->relation = VARVE_NO_RELATION;
		append_bytes(batch, &event->content, &change->new_offset, &change->new_length);
		append_bytes(batch, &event->prefix, &change->old_offset, &change->old_length);
	}
	else if (event->entry == NULL)
	{
		change->relation = add_ref(batch, event->relid, 0);
		append_bytes(batch, &event->content, &change->new_offset, &change->new_length);
	}
	else
	{
		if (event->entry->has_text && (event->new_tuple != NULL || event->old_tuple != NULL))
			varve_output_need_settings(output);
		change->relation = ref_of(batch, event->entry);
		append_image(output, event->entry, event->new_tuple, event->descriptor, VARVE_ROW_WHOLE,
					 &change->new_offset, &change->new_length);
		append_image(output, event->entry, event->old_tuple, event->old_descriptor,
					 (event->flags & VARVE_CHANGE_OLD_IS_FULL) != 0 ? VARVE_ROW_WHOLE
																	: VARVE_ROW_IDENTITY,
					 &change->old_offset, &change->old_length);
	}
}

static bool
batch_change(VarveOutput *output, const VarveEvent *event)
{
	VarveBatch *batch = output->batch;
	Size heap_length;

	/* Before the change, so that the last batch of a transaction can carry its commit. */
	if (batch->heap.length + batch->described_bytes + batch->change_count * sizeof(VarveChange) >=
			(Size)output->options.batch_bytes ||
		batch->ref_count >= REFS_MAX)
		flush(output);
	heap_length = batch->heap.length;
	while (!varve_fit(output, event, encode_change))
	{
		batch->heap.length = heap_length;
		/* Whether it fits does not depend on what there is before it. */
		if (batch->change_count == 0)
			return false;
		flush(output);
		heap_length = 0;
	}
	/* Last: an error before leaves no piece without changes. */
	open_piece(output)->count++;
	batch->change_count++;
	return true;
}

static void
append_gid(VarveOutput *output)
{
	VarveEvent event = {0};

	event.op = VARVE_OP_GID;
	event.seq = output->next_seq;
	event.content = bytes_of(output->transaction.gid);
	(void)batch_change(output, &event);
}

static void
batch_commit(VarveOutput *output)
{
	if (output->transaction.stage == VARVE_STAGE_PREPARED)
		append_gid(output);
	open_piece(output)->flags |= VARVE_TRANSACTION_COMMIT;
	flush(output);
}

static void
batch_end(VarveOutput *output)
{
	VarveBatch *batch = output->batch;

	batch->piece_open = false;
	/* Of streamed transactions nothing ends that has not begun. */
	batch->begin_sent = (stage_flags[output->transaction.stage] & VARVE_TRANSACTION_STREAMED) != 0;
	if (output->transaction.gid != NULL)
		append_gid(output);
	else
		(void)open_piece(output);
	flush(output);
}

const VarveSink varve_batch_sink = {batch_begin, batch_change, batch_commit, flush, batch_end};
