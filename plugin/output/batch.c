/* SPDX-License-Identifier: PostgreSQL */
/* format=flatbuffers: changes are collected in plain arrays, of which messages are built. */
#include "postgres.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"

#include "plugin/output/fit.h"
#include "plugin/output/handshake.h"
#include "plugin/output/flush.h"
#include "plugin/output/origin.h"
#include "plugin/output/output.h"
#include "plugin/output/piece.h"
#include "plugin/output/publish.h"
#include "plugin/output/row.h"

#define REFS_MAX (VARVE_NO_RELATION - 1)

/* transport=zmq: batches that wait to be sent, and the one that is being filled. */
#define PUBLISHED_BODIES 16

/* What one message is made of. */
typedef struct VarveBatchBody
{
	VarveWire *wire;
	VarveBuffer heap;
	VarveChange *changes;
	int change_count;
	int change_capacity;
	VarveTransaction *transactions;
	int transaction_count;
	int transaction_capacity;
	VarveRelationRef *refs;
	int ref_count;
	int ref_capacity;
	VarveBuffer origins;	/* of VarveOrigin */
	size_t described_bytes; /* of the descriptions that the message begins with */
	VarveBatchParts parts;	/* all that, for the reader of the body */
} VarveBatchBody;

typedef struct VarveBatch
{
	VarveBatchBody *bodies;
	int body_count;
	VarveBatchBody *body;  /* in hand; transport=zmq: NULL while the publisher may have it */
	VarvePublish *publish; /* transport=zmq, else NULL */
	uint64 sequence;
	VarveHandshake handshake;
	HTAB *described; /* hashes of the descriptions that the client has */
	VarveBuffer scratch;
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

static void
open_body(VarveBatchBody *body, int batch_bytes, MemoryContext context)
{
	MemoryContextCallback *on_reset = palloc(sizeof(MemoryContextCallback));

	varve_buffer_init(&body->heap, context, (Size)batch_bytes * 2);
	body->change_capacity = 1024;
	body->changes = palloc(body->change_capacity * sizeof(VarveChange));
	body->transaction_capacity = 16;
	body->transactions = palloc(body->transaction_capacity * sizeof(VarveTransaction));
	body->ref_capacity = 16;
	body->refs = palloc(body->ref_capacity * sizeof(VarveRelationRef));
	varve_buffer_init(&body->origins, context, sizeof(VarveOrigin));
	body->wire = varve_wire_open();
	if (body->wire == NULL)
		check_status(VARVE_WIRE_OUT_OF_MEMORY);
	/* The shutdown callback does not run after an error; this does. */
	on_reset->func = close_wire;
	on_reset->arg = body->wire;
	MemoryContextRegisterResetCallback(context, on_reset);
}

static void
open_publish(VarveBatch *batch)
{
	VarvePublisherBody *bodies = palloc(batch->body_count * sizeof(VarvePublisherBody));

	for (int i = 0; i < batch->body_count; i++)
	{
		bodies[i].wire = batch->bodies[i].wire;
		bodies[i].parts = &batch->bodies[i].parts;
	}
	varve_publish_open(batch->publish, bodies, batch->body_count);
}

VarveBatch *
varve_batch_open(VarveOutput *output, MemoryContext context)
{
	bool published = output->options.transport == VARVE_TRANSPORT_ZMQ;
	VarvePublish *publish = published ? varve_publish_prepare(output) : NULL;
	MemoryContext old_context;
	VarveBatch *batch;
	HASHCTL control = {0};

	if (published)
		context = varve_publish_memory(publish);
	old_context = MemoryContextSwitchTo(context);
	batch = palloc0(sizeof(VarveBatch));
	batch->publish = publish;
	control.keysize = sizeof(uint64);
	control.entrysize = sizeof(uint64);
	control.hcxt = context;
	batch->described =
		hash_create("varve descriptions", 128, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	varve_buffer_init(&batch->scratch, context, 1024);
	varve_handshake_fill(&batch->handshake, output->ctx->slot);
	batch->body_count = published ? PUBLISHED_BODIES : 1;
	batch->bodies = palloc0(batch->body_count * sizeof(VarveBatchBody));
	for (int i = 0; i < batch->body_count; i++)
		open_body(&batch->bodies[i], output->options.batch_bytes, context);
	if (published)
		open_publish(batch);
	else
		batch->body = batch->bodies;
	MemoryContextSwitchTo(old_context);
	return batch;
}

static void
empty_body(VarveBatchBody *body)
{
	varve_buffer_reset(&body->heap);
	body->change_count = 0;
	body->transaction_count = 0;
	body->ref_count = 0;
	body->origins.length = 0;
	body->described_bytes = 0;
}

/* Before something is put into the body in hand: it may be the publisher's. */
static void
take_body(VarveOutput *output)
{
	VarveBatch *batch = output->batch;

	if (batch->body != NULL)
		return;
	if (!varve_publish_enter(output, batch->publish, &batch->sequence))
		empty_body(&batch->bodies[batch->sequence % batch->body_count]);
	batch->body = &batch->bodies[batch->sequence % batch->body_count];
}

static void
fill_parts(VarveOutput *output)
{
	VarveBatch *batch = output->batch;
	VarveBatchBody *body = batch->body;
	VarveBatchParts *parts = &body->parts;

	parts->session_high = output->options.session_high;
	parts->session_low = output->options.session_low;
	parts->sequence = batch->sequence;
	parts->handshake = batch->sequence == 0 ? &batch->handshake : NULL;
	parts->refs = body->refs;
	parts->ref_count = body->ref_count;
	parts->transactions = body->transactions;
	parts->transaction_count = body->transaction_count;
	parts->changes = body->changes;
	parts->change_count = body->change_count;
	parts->heap = body->heap.data;
	parts->heap_length = body->heap.length;
	parts->origins = (const VarveOrigin *)body->origins.data;
	parts->origin_count = body->origins.length / sizeof(VarveOrigin);
}

/* transport=stream: the body in hand as one message. */
static void
write_body(VarveOutput *output)
{
	VarveBatch *batch = output->batch;
	LogicalDecodingContext *ctx = output->ctx;
	size_t length;

	fill_parts(output);
	check_status(varve_wire_finish(batch->body->wire, &batch->body->parts, &length));
	/* A walsender has put its header into ctx->out already, an SQL function nothing. */
	OutputPluginPrepareWrite(ctx, true);
	enlargeStringInfo(ctx->out, (int)length);
	varve_wire_write(batch->body->wire, &batch->body->parts, ctx->out->data + ctx->out->len);
	ctx->out->len += (int)length;
	ctx->out->data[ctx->out->len] = '\0';
	varve_flush_write(ctx, length);
	batch->sequence++;
	empty_body(batch->body);
	output->unreported_changes = 0;
}

static Size
body_bytes(const VarveBatchBody *body)
{
	return body->heap.length + body->described_bytes + body->change_count * sizeof(VarveChange) +
		   body->transaction_count * sizeof(VarveTransaction);
}

/* Sends what was collected as one message; where the publisher does it, it may wait for more. */
static void
send_body(VarveOutput *output, bool now)
{
	VarveBatch *batch = output->batch;
	Size bytes;

	batch->piece_open = false;
	if (batch->body == NULL)
		return;
	if (batch->publish == NULL)
	{
		if (batch->body->transaction_count > 0)
			write_body(output);
		return;
	}
	/* One that an error has left empty too: it was announced. */
	fill_parts(output);
	bytes = body_bytes(batch->body);
	batch->body = NULL;
	varve_publish_leave(batch->publish, now || bytes >= (Size)output->options.batch_bytes, bytes);
}

/* The piece of the transaction in hand that the next change goes to. */
static VarveTransaction *
open_piece(VarveOutput *output)
{
	VarveBatch *batch = output->batch;
	VarveBatchBody *body = batch->body;
	VarveTransaction *piece;

	if (batch->piece_open)
	{
		piece = &body->transactions[body->transaction_count - 1];
		if (piece->position == varve_piece_position(&output->transaction))
			return piece;
	}
	if (body->transaction_count == body->transaction_capacity)
	{
		body->transaction_capacity *= 2;
		body->transactions =
			repalloc(body->transactions, body->transaction_capacity * sizeof(VarveTransaction));
	}
	piece = &body->transactions[body->transaction_count++];
	piece->position = varve_piece_position(&output->transaction);
	piece->commit_time = output->transaction.commit_time;
	piece->xid = output->transaction.xid;
	piece->first_change = (uint32)body->change_count;
	piece->count = 0;
	piece->flags = varve_stage_flags[output->transaction.stage];
	if (!batch->begin_sent)
		piece->flags |= VARVE_TRANSACTION_BEGIN;
	if (output->transaction.non_transactional)
		piece->flags |= VARVE_TRANSACTION_NON_TRANSACTIONAL;
	batch->piece_open = true;
	batch->begin_sent = true;
	return piece;
}

static uint16
add_ref(VarveBatchBody *body, Oid relid, uint64 version)
{
	VarveRelationRef *ref;

	if (body->ref_count == body->ref_capacity)
	{
		body->ref_capacity *= 2;
		body->refs = repalloc(body->refs, body->ref_capacity * sizeof(VarveRelationRef));
	}
	ref = &body->refs[body->ref_count];
	ref->version = version;
	ref->oid = relid;
	ref->reserved = 0;
	return (uint16)body->ref_count++;
}

static void
describe(VarveBatch *batch, const VarveRelation *definition)
{
	VarveWireStatus status =
		varve_wire_add_relation(batch->body->wire, definition, &batch->body->described_bytes);

	if (status != VARVE_WIRE_OK)
		hash_search(batch->described, &definition->description, HASH_REMOVE, NULL);
	check_status(status);
}

/* The place of the table, as it is now, among the refs of this batch. Describes a new one. */
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
	entry->ref_index = add_ref(batch->body, entry->relid, entry->definition.version);
	entry->ref_description = description;
	entry->ref_sequence = batch->sequence + 1;
	return entry->ref_index;
}

static void
append_image(VarveOutput *output, VarveRelationEntry *entry, HeapTuple tuple, TupleDesc descriptor,
			 VarveRowPart part, uint32 *offset, uint32 *length)
{
	VarveBuffer *heap = &output->batch->body->heap;

	*offset = (uint32)heap->length;
	if (tuple != NULL)
		varve_row_append_image(entry, tuple, descriptor, part, heap, &output->batch->scratch);
	*length = (uint32)(heap->length - *offset);
}

static void
append_bytes(VarveBuffer *heap, const VarveBytes *bytes, uint32 *offset, uint32 *length)
{
	*offset = (uint32)heap->length;
	varve_buffer_append(heap, bytes->data, bytes->length);
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
	VarveBatchBody *body = batch->body;
	VarveChange *change;

	if (body->change_count == body->change_capacity)
	{
		body->change_capacity *= 2;
		body->changes = repalloc(body->changes, body->change_capacity * sizeof(VarveChange));
	}
	change = &body->changes[body->change_count];
	memset(change, 0, sizeof(*change));
	change->op = event->op;
	change->flags = event->flags;
	change->seq = event->seq;
	if (event->op == VARVE_OP_MESSAGE || event->op == VARVE_OP_GID)
	{
		change->relation = VARVE_NO_RELATION;
		append_bytes(&body->heap, &event->content, &change->new_offset, &change->new_length);
		append_bytes(&body->heap, &event->prefix, &change->old_offset, &change->old_length);
	}
	else if (event->entry == NULL)
	{
		change->relation = add_ref(body, event->relid, 0);
		append_bytes(&body->heap, &event->content, &change->new_offset, &change->new_length);
	}
	else
	{
		if (event->entry->obeys_settings && (event->new_tuple != NULL || event->old_tuple != NULL))
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

/* Before a change, so that the last batch of a transaction can carry its commit. */
static void
make_room(VarveOutput *output)
{
	VarveBatch *batch = output->batch;

	take_body(output);
	if (body_bytes(batch->body) >= (Size)output->options.batch_bytes ||
		batch->body->ref_count >= REFS_MAX)
	{
		send_body(output, true);
		take_body(output);
	}
}

static bool
batch_change(VarveOutput *output, const VarveEvent *event)
{
	VarveBatch *batch = output->batch;
	Size heap_length;

	make_room(output);
	heap_length = batch->body->heap.length;
	while (!varve_fit(output, event, encode_change))
	{
		batch->body->heap.length = heap_length;
		/* Whether it fits does not depend on what there is before it. */
		if (batch->body->change_count == 0)
			return false;
		send_body(output, true);
		take_body(output);
		heap_length = 0;
	}
	/* Last: an error before leaves no piece without changes. */
	open_piece(output)->count++;
	batch->body->change_count++;
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

/* The last piece is open. */
static void
flush_end(VarveOutput *output)
{
	VarveBatchBody *body = output->batch->body;

	if (output->transaction.origin_id != InvalidRepOriginId)
		varve_origin_append(&output->transaction, (uint32)body->transaction_count - 1, &body->heap,
							&body->origins);
	send_body(output, false);
}

static void
batch_commit(VarveOutput *output)
{
	if (output->transaction.stage == VARVE_STAGE_PREPARED)
		append_gid(output);
	else if (output->transaction.origin_id != InvalidRepOriginId)
		make_room(output);
	take_body(output);
	open_piece(output)->flags |= VARVE_TRANSACTION_COMMIT;
	flush_end(output);
}

static void
batch_end(VarveOutput *output)
{
	VarveBatch *batch = output->batch;

	batch->piece_open = false;
	/* Of streamed transactions nothing ends that has not begun. */
	batch->begin_sent =
		(varve_stage_flags[output->transaction.stage] & VARVE_TRANSACTION_STREAMED) != 0;
	if (output->transaction.gid != NULL)
		append_gid(output);
	else
	{
		take_body(output);
		(void)open_piece(output);
	}
	flush_end(output);
}

/* Where a block of a transaction ends. */
static void
flush(VarveOutput *output)
{
	send_body(output, false);
}

const VarveSink varve_batch_sink = {batch_begin, batch_change, batch_commit, flush, batch_end};
