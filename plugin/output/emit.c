/* SPDX-License-Identifier: PostgreSQL */
#include "postgres.h"

#include "plugin/output/output.h"

static void
note_announced(VarveOutput *output, const VarveEvent *event)
{
	VarveRelationEntry *entry = event->entry;

	if (entry != NULL)
	{
		entry->announced = VARVE_ANNOUNCED_DESCRIPTION;
		entry->announced_description = entry->definition.description;
	}
	else if (event->op == VARVE_OP_UNTRACK)
		varve_relation_enter(output->relations, event->relid)->announced =
			VARVE_ANNOUNCED_UNTRACKED;
	else if (event->op == VARVE_OP_DROP)
		varve_relation_enter(output->relations, event->relid)->announced = VARVE_ANNOUNCED_NOTHING;
}

void
varve_emit(VarveOutput *output, VarveEvent *event)
{
	if (!output->begun)
	{
		output->begun = true;
		output->next_seq = 0;
		output->sink->begin(output, &output->transaction);
	}
	event->seq = output->next_seq++;
	output->sink->change(output, event);
	note_announced(output, event);
}
