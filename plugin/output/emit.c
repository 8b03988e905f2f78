/* SPDX-License-Identifier: PostgreSQL */
#include "postgres.h"

#include "plugin/output/output.h"

static void
note_announced(VarveOutput *output, const VarveEvent *event)
{
	VarveRelationEntry *entry = event->entry;

	if (event->op == VARVE_OP_RELATION)
	{
		entry->announced = VARVE_ANNOUNCED_DESCRIPTION;
		entry->announced_description = entry->definition.description;
	}
	else if (entry != NULL)
	{
		/*
		 * Rows do not say what the table is: those of a transaction that began before another one's
		 * DDL come after it, as they were.
		 */
		if (entry->announced == VARVE_ANNOUNCED_NOTHING)
		{
			entry->announced = VARVE_ANNOUNCED_DESCRIPTION;
			entry->announced_description = 0;
		}
	}
	else if (event->op == VARVE_OP_UNTRACK)
		varve_relation_enter(output->relations, event->relid)->announced =
			VARVE_ANNOUNCED_UNTRACKED;
	else if (event->op == VARVE_OP_DROP)
		varve_relation_enter(output->relations, event->relid)->announced = VARVE_ANNOUNCED_NOTHING;
}

void
varve_emit_begin(VarveOutput *output)
{
	if (output->begun)
		return;
	output->begun = true;
	output->next_seq = output->staged == NULL ? 0 : output->staged->next_seq;
	output->sink->begin(output, &output->transaction);
}

void
varve_emit(VarveOutput *output, VarveEvent *event)
{
	varve_emit_begin(output);
	event->seq = output->next_seq;
	if (!output->sink->change(output, event))
	{
		varve_definitions_untrack(output, event->entry, output->too_large);
		return;
	}
	/* Not before: an error that says that the transaction has rolled back leaves no gap. */
	output->next_seq++;
	if (output->staged == NULL)
	{
		note_announced(output, event);
		return;
	}
	output->staged->sent = true;
	varve_staged_note_subtransaction(output);
	varve_staged_note(output, event);
}
