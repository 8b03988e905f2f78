/* SPDX-License-Identifier: PostgreSQL */
#include "postgres.h"
#include "access/htup_details.h"
#include "access/sysattr.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/relcache.h"
#include "utils/syscache.h"

#include "plugin/output/root.h"

/* A root before the transaction in hand, and what below it holds rows. */
typedef struct RootBefore
{
	Oid relid;
	List *leaves; /* oids in order */
} RootBefore;

/* The root that rows of the table are, or would be, sent as; InvalidOid when there is none. */
static Oid
root_of(VarveOutput *output, Oid relid)
{
	char kind = get_rel_relkind(relid);
	Relation relation;
	Oid root;

	if (kind != RELKIND_PARTITIONED_TABLE && (kind == '\0' || !get_rel_relispartition(relid)))
		return InvalidOid;
	relation = RelationIdGetRelation(relid);
	if (!RelationIsValid(relation))
		return InvalidOid;
	root = varve_relation_get(output->relations, relation)->root;
	RelationClose(relation);
	return root;
}

/* Roots of the tables, each once. */
static List *
roots_of(VarveOutput *output, List *changed, List *roots)
{
	ListCell *cell;

	foreach (cell, changed)
	{
		Oid root = root_of(output, lfirst_oid(cell));

		if (OidIsValid(root))
			roots = list_append_unique_oid(roots, root);
	}
	return roots;
}

void
varve_roots_begin(VarveOutput *output, List *changed)
{
	ListCell *cell;
	List *roots;

	MemoryContextReset(output->roots_context);
	output->roots_before = NIL;
	if (!varve_relations_via_root(output->relations))
		return;
	roots = roots_of(output, changed, NIL);
	foreach (cell, roots)
	{
		List *leaves = varve_partitions_leaves(lfirst_oid(cell));
		MemoryContext old_context = MemoryContextSwitchTo(output->roots_context);
		RootBefore *before = palloc(sizeof(RootBefore));

		before->relid = lfirst_oid(cell);
		before->leaves = list_copy(leaves);
		output->roots_before = lappend(output->roots_before, before);
		MemoryContextSwitchTo(old_context);
	}
}

static const RootBefore *
root_before(const VarveOutput *output, Oid relid)
{
	ListCell *cell;

	foreach (cell, output->roots_before)
	{
		const RootBefore *before = lfirst(cell);

		if (before->relid == relid)
			return before;
	}
	return NULL;
}

/*
 * Whether the transaction in hand has made the table: nothing that it holds is then from before.
 * The pg_attribute entries of system columns are written when a table is made, and never again.
 */
static bool
made_here(const VarveOutput *output, Oid relid)
{
	HeapTuple tuple = SearchSysCache2(ATTNUM, ObjectIdGetDatum(relid),
									  Int16GetDatum(MaxCommandIdAttributeNumber));
	bool result;

	if (!HeapTupleIsValid(tuple))
		return false;
	result = varve_is_own_xid(output->txn, HeapTupleHeaderGetRawXmin(tuple->t_data));
	ReleaseSysCache(tuple);
	return result;
}

/* In a list in order of oid. */
static bool
contains(const List *oids, Oid relid)
{
	int low = 0;
	int high = list_length(oids);

	while (low < high)
	{
		int middle = low + (high - low) / 2;

		if (list_nth_oid(oids, middle) < relid)
			low = middle + 1;
		else
			high = middle;
	}
	return low < list_length(oids) && list_nth_oid(oids, low) == relid;
}

bool
varve_roots_had(const VarveOutput *output, Oid relid)
{
	ListCell *cell;

	if (get_rel_relkind(relid) == RELKIND_PARTITIONED_TABLE)
		return root_before(output, relid) == NULL;
	foreach (cell, output->roots_before)
	{
		if (contains(((RootBefore *)lfirst(cell))->leaves, relid))
			return true;
	}
	return false;
}

#define CAME_WITH_ROWS "was attached with rows that were never sent as the root's"
#define LEFT_WITH_ROWS "was detached or dropped, and its rows with it"
#define TRUNCATED_ALONE "was truncated, and others were not"

static void
end_root(VarveOutput *output, Oid root, Oid leaf, const char *what)
{
	const char *name = get_rel_name(leaf);
	char *subject = name == NULL ? "a partition of it" : psprintf("its partition \"%s\"", name);

	varve_definitions_untrack(
		output, varve_relation_enter(output->relations, root),
		psprintf("%s %s: PostgreSQL logs no change of rows for that. Publish the partitions each "
				 "for itself (publish_via_partition_root = false) or begin a new history",
				 subject, what));
}

void
varve_roots_mixed(VarveOutput *output, VarveRelationEntry *entry)
{
	Oid now = varve_relation_sent_as(entry)->relid;

	if (entry->rows_as != entry->relid)
		end_root(output, entry->rows_as, entry->relid, LEFT_WITH_ROWS);
	if (now != entry->relid)
		end_root(output, now, entry->relid, CAME_WITH_ROWS);
}

/* What the rows of a table in this transaction were sent as; InvalidOid when it had none. */
static Oid
rows_sent_as(const VarveOutput *output, Oid relid)
{
	const VarveRelationEntry *entry = varve_relation_find(output->relations, relid);

	return entry == NULL || entry->rows_in != output->number ? InvalidOid : entry->rows_as;
}

/* Partitions that the root has got: empty, or with rows that were all sent as its own. */
static void
check_leaves(VarveOutput *output, Oid root, const List *before, const List *after)
{
	const ListCell *cell;

	foreach (cell, after)
	{
		Oid leaf = lfirst_oid(cell);
		Oid sent_as = rows_sent_as(output, leaf);

		if ((OidIsValid(sent_as) && sent_as != root) ||
			(!contains(before, leaf) && !made_here(output, leaf)))
			end_root(output, root, leaf, CAME_WITH_ROWS);
	}
	foreach (cell, before)
	{
		if (!contains(after, lfirst_oid(cell)))
			end_root(output, root, lfirst_oid(cell), LEFT_WITH_ROWS);
	}
}

/* Whether it is a root still, and the client may have had rows of it before. */
static bool
is_old_root(VarveOutput *output, Oid relid)
{
	if (root_of(output, relid) != relid)
		return false;
	return root_before(output, relid) != NULL ||
		   (!varve_definitions_was_there(output, relid) && !made_here(output, relid));
}

/* Rows that were sent as a root's, of a table that is no partition of it where all ends. */
static void
check_rows(VarveOutput *output, List *changed)
{
	ListCell *cell;

	foreach (cell, changed)
	{
		Oid relid = lfirst_oid(cell);
		Oid sent_as = rows_sent_as(output, relid);

		if (OidIsValid(sent_as) && sent_as != relid && root_of(output, relid) != sent_as &&
			root_of(output, sent_as) == sent_as)
			end_root(output, sent_as, relid, LEFT_WITH_ROWS);
	}
}

void
varve_roots_commit(VarveOutput *output, List *changed)
{
	List *roots = NIL;
	ListCell *cell;

	if (output->roots_before == NIL && !varve_relations_via_root(output->relations))
		return;
	foreach (cell, output->roots_before)
		roots = lappend_oid(roots, ((RootBefore *)lfirst(cell))->relid);
	roots = roots_of(output, changed, roots);
	foreach (cell, roots)
	{
		Oid root = lfirst_oid(cell);
		const RootBefore *before = root_before(output, root);

		if (is_old_root(output, root))
			check_leaves(output, root, before == NULL ? NIL : before->leaves,
						 varve_partitions_leaves(root));
	}
	check_rows(output, changed);
	output->roots_before = NIL;
}

void
varve_roots_truncate(VarveOutput *output, VarveRelationEntry *partition, int count,
					 Relation relations[])
{
	for (int i = 0; i < count; i++)
	{
		if (RelationGetRelid(relations[i]) == partition->root)
			return;
	}
	if (made_here(output, partition->relid) && partition->rows_in != output->number)
		return;
	end_root(output, partition->root, partition->relid, TRUNCATED_ALONE);
}

void
varve_roots_map(VarveRelationEntry *partition, VarveEvent *event)
{
	VarveRelationEntry *root = partition->root_entry;
	TupleConversionMap *map = partition->to_root;

	event->entry = root;
	event->relid = root->relid;
	/* What is logged of old rows is of no use to a root without an identity. */
	if (root->identity == REPLICA_IDENTITY_NOTHING && partition->identity != REPLICA_IDENTITY_FULL)
		event->old_tuple = NULL;
	if (map == NULL)
		return;
	event->descriptor = map->outdesc;
	event->old_descriptor = map->outdesc;
	if (event->new_tuple != NULL)
		event->new_tuple = execute_attr_map_tuple(event->new_tuple, map);
	if (event->old_tuple != NULL)
		event->old_tuple = execute_attr_map_tuple(event->old_tuple, map);
}
