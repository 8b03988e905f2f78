/* SPDX-License-Identifier: PostgreSQL */
#include "postgres.h"
#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "storage/sinval.h"
#include "utils/relcache.h"
#include "utils/syscache.h"

#include "plugin/output/output.h"

static void
note_announced(VarveOutput *output, const VarveEvent *event)
{
	VarveRelationEntry *entry = event->entry;

	if (entry != NULL)
	{
		entry->announced = VARVE_ANNOUNCED_VERSION;
		entry->announced_version = entry->definition.version;
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

static int
compare_oids(const ListCell *a, const ListCell *b)
{
	Oid left = lfirst_oid(a);
	Oid right = lfirst_oid(b);

	return left < right ? -1 : left > right;
}

/*
 * Tables that this transaction's own invalidations name, in order of oid. The callbacks of the
 * relation cache also hear of what other sessions do at present, which says nothing about this
 * place in the WAL.
 */
static List *
changed_tables(VarveOutput *output, ReorderBufferTXN *txn)
{
	List *oids = NIL;
	List *result = NIL;
	ListCell *cell;

	for (uint32 i = 0; i < txn->ninvalidations; i++)
	{
		const SharedInvalidationMessage *message = &txn->invalidations[i];

		if (message->id == SHAREDINVALRELCACHE_ID && message->rc.dbId == MyDatabaseId)
		{
			if (!OidIsValid(message->rc.relId))
				oids = list_concat(oids, varve_relations_announced(output->relations, 0));
			else if (message->rc.relId >= FirstNormalObjectId)
				oids = lappend_oid(oids, message->rc.relId);
		}
		else if (message->id == NAMESPACEOID)
			oids = list_concat(oids,
							   varve_relations_announced(output->relations, message->cc.hashValue));
	}
	list_sort(oids, compare_oids);
	foreach (cell, oids)
	{
		if (result == NIL || llast_oid(result) != lfirst_oid(cell))
			result = lappend_oid(result, lfirst_oid(cell));
	}
	return result;
}

static bool
is_known_transient(VarveOutput *output, Oid relid)
{
	const VarveRelationEntry *entry = varve_relation_find(output->relations, relid);

	return entry != NULL && entry->is_transient;
}

static void
emit_definition(VarveOutput *output, Oid relid)
{
	Relation relation = RelationIdGetRelation(relid);
	VarveRelationEntry *entry;
	VarveEvent event = {0};

	if (!RelationIsValid(relation))
		elog(ERROR, "could not open relation with OID %u", relid);
	entry = varve_relation_get(output->relations, relation);
	event.relid = relid;
	if (entry->published)
	{
		event.op = VARVE_OP_RELATION;
		event.entry = entry;
	}
	else
		event.op = VARVE_OP_UNTRACK;
	RelationClose(relation);
	if (entry->published ? entry->announced != VARVE_ANNOUNCED_VERSION ||
							   entry->announced_version != entry->definition.version
						 : entry->announced != VARVE_ANNOUNCED_UNTRACKED)
		varve_emit(output, &event);
}

void
varve_emit_definitions(VarveOutput *output, ReorderBufferTXN *txn)
{
	ListCell *cell;

	foreach (cell, changed_tables(output, txn))
	{
		Oid relid = lfirst_oid(cell);
		HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));

		if (HeapTupleIsValid(tuple))
		{
			Form_pg_class form = (Form_pg_class)GETSTRUCT(tuple);
			bool is_table = form->relkind == RELKIND_RELATION &&
							form->relpersistence == RELPERSISTENCE_PERMANENT &&
							!OidIsValid(form->relrewrite);

			ReleaseSysCache(tuple);
			if (is_table)
				emit_definition(output, relid);
		}
		else if (!is_known_transient(output, relid))
		{
			VarveEvent event = {0};

			event.op = VARVE_OP_DROP;
			event.relid = relid;
			varve_emit(output, &event);
		}
	}
}
