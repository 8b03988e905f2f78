/* SPDX-License-Identifier: PostgreSQL */
/*
 * ALTER TABLE that writes a table's rows anew. They arrive as INSERTs into a transient heap that
 * nobody knows, once for all rows of the table as they are at that place of the transaction.
 */
#include "postgres.h"

#include "plugin/compat.h"
#include "plugin/output/rewrite.h"

static bool
note_rewritten(VarveOutput *output, Oid relid)
{
	MemoryContext old_context;

	if (list_member_oid(output->rewritten, relid))
		return false;
	old_context = MemoryContextSwitchTo(output->ctx->context);
	output->rewritten = lappend_oid(output->rewritten, relid);
	MemoryContextSwitchTo(old_context);
	return true;
}

/* One change says that the client has to do without the rows. */
static void
emit_marker(VarveOutput *output, VarveRelationEntry *entry)
{
	VarveEvent event = {0};

	if (!note_rewritten(output, entry->relid))
		return;
	event.op = VARVE_OP_REWRITE;
	event.entry = varve_relation_sent_as(entry);
	event.relid = event.entry->relid;
	if (!entry->published)
		varve_definitions_unpublished(output, entry);
	else if (event.relid == entry->relid || note_rewritten(output, event.relid))
		varve_emit(output, &event);
}

/* The new heap is made after the catalogs say what the table will be. */
static bool
is_described_by(Relation heap, Relation table)
{
	TupleDesc rows = RelationGetDescr(heap);
	TupleDesc described = RelationGetDescr(table);

	if (rows->natts != described->natts)
		return false;
	for (int i = 0; i < rows->natts; i++)
	{
		Form_pg_attribute row = TupleDescAttr(rows, i);
		Form_pg_attribute column = TupleDescAttr(described, i);

		if (row->attisdropped != column->attisdropped || row->atttypid != column->atttypid ||
			row->attlen != column->attlen || row->attbyval != column->attbyval ||
			row->attalign != column->attalign)
			return false;
	}
	return true;
}

/* A partition's rows are not all of what is sent as its root. */
static bool
has_rows(const VarveOutput *output, const VarveRelationEntry *entry, Relation heap, Relation table)
{
	return output->options.rewrites && entry->published && entry->root_entry == NULL &&
		   !(output->staged != NULL &&
			 list_member_oid(output->staged->unseen_rewrites, entry->relid)) &&
		   is_described_by(heap, table);
}

static void
emit_row(VarveOutput *output, VarveRelationEntry *entry, Relation heap, ReorderBufferChange *change)
{
	VarveRelationEntry *heap_entry = varve_relation_get(output->relations, heap);
	VarveEvent event = {0};

	event.relid = entry->relid;
	event.entry = entry;
	if (heap_entry->rows_in != output->number)
	{
		event.op = VARVE_OP_REWRITE;
		event.flags = VARVE_CHANGE_REWRITE_ROWS;
		varve_emit(output, &event);
		varve_definitions_rewritten(output, entry->relid, RelationGetDescr(heap)->natts);
		heap_entry->rows_in = output->number;
		event.flags = 0;
	}
	event.op = VARVE_OP_REWRITE_ROW;
	event.descriptor = RelationGetDescr(heap);
	event.new_tuple = varve_change_tuple(change->data.tp.newtuple);
	varve_emit(output, &event);
}

/* In a streamed transaction the server may not show the table: emit_definition. It tells of the
 * rewrite, too, once the table is to be seen. */
static void
note_unseen(VarveOutput *output, Oid relid)
{
	MemoryContext old_context;

	if (output->staged == NULL)
		return;
	old_context = MemoryContextSwitchTo(output->ctx->context);
	output->staged->unseen_rewrites =
		list_append_unique_oid(output->staged->unseen_rewrites, relid);
	MemoryContextSwitchTo(old_context);
}

void
varve_rewrite_change(VarveOutput *output, Relation heap, ReorderBufferChange *change)
{
	Relation table = RelationIdGetRelation(heap->rd_rel->relrewrite);
	VarveRelationEntry *entry;

	if (!RelationIsValid(table))
	{
		note_unseen(output, heap->rd_rel->relrewrite);
		return;
	}
	entry = varve_relation_get(output->relations, table);
	if (change->action == REORDER_BUFFER_CHANGE_INSERT && has_rows(output, entry, heap, table))
		emit_row(output, entry, heap, change);
	else
		emit_marker(output, entry);
	RelationClose(table);
}
