/* SPDX-License-Identifier: PostgreSQL */
#include "postgres.h"
#include "access/htup_details.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "catalog/pg_publication_rel.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "plugin/compat.h"
#include "plugin/output/publication.h"

struct VarvePublications
{
	List *names;
	List *warned; /* names whose absence is in the log */
	bool valid;
	bool complete; /* an error, such as a concurrent abort, has not cut short the loading */
	List *loaded;  /* of Publication *, those that exist */
	MemoryContext context;
	MemoryContext loaded_context;
};

VarvePublications *
varve_publications_open(List *names, MemoryContext context)
{
	VarvePublications *publications = MemoryContextAllocZero(context, sizeof(VarvePublications));

	publications->names = names;
	publications->context = context;
	publications->loaded_context =
		AllocSetContextCreate(context, "varve publications", ALLOCSET_SMALL_SIZES);
	return publications;
}

void
varve_publications_invalidate(VarvePublications *publications)
{
	publications->valid = false;
}

/*
 * A publication made after the slot, or dropped and made again, does not exist at older changes: an
 * error would come back at every restart, so it counts as empty there.
 */
static void
note_missing(VarvePublications *publications, char *name)
{
	ListCell *cell;
	MemoryContext old_context;

	foreach (cell, publications->warned)
	{
		if (lfirst(cell) == name)
			return;
	}
	old_context = MemoryContextSwitchTo(publications->context);
	publications->warned = lappend(publications->warned, name);
	MemoryContextSwitchTo(old_context);
	ereport(LOG_SERVER_ONLY, (errmsg("publication \"%s\" does not exist at this point of the WAL: "
									 "varve emits none of its tables here",
									 name),
							  errhint("Create the publication before the replication slot.")));
}

static void
load_publications(VarvePublications *publications)
{
	MemoryContext old_context;
	ListCell *cell;

	/* Set first: an invalidation that arrives while the catalogs are read must not be lost. */
	publications->valid = true;
	publications->complete = false;
	publications->loaded = NIL;
	MemoryContextReset(publications->loaded_context);
	old_context = MemoryContextSwitchTo(publications->loaded_context);
	foreach (cell, publications->names)
	{
		Publication *publication = GetPublicationByName(lfirst(cell), true);

		if (publication != NULL)
			publications->loaded = lappend(publications->loaded, publication);
		else
			note_missing(publications, lfirst(cell));
	}
	MemoryContextSwitchTo(old_context);
	publications->complete = true;
}

static void
load_if_needed(VarvePublications *publications)
{
	if (!publications->valid || !publications->complete)
		load_publications(publications);
}

/* Members with a row filter or a column list would need rows dropped, changed and cut. */
static const char *
filter_of(const Publication *publication, Oid member)
{
	HeapTuple tuple = SearchSysCache2(PUBLICATIONRELMAP, ObjectIdGetDatum(member),
									  ObjectIdGetDatum(publication->oid));
	bool no_filter;
	bool no_columns;

	if (!HeapTupleIsValid(tuple))
		return NULL;
	(void)SysCacheGetAttr(PUBLICATIONRELMAP, tuple, Anum_pg_publication_rel_prqual, &no_filter);
	(void)SysCacheGetAttr(PUBLICATIONRELMAP, tuple, Anum_pg_publication_rel_prattrs, &no_columns);
	ReleaseSysCache(tuple);
	if (no_filter && no_columns)
		return NULL;
	return no_filter ? "column list" : "row filter";
}

/* What puts a table or one of its ancestors into publications. */
typedef struct Membership
{
	Oid relid;
	List *by_table;
	List *by_schema;
} Membership;

static Membership
membership_of(Oid relid, Oid schema)
{
	Membership membership = {relid, GetRelationPublications(relid), GetSchemaPublications(schema)};

	return membership;
}

static bool
publication_has(const Publication *publication, const Membership *memberships, int count,
				char **refusal)
{
	bool has = publication->alltables;

	*refusal = NULL;
	for (int i = 0; i < count; i++)
	{
		const char *filter;

		has |= list_member_oid(memberships[i].by_schema, publication->oid);
		if (!list_member_oid(memberships[i].by_table, publication->oid))
			continue;
		has = true;
		filter = filter_of(publication, memberships[i].relid);
		if (filter != NULL)
			*refusal =
				psprintf("publication \"%s\" has a %s for table \"%s\", which varve does not "
						 "support: publish the whole table to varve, in a publication of its "
						 "own if need be",
						 publication->name, filter, get_rel_name(memberships[i].relid));
	}
	return has;
}

bool
varve_publications_cover(VarvePublications *publications, Relation relation, char **refusal)
{
	List *ancestors = NIL;
	Membership *memberships;
	int count = 0;
	bool covered = false;
	ListCell *cell;

	*refusal = NULL;
	/* Changes name leaf tables; materialized views are copies of what is tracked anyway. */
	if (relation->rd_rel->relkind != RELKIND_RELATION || !is_publishable_relation(relation))
		return false;
	load_if_needed(publications);
	if (relation->rd_rel->relispartition)
		ancestors = get_partition_ancestors(RelationGetRelid(relation));
	memberships = palloc((1 + list_length(ancestors)) * sizeof(Membership));
	memberships[count++] =
		membership_of(RelationGetRelid(relation), RelationGetNamespace(relation));
	foreach (cell, ancestors)
		memberships[count++] = membership_of(lfirst_oid(cell), get_rel_namespace(lfirst_oid(cell)));

	foreach (cell, publications->loaded)
	{
		const Publication *publication = lfirst(cell);

		char *why_not;

		if (!publication_has(publication, memberships, count, &why_not))
			continue;
		if (publication->pubviaroot && ancestors != NIL)
			why_not = psprintf("publication \"%s\" publishes partition \"%s\" via its root, which "
							   "varve does not support: use ALTER PUBLICATION ... SET "
							   "(publish_via_partition_root = false)",
							   publication->name, RelationGetRelationName(relation));
		if (why_not == NULL)
			covered = true;
		else
			*refusal = why_not;
	}
	if (covered)
		*refusal = NULL;
	return covered;
}

List *
varve_publications_tables(VarvePublications *publications)
{
	List *oids = NIL;
	ListCell *cell;

	load_if_needed(publications);
	foreach (cell, publications->loaded)
	{
		const Publication *publication = lfirst(cell);

		if (publication->alltables)
			oids = list_concat(oids, GetAllTablesPublicationRelations(false));
		else
		{
			oids =
				list_concat(oids, GetPublicationRelations(publication->oid, PUBLICATION_PART_LEAF));
			oids = list_concat(
				oids, GetAllSchemaPublicationRelations(publication->oid, PUBLICATION_PART_LEAF));
		}
	}
	return oids;
}
