/* SPDX-License-Identifier: PostgreSQL */
/* What a transaction did to the definitions of tables, told where it commits, rows or not. */
#include "postgres.h"
#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/transam.h"
#include "access/tupdesc_details.h"
#include "catalog/dependency.h"
#include "catalog/pg_class.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/nodes.h"
#include "nodes/parsenodes.h"
#include "optimizer/optimizer.h"
#include "storage/sinval.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/relcache.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "plugin/output/rewrite.h"
#include "plugin/output/root.h"

static int
compare_oids(const ListCell *a, const ListCell *b)
{
	Oid left = lfirst_oid(a);
	Oid right = lfirst_oid(b);

	return left < right ? -1 : left > right;
}

/* Whether a column, or a type of one, may be made of this type (DEPENDENCY_NORMAL; its array
 * type depends on it internally). */
static bool
is_type_used(Oid type)
{
	Relation depend = table_open(DependRelationId, AccessShareLock);
	ScanKeyData keys[2];
	SysScanDesc scan;
	HeapTuple tuple;
	bool used = false;

	ScanKeyInit(&keys[0], Anum_pg_depend_refclassid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(TypeRelationId));
	ScanKeyInit(&keys[1], Anum_pg_depend_refobjid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(type));
	scan = systable_beginscan(depend, DependReferenceIndexId, true, NULL, lengthof(keys), keys);
	while (!used && HeapTupleIsValid(tuple = systable_getnext(scan)))
		used = ((Form_pg_depend)GETSTRUCT(tuple))->deptype == DEPENDENCY_NORMAL;
	systable_endscan(scan);
	table_close(depend, AccessShareLock);
	return used;
}

/* A composite type's own, or that of a table whose rows are values in another. */
static bool
is_row_type_used(Oid relid)
{
	Oid type = get_rel_type_id(relid);

	return OidIsValid(type) && (is_type_used(type) || is_type_used(get_array_type(type)));
}

/*
 * Tables that this transaction's own invalidations name, in order of oid. The callbacks of the
 * relation cache also hear of what other sessions do at present, which says nothing about this
 * place in the WAL. A change of a schema, a row type, an enum or a publication may concern any
 * table, also one that this session has not yet met: then all that are published are looked at,
 * before and after.
 */
static List *
changed_tables(VarveOutput *output, ReorderBufferTXN *txn)
{
	List *oids = NIL;
	List *result = NIL;
	bool may_be_any = false;
	ListCell *cell;

	for (uint32 i = 0; i < txn->ninvalidations; i++)
	{
		const SharedInvalidationMessage *message = &txn->invalidations[i];

		if (message->id == SHAREDINVALRELCACHE_ID && message->rc.dbId == MyDatabaseId)
		{
			if (!OidIsValid(message->rc.relId))
				may_be_any = true;
			else if (message->rc.relId >= FirstNormalObjectId)
			{
				may_be_any = may_be_any || is_row_type_used(message->rc.relId);
				oids = lappend_oid(oids, message->rc.relId);
			}
		}
		else if (message->id == NAMESPACEOID || message->id == ENUMOID ||
				 message->id == PUBLICATIONOID || message->id == PUBLICATIONRELMAP ||
				 message->id == PUBLICATIONNAMESPACEMAP)
			may_be_any = true;
	}
	if (may_be_any)
		oids = list_concat(oids, varve_relations_published(output->relations));
	list_sort(oids, compare_oids);
	foreach (cell, oids)
	{
		if (result == NIL || llast_oid(result) != lfirst_oid(cell))
			result = lappend_oid(result, lfirst_oid(cell));
	}
	return result;
}

typedef enum RelationState
{
	RELATION_MISSING,
	RELATION_OTHER, /* an index, a temporary table, the transient heap of a rewrite ... */
	RELATION_TABLE
} RelationState;

/* By the catalogs as they are at this point of the transaction. */
static RelationState
relation_state(VarveOutput *output, Oid relid)
{
	HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	RelationState state = RELATION_OTHER;
	Form_pg_class form;

	if (!HeapTupleIsValid(tuple))
		return RELATION_MISSING;
	form = (Form_pg_class)GETSTRUCT(tuple);
	if ((form->relkind == RELKIND_RELATION || (form->relkind == RELKIND_PARTITIONED_TABLE &&
											   varve_relations_via_root(output->relations))) &&
		form->relpersistence == RELPERSISTENCE_PERMANENT && !OidIsValid(form->relrewrite))
		state = RELATION_TABLE;
	ReleaseSysCache(tuple);
	return state;
}

bool
varve_is_own_xid(ReorderBufferTXN *txn, TransactionId xid)
{
	dlist_iter cursor;

	if (TransactionIdEquals(xid, txn->xid))
		return true;
	dlist_foreach (cursor, &txn->subtxns)
	{
		if (TransactionIdEquals(xid, dlist_container(ReorderBufferTXN, node, cursor.cur)->xid))
			return true;
	}
	return false;
}

/*
 * Differs as soon as the catalog changes of another transaction are visible to this one. A historic
 * snapshot lists the transactions that it shows; at its commit a transaction has become one of
 * them.
 */
static VarveVisibility
visibility_now(ReorderBufferTXN *txn)
{
	Snapshot snapshot = GetCatalogSnapshot(InvalidOid);
	VarveVisibility visibility = {snapshot->xmin, 0};

	for (uint32 i = 0; i < snapshot->xcnt; i++)
	{
		if (!varve_is_own_xid(txn, snapshot->xip[i]))
			visibility.others++;
	}
	return visibility;
}

static void
note_table_before(VarveOutput *output, Oid relid)
{
	VarveTableBefore *table = &output->tables_before[output->tables_before_count++];
	HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	Form_pg_class form;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for relation %u", relid);
	form = (Form_pg_class)GETSTRUCT(tuple);
	table->relid = relid;
	table->file_node = form->relfilenode;
	table->attribute_count = form->relnatts;
	ReleaseSysCache(tuple);
}

static void
forget_before(VarveOutput *output)
{
	if (output->tables_before != NULL)
		pfree(output->tables_before);
	output->tables_before = NULL;
	output->tables_before_count = 0;
	list_free(output->others_before);
	output->others_before = NIL;
}

void
varve_definitions_begin(VarveOutput *output, ReorderBufferTXN *txn)
{
	MemoryContext old_context = MemoryContextSwitchTo(output->change_context);
	List *changed = changed_tables(output, txn);
	ListCell *cell;

	/* A concurrent abort may have kept the last transaction from ending. */
	forget_before(output);
	output->visibility_before = visibility_now(txn);
	output->tables_before = MemoryContextAlloc(output->ctx->context, Max(list_length(changed), 1) *
																		 sizeof(VarveTableBefore));
	foreach (cell, changed)
	{
		RelationState state = relation_state(output, lfirst_oid(cell));

		if (state == RELATION_TABLE)
			note_table_before(output, lfirst_oid(cell));
		else if (state == RELATION_OTHER)
		{
			MemoryContextSwitchTo(output->ctx->context);
			output->others_before = lappend_oid(output->others_before, lfirst_oid(cell));
			MemoryContextSwitchTo(output->change_context);
		}
	}
	varve_roots_begin(output, changed);
	MemoryContextSwitchTo(old_context);
	MemoryContextReset(output->change_context);
}

/* In a list in order of oid. */
static bool
contains(const List *oids, Oid relid)
{
	ListCell key;

	lfirst_oid(&key) = relid;
	return oids != NIL && bsearch(&key, oids->elements, oids->length, sizeof(ListCell),
								  (int (*)(const void *, const void *))compare_oids) != NULL;
}

static int
compare_relid(const void *key, const void *table)
{
	Oid left = *(const Oid *)key;
	Oid right = ((const VarveTableBefore *)table)->relid;

	return left < right ? -1 : left > right;
}

static VarveTableBefore *
table_before(const VarveOutput *output, Oid relid)
{
	if (output->tables_before_count == 0)
		return NULL;
	return bsearch(&relid, output->tables_before, output->tables_before_count,
				   sizeof(VarveTableBefore), compare_relid);
}

bool
varve_definitions_was_there(const VarveOutput *output, Oid relid)
{
	return table_before(output, relid) != NULL || contains(output->others_before, relid);
}

/*
 * Indexes, TOAST tables and temporary tables come and go, and what the transaction made itself
 * nobody has heard of. What was neither there before nor made here was made by another transaction
 * meanwhile.
 */
static bool
was_table(VarveOutput *output, Oid relid, const VarveVisibility *now)
{
	const VarveRelationEntry *entry = varve_relation_find(output->relations, relid);
	const VarveStagedTable *staged = varve_staged_table(output, relid);

	if (staged != NULL)
		return !staged->dropped;
	if (table_before(output, relid) != NULL)
		return true;
	if (contains(output->others_before, relid))
		return false;
	return (entry != NULL && entry->announced != VARVE_ANNOUNCED_NOTHING) ||
		   now->xmin != output->visibility_before.xmin ||
		   now->others != output->visibility_before.others;
}

/*
 * Whether the client knows what the table is. What it was told before a streamed or prepared
 * transaction may have changed when that commits: only what it was told there counts.
 */
static bool
is_announced(const VarveOutput *output, const VarveRelationEntry *entry, VarveAnnounced announced)
{
	const VarveStagedTable *staged = varve_staged_table(output, entry->relid);
	uint64 description = entry->announced_description;

	if (output->staged != NULL)
	{
		if (staged == NULL || staged->announced != announced)
			return false;
		description = staged->description;
	}
	else if (entry->announced != announced)
		return false;
	return announced != VARVE_ANNOUNCED_DESCRIPTION || description == entry->definition.description;
}

static void
emit_relation(VarveOutput *output, VarveRelationEntry *entry)
{
	VarveEvent event = {0};

	if (is_announced(output, entry, VARVE_ANNOUNCED_DESCRIPTION))
		return;
	event.op = VARVE_OP_RELATION;
	event.relid = entry->relid;
	event.entry = entry;
	varve_emit(output, &event);
}

void
varve_definitions_untrack(VarveOutput *output, VarveRelationEntry *entry, const char *reason)
{
	VarveEvent event = {0};

	if (is_announced(output, entry, VARVE_ANNOUNCED_UNTRACKED))
		return;
	event.op = VARVE_OP_UNTRACK;
	event.relid = entry->relid;
	if (reason != NULL)
		event.content = (VarveBytes){reason, strlen(reason)};
	varve_emit(output, &event);
}

/* What is not sent is not the table's, or would be its root's. */
static void
emit_unpublished(VarveOutput *output, VarveRelationEntry *entry)
{
	varve_definitions_untrack(output, varve_relation_sent_as(entry), entry->refusal);
}

void
varve_definitions_unpublished(VarveOutput *output, VarveRelationEntry *entry)
{
	if (entry->refusal != NULL || table_before(output, entry->relid) != NULL)
		emit_unpublished(output, entry);
}

void
varve_definitions_truncated(VarveOutput *output, Oid relid)
{
	MemoryContext old_context = MemoryContextSwitchTo(output->ctx->context);

	output->truncated = list_append_unique_oid(output->truncated, relid);
	MemoryContextSwitchTo(old_context);
}

void
varve_definitions_rewritten(VarveOutput *output, Oid relid, int attribute_count)
{
	VarveTableBefore *before = table_before(output, relid);

	if (before != NULL)
		before->attribute_count = (int16)attribute_count;
}

/* A new column that gave its constant default to the rows that were there, which are kept as
 * attmissingval until the table is written anew. */
static bool
lost_missing_value(const TupleConstr *constraints, int attnum)
{
	if (constraints->missing != NULL && constraints->missing[attnum - 1].am_present)
		return false;
	for (int i = 0; i < constraints->num_defval; i++)
	{
		if (constraints->defval[i].adnum == attnum)
			return !contain_volatile_functions(stringToNode(constraints->defval[i].adbin));
	}
	return false;
}

/*
 * ADD COLUMN ... DEFAULT and then CLUSTER or VACUUM FULL of the same table in one transaction: the
 * value that older rows have got is in their new copies only, which are not decoded.
 */
static bool
lost_missing_values(VarveOutput *output, Relation relation)
{
	Oid relid = RelationGetRelid(relation);
	const VarveTableBefore *before = table_before(output, relid);
	TupleDesc descriptor = RelationGetDescr(relation);

	if (before == NULL || before->file_node == relation->rd_rel->relfilenode ||
		before->attribute_count >= descriptor->natts || descriptor->constr == NULL ||
		list_member_oid(output->rewritten, relid) || list_member_oid(output->truncated, relid))
		return false;
	for (int attnum = before->attribute_count + 1; attnum <= descriptor->natts; attnum++)
	{
		if (lost_missing_value(descriptor->constr, attnum))
			return true;
	}
	return false;
}

/*
 * In the middle of a streamed transaction the server may take a row of the catalogs for deleted: a
 * subtransaction that rolled back had deleted it, and one that deletes it again further on has put
 * its xid in the same place (reorderbuffer.c: the (cmin, cmax) of a rolled back one stay). The
 * block at the commit tells of the table.
 */
static void
emit_definition(VarveOutput *output, Oid relid, const VarveVisibility *now)
{
	Relation relation = RelationIdGetRelation(relid);
	VarveRelationEntry *entry;
	VarveRelationEntry *sent_as;
	bool lost_values;

	if (!RelationIsValid(relation))
	{
		if (XLogRecPtrIsInvalid(output->transaction.position))
			return;
		elog(ERROR, "could not open relation with OID %u", relid);
	}
	entry = varve_relation_get(output->relations, relation);
	sent_as = varve_relation_sent_as(entry);
	lost_values =
		entry->published &&
		(lost_missing_values(output, relation) ||
		 (output->staged != NULL && list_member_oid(output->staged->unseen_rewrites, relid)));
	RelationClose(relation);
	if (lost_values)
	{
		VarveEvent event = {0};

		event.op = VARVE_OP_REWRITE;
		event.relid = sent_as->relid;
		event.entry = sent_as;
		varve_emit(output, &event);
	}
	if (entry->published && sent_as == entry)
		emit_relation(output, entry);
	else if (entry->refusal != NULL)
		emit_unpublished(output, entry);
	/* Not, or as its root, and perhaps for itself before. */
	else if (was_table(output, relid, now) &&
			 !(OidIsValid(entry->root) && varve_roots_had(output, relid)))
		varve_definitions_untrack(output, entry, NULL);
}

static void
emit_drop(VarveOutput *output, Oid relid)
{
	VarveEvent event = {0};

	event.op = VARVE_OP_DROP;
	event.relid = relid;
	varve_emit(output, &event);
}

/* What is to be looked at where a transaction ends: what it changed, and what was published before
 * it changed something that may concern any table. */
static List *
tables_to_tell(VarveOutput *output, ReorderBufferTXN *txn)
{
	List *oids = changed_tables(output, txn);

	for (int i = 0; i < output->tables_before_count; i++)
		oids = list_append_unique_oid(oids, output->tables_before[i].relid);
	list_sort(oids, compare_oids);
	return oids;
}

void
varve_definitions_commit(VarveOutput *output, ReorderBufferTXN *txn)
{
	VarveVisibility now = visibility_now(txn);
	List *tables = tables_to_tell(output, txn);
	ListCell *cell;

	foreach (cell, tables)
	{
		Oid relid = lfirst_oid(cell);
		RelationState state = relation_state(output, relid);

		if (state == RELATION_TABLE)
			emit_definition(output, relid, &now);
		else if (state == RELATION_MISSING && was_table(output, relid, &now))
			emit_drop(output, relid);
		/* SET UNLOGGED. */
		else if (state == RELATION_OTHER && table_before(output, relid) != NULL)
			varve_definitions_untrack(output, varve_relation_enter(output->relations, relid), NULL);
	}
	varve_roots_commit(output, tables);
	forget_before(output);
}
