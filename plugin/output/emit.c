/* SPDX-License-Identifier: PostgreSQL */
#include "postgres.h"

#include "plugin/output/fit.h"
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

/* A logical message that no message of ours can hold: people see its size, others only the log. */
static bool
emit_size(VarveOutput *output, VarveEvent *event)
{
	ereport(LOG, errmsg_internal("%s", output->too_large));
	if (output->options.format != VARVE_FORMAT_JSON)
		return false;
	event->prefix.data = varve_fit_shown_prefix(event);
	event->prefix.length = strlen(event->prefix.data);
	event->content.data = NULL;
	return output->sink->change(output, event);
}

void
varve_emit(VarveOutput *output, VarveEvent *event)
{
	bool begun = output->begun;

	varve_emit_begin(output);
	event->seq = output->next_seq;
	if (!output->sink->change(output, event))
	{
		if (event->entry != NULL)
		{
			varve_definitions_untrack(output, event->entry, output->too_large);
			return;
		}
		if (!emit_size(output, event))
		{
			output->begun = begun;
			return;
		}
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
