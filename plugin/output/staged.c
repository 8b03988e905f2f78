/* SPDX-License-Identifier: PostgreSQL */
/* What is kept of transactions that are sent before they commit. */
#include "postgres.h"

#include "plugin/output/output.h"

VarveStaged *
varve_staged_of(VarveOutput *output, ReorderBufferTXN *txn)
{
	VarveStaged *staged = txn->output_plugin_private;

	if (staged == NULL)
	{
		staged = MemoryContextAllocZero(output->ctx->context, sizeof(VarveStaged));
		staged->number = ++output->last_number;
		txn->output_plugin_private = staged;
	}
	return staged;
}

void
varve_staged_free(ReorderBufferTXN *txn)
{
	VarveStaged *staged = txn->output_plugin_private;

	if (staged == NULL)
		return;
	if (staged->tables != NULL)
		hash_destroy(staged->tables);
	list_free(staged->subxids);
	list_free(staged->unseen_rewrites);
	pfree(staged);
	txn->output_plugin_private = NULL;
}

VarveStagedTable *
varve_staged_table(const VarveOutput *output, Oid relid)
{
	if (output->staged == NULL || output->staged->tables == NULL)
		return NULL;
	return hash_search(output->staged->tables, &relid, HASH_FIND, NULL);
}

static VarveStagedTable *
enter_table(VarveOutput *output, Oid relid)
{
	VarveStaged *staged = output->staged;
	VarveStagedTable *table;
	bool found;

	if (staged->tables == NULL)
	{
		HASHCTL control = {0};

		control.keysize = sizeof(Oid);
		control.entrysize = sizeof(VarveStagedTable);
		control.hcxt = output->ctx->context;
		staged->tables =
			hash_create("varve staged tables", 16, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	}
	table = hash_search(staged->tables, &relid, HASH_ENTER, &found);
	if (!found)
	{
		table->announced = VARVE_ANNOUNCED_NOTHING;
		table->description = 0;
		table->dropped = false;
	}
	return table;
}

void
varve_staged_note(VarveOutput *output, const VarveEvent *event)
{
	VarveStagedTable *table;
	bool is_definition = event->op == VARVE_OP_RELATION || event->op == VARVE_OP_UNTRACK ||
						 event->op == VARVE_OP_DROP;

	if (!is_definition)
	{
		if (event->entry == NULL || event->entry->staged_number == output->staged->number)
			return;
		event->entry->staged_number = output->staged->number;
	}
	table = enter_table(output, event->relid);
	if (!is_definition)
		return;
	table->announced = VARVE_ANNOUNCED_NOTHING;
	table->dropped = event->op == VARVE_OP_DROP;
	if (event->op == VARVE_OP_RELATION)
	{
		table->announced = VARVE_ANNOUNCED_DESCRIPTION;
		table->description = event->entry->definition.description;
	}
	else if (event->op == VARVE_OP_UNTRACK)
		table->announced = VARVE_ANNOUNCED_UNTRACKED;
}

void
varve_staged_note_subtransaction(VarveOutput *output)
{
	VarveStaged *staged = output->staged;
	TransactionId subxid = output->transaction.subxid;
	MemoryContext old_context;

	if (TransactionIdEquals(subxid, output->transaction.xid))
		return;
	if (output->subtxn != NULL)
	{
		output->subtxn->output_plugin_private = staged;
		return;
	}
	if (staged->subxids != NIL && llast_oid(staged->subxids) == subxid)
		return;
	old_context = MemoryContextSwitchTo(output->ctx->context);
	staged->subxids = lappend_oid(staged->subxids, subxid);
	MemoryContextSwitchTo(old_context);
}

void
varve_staged_forget_tables(VarveStaged *staged)
{
	HASH_SEQ_STATUS status;
	VarveStagedTable *table;

	if (staged->tables == NULL)
		return;
	hash_seq_init(&status, staged->tables);
	while ((table = hash_seq_search(&status)) != NULL)
	{
		table->announced = VARVE_ANNOUNCED_NOTHING;
		table->dropped = false;
	}
}
