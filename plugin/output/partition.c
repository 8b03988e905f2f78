/* SPDX-License-Identifier: PostgreSQL */
/* Partitioned tables that are sent as one: what lies below them, by the catalogs as of the change.
 */
#include "postgres.h"
#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/tupdesc_details.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "nodes/pg_list.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/reltrigger.h"
#include "utils/syscache.h"

#include "plugin/compat.h"
#include "plugin/output/relation.h"

static int
compare_oids(const ListCell *a, const ListCell *b)
{
	Oid left = lfirst_oid(a);
	Oid right = lfirst_oid(b);

	return left < right ? -1 : left > right;
}

/*
 * find_all_inheritors() would do, but that it takes one that DETACH CONCURRENTLY has begun to
 * detach, whose rows no query sees any more.
 */
static List *
children_of(Oid parent, List *children)
{
	Relation inherits = table_open(InheritsRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple tuple;

	ScanKeyInit(&key, Anum_pg_inherits_inhparent, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(parent));
	scan = systable_beginscan(inherits, InheritsParentIndexId, true, NULL, 1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_inherits form = (Form_pg_inherits)GETSTRUCT(tuple);

		if (!form->inhdetachpending)
			children = lappend_oid(children, form->inhrelid);
	}
	systable_endscan(scan);
	table_close(inherits, AccessShareLock);
	return children;
}

List *
varve_partitions_below(Oid parent)
{
	List *oids = children_of(parent, NIL);

	for (int i = 0; i < list_length(oids); i++) /* grows meanwhile */
	{
		Oid relid = list_nth_oid(oids, i);

		if (get_rel_relkind(relid) == RELKIND_PARTITIONED_TABLE)
			oids = children_of(relid, oids);
	}
	list_sort(oids, compare_oids);
	return oids;
}

List *
varve_partitions_leaves(Oid parent)
{
	List *leaves = NIL;
	ListCell *cell;

	foreach (cell, varve_partitions_below(parent))
	{
		if (get_rel_relkind(lfirst_oid(cell)) != RELKIND_PARTITIONED_TABLE)
			leaves = lappend_oid(leaves, lfirst_oid(cell));
	}
	return leaves;
}

/* The columns of a root that old rows must have. A root with REPLICA IDENTITY FULL is known by its
 * primary key, if it has one. */
static void
mark_identity(VarveRelationEntry *root)
{
	for (size_t i = 0; i < root->definition.column_count; i++)
	{
		const VarveColumn *column = &root->definition.columns[i];

		if (root->identity == REPLICA_IDENTITY_FULL)
			root->encoders[column->attnum - 1].in_identity = column->key_position != 0;
	}
}

static bool
index_has_column(Relation index, Relation table, const char *name)
{
	for (int i = 0; i < IndexRelationGetNumberOfKeyAttributes(index); i++)
	{
		AttrNumber attnum = index->rd_index->indkey.values[i];

		if (attnum > 0 &&
			strcmp(NameStr(TupleDescAttr(RelationGetDescr(table), attnum - 1)->attname), name) == 0)
			return true;
	}
	return false;
}

/* Whether what the server logs of old rows of the partition has what the root's rows are known by.
 */
static bool
logs_identity(const VarveRelationEntry *root, Relation partition)
{
	char identity = varve_relation_identity(partition);
	Relation index;
	bool all = true;
	bool some = false;

	if (identity == REPLICA_IDENTITY_FULL)
		return true;
	index = RelationIdGetRelation(RelationGetReplicaIndex(partition));
	for (size_t i = 0; i < root->definition.column_count; i++)
	{
		const VarveColumn *column = &root->definition.columns[i];

		if (!root->encoders[column->attnum - 1].in_identity)
			continue;
		some = true;
		all =
			all && RelationIsValid(index) && index_has_column(index, partition, column->name.data);
	}
	if (RelationIsValid(index))
		RelationClose(index);
	return some ? all : root->identity != REPLICA_IDENTITY_FULL;
}

static char *
refusal_of(const VarveRelationEntry *root, Relation partition)
{
	const char *name = RelationGetRelationName(partition);

	if (partition->rd_rel->relkind != RELKIND_RELATION ||
		partition->rd_rel->relpersistence != RELPERSISTENCE_PERMANENT)
		return psprintf("its partition \"%s\" is %s: PostgreSQL writes no WAL for its rows", name,
						partition->rd_rel->relkind == RELKIND_FOREIGN_TABLE ? "a foreign table"
																			: "unlogged");
	if (!logs_identity(root, partition))
		return psprintf("its partition \"%s\" has another replica identity, so that old rows lack "
						"what rows of the root are known by: use ALTER TABLE ... REPLICA IDENTITY "
						"of the partition as of the root",
						name);
	return NULL;
}

/*
 * Values of ADD COLUMN ... DEFAULT are kept with what holds rows, all of which have got the same at
 * that time. (A partition that came with a value of its own, for rows of its own, has had the
 * column before it was a partition, and so has its root.)
 */
static void
take_missing_values(VarveRelationEntry *root, Relation partition)
{
	TupleDesc descriptor = RelationGetDescr(partition);

	if (descriptor->constr == NULL || descriptor->constr->missing == NULL)
		return;
	for (size_t i = 0; i < root->definition.column_count; i++)
	{
		VarveColumn *column = &root->definition.columns[i];
		AttrNumber attnum = get_attnum(RelationGetRelid(partition), column->name.data);

		if (column->missing.data == NULL && attnum > 0)
			column->missing =
				varve_missing_value(partition, attnum, &root->encoders[column->attnum - 1]);
	}
}

char *
varve_partitions_describe(VarveRelationEntry *entry, Relation root)
{
	char *refusal = NULL;
	int leaf_count = 0;
	ListCell *cell;

	mark_identity(entry);
	entry->partitions = varve_partitions_below(entry->relid);
	entry->detects_moves = true;
	foreach (cell, entry->partitions)
	{
		Relation partition = RelationIdGetRelation(lfirst_oid(cell));

		if (!RelationIsValid(partition))
			elog(ERROR, "could not open relation with OID %u", lfirst_oid(cell));
		if (partition->rd_rel->relkind != RELKIND_PARTITIONED_TABLE)
		{
			leaf_count++;
			if (refusal == NULL)
				refusal = refusal_of(entry, partition);
			take_missing_values(entry, partition);
			/* One that returns no row leaves a move without an end. */
			if (partition->trigdesc != NULL && partition->trigdesc->trig_insert_before_row)
				entry->detects_moves = false;
		}
		RelationClose(partition);
	}
	entry->detects_moves &= leaf_count > 1;
	return refusal;
}
