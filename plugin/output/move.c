/* SPDX-License-Identifier: PostgreSQL */
/*
 * An UPDATE that moves a row to another partition, as one change of the root. The WAL record of its
 * DELETE says that it is such a one (heap_delete, changingPart), but the reorder buffer does not
 * pass that on: the record is read again. The INSERT follows at once unless a trigger gets between
 * them; one that returns no row would leave the DELETE alone, so roots with BEFORE INSERT triggers
 * are left out (partition.c), and their moves are a DELETE and an INSERT.
 */
#include "postgres.h"
#include "access/heapam_xlog.h"
#include "access/rmgr.h"
#include "access/xlog.h"
#include "access/xlogreader.h"
#include "access/xlogutils.h"
#include "utils/memutils.h"

#include "plugin/output/root.h"

typedef struct VarveMove
{
	XLogReaderState *wal;
	MemoryContext context; /* of what is held back, until the next */
	bool held;
	VarveEvent event;
	ReorderBufferTXN *txn;	  /* the (sub)transaction that it belongs to */
	ReorderBufferTXN *subtxn; /* as output->subtxn then */
	TransactionId subxid;	  /* as output->transaction.subxid then */
} VarveMove;

static void
close_wal(void *wal)
{
	XLogReaderFree(wal);
}

static VarveMove *
open_move(VarveOutput *output)
{
	MemoryContext old_context = MemoryContextSwitchTo(output->ctx->context);
	VarveMove *move = palloc0(sizeof(VarveMove));
	MemoryContextCallback *on_reset = palloc(sizeof(MemoryContextCallback));
	XLogReaderRoutine routine = {.page_read = read_local_xlog_page,
								 .segment_open = wal_segment_open,
								 .segment_close = wal_segment_close};

	move->context = AllocSetContextCreate(output->ctx->context, "varve move", ALLOCSET_SMALL_SIZES);
	move->wal = XLogReaderAllocate(wal_segment_size, NULL, &routine, NULL);
	if (move->wal == NULL)
		ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory")));
	/* It has a file open, which an error would leave so. */
	on_reset->func = close_wal;
	on_reset->arg = move->wal;
	MemoryContextRegisterResetCallback(output->ctx->context, on_reset);
	MemoryContextSwitchTo(old_context);
	return move;
}

/* Whether the DELETE that was logged there is half of an UPDATE. */
static bool
is_move(XLogReaderState *wal, XLogRecPtr lsn, MemoryContext context)
{
	/* The reader keeps what it allocates while it reads. */
	MemoryContext old_context = MemoryContextSwitchTo(context);
	const xl_heap_delete *record;
	bool found;
	char *message;

	XLogBeginRead(wal, lsn);
	found = XLogReadRecord(wal, &message) != NULL;
	MemoryContextSwitchTo(old_context);
	if (!found || XLogRecGetRmid(wal) != RM_HEAP_ID ||
		(XLogRecGetInfo(wal) & XLOG_HEAP_OPMASK) != XLOG_HEAP_DELETE)
		return false;
	record = (const xl_heap_delete *)XLogRecGetData(wal);
	return (record->flags & XLH_DELETE_IS_PARTITION_MOVE) != 0;
}

bool
varve_move_hold(VarveOutput *output, const VarveEvent *event, const ReorderBufferChange *change)
{
	VarveMove *move;
	MemoryContext old_context;

	if (event->op != VARVE_OP_DELETE || event->old_tuple == NULL || !event->entry->detects_moves)
		return false;
	if (output->move == NULL)
		output->move = open_move(output);
	move = output->move;
	if (!is_move(move->wal, change->lsn, output->ctx->context))
		return false;
	MemoryContextReset(move->context);
	old_context = MemoryContextSwitchTo(move->context);
	move->held = true;
	move->event = *event;
	move->event.old_tuple = heap_copytuple(event->old_tuple);
	/* The server may read the partition's definition anew meanwhile. */
	move->event.old_descriptor = CreateTupleDescCopyConstr(event->old_descriptor);
	move->event.descriptor = move->event.old_descriptor;
	move->txn = change->txn;
	move->subtxn = output->subtxn;
	move->subxid = output->transaction.subxid;
	MemoryContextSwitchTo(old_context);
	return true;
}

void
varve_move_forget(VarveOutput *output)
{
	if (output->move != NULL)
		output->move->held = false;
}

void
varve_move_flush(VarveOutput *output)
{
	VarveMove *move = output->move;
	ReorderBufferTXN *subtxn = output->subtxn;
	TransactionId subxid = output->transaction.subxid;

	if (move == NULL || !move->held)
		return;
	move->held = false;
	output->subtxn = move->subtxn;
	output->transaction.subxid = move->subxid;
	if (move->event.entry->published)
		varve_emit(output, &move->event);
	else
		varve_definitions_unpublished(output, move->event.entry);
	output->subtxn = subtxn;
	output->transaction.subxid = subxid;
}

void
varve_move_meet(VarveOutput *output, VarveEvent *event, const ReorderBufferChange *change)
{
	VarveMove *move = output->move;

	if (move == NULL || !move->held)
		return;
	if (event->op != VARVE_OP_INSERT || event->entry != move->event.entry ||
		change->txn != move->txn)
	{
		varve_move_flush(output);
		return;
	}
	event->op = VARVE_OP_UPDATE;
	event->flags = move->event.flags;
	event->old_tuple = move->event.old_tuple;
	event->old_descriptor = move->event.old_descriptor;
	move->held = false;
}
