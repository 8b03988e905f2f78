/* SPDX-License-Identifier: PostgreSQL */
#include "postgres.h"
#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/transam.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_publication_rel.h"
#include "utils/fmgroids.h"
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
	bool via_root; /* of some of `loaded` */
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
	publications->via_root = false;
	publications->loaded = NIL;
	MemoryContextReset(publications->loaded_context);
	old_context = MemoryContextSwitchTo(publications->loaded_context);
	foreach (cell, publications->names)
	{
		Publication *publication = GetPublicationByName(lfirst(cell), true);

		if (publication == NULL)
		{
			note_missing(publications, lfirst(cell));
			continue;
		}
		publications->loaded = lappend(publications->loaded, publication);
		publications->via_root |= publication->pubviaroot;
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

/* What one publication makes of a table. */
typedef struct Coverage
{
	bool has;
	int level;	   /* of `memberships`: the topmost that the publication has */
	char *refusal; /* NULL when there is none */
} Coverage;

static Coverage
coverage_of(const Publication *publication, const Membership *memberships, int count)
{
	Coverage coverage = {publication->alltables, publication->alltables ? count - 1 : 0, NULL};

	for (int i = 0; i < count; i++)
	{
		bool by_table = list_member_oid(memberships[i].by_table, publication->oid);
		const char *filter = by_table ? filter_of(publication, memberships[i].relid) : NULL;

		if (by_table || list_member_oid(memberships[i].by_schema, publication->oid))
		{
			coverage.has = true;
			coverage.level = Max(coverage.level, i);
		}
		if (filter != NULL)
			coverage.refusal =
				psprintf("publication \"%s\" has a %s for table \"%s\", which varve does not "
						 "support: publish the whole table to varve, in a publication of its "
						 "own if need be",
						 publication->name, filter, get_rel_name(memberships[i].relid));
	}
	if (!publication->pubviaroot)
		coverage.level = 0;
	return coverage;
}

bool
varve_publications_cover(VarvePublications *publications, Relation relation, Oid *root,
						 char **refusal)
{
	bool is_partitioned = relation->rd_rel->relkind == RELKIND_PARTITIONED_TABLE;
	List *ancestors = NIL;
	Membership *memberships;
	int count = 0;
	int level = -1;
	int refused_level = 0;
	ListCell *cell;

	*root = InvalidOid;
	*refusal = NULL;
	/* Materialized views are copies of what is tracked anyway. */
	if ((relation->rd_rel->relkind != RELKIND_RELATION && !is_partitioned) ||
		!is_publishable_relation(relation))
		return false;
	load_if_needed(publications);
	if (is_partitioned && !publications->via_root)
		return false;
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
		Coverage coverage = coverage_of(publication, memberships, count);

		if (!coverage.has || (is_partitioned && !publication->pubviaroot))
			continue;
		if (coverage.refusal == NULL)
			level = Max(level, coverage.level);
		else
		{
			*refusal = coverage.refusal;
			refused_level = Max(refused_level, coverage.level);
		}
	}
	if (level >= 0)
		*refusal = NULL;
	else if (*refusal == NULL)
		return false;
	else
		level = refused_level;
	if (level > 0 || is_partitioned)
		*root = memberships[level].relid;
	return *refusal == NULL && (level == 0 || !is_partitioned);
}

bool
varve_publications_via_root(VarvePublications *publications)
{
	load_if_needed(publications);
	return publications->via_root;
}

/*
 * The server's own lists look things up, or read pg_class without systable_beginscan, in the middle
 * of a scan: while a transaction in progress is streamed that is an error (genam.c, bsysscan). So
 * one scan ends here before the next begins.
 */
static List *
members_of(Oid publication)
{
	Relation members = table_open(PublicationRelRelationId, AccessShareLock);
	List *oids = NIL;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple tuple;

	ScanKeyInit(&key, Anum_pg_publication_rel_prpubid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(publication));
	scan = systable_beginscan(members, PublicationRelPrpubidIndexId, true, NULL, 1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
		oids = lappend_oid(oids, ((Form_pg_publication_rel)GETSTRUCT(tuple))->prrelid);
	systable_endscan(scan);
	table_close(members, AccessShareLock);
	return oids;
}

/* Tables and partitioned ones that the publication has by their schemas, or because it has all. */
static List *
tables_by_schema(const Publication *publication)
{
	bool all = publication->alltables;
	List *schemas = all ? NIL : GetPublicationSchemas(publication->oid);
	Relation classes;
	List *oids = NIL;
	SysScanDesc scan;
	HeapTuple tuple;

	if (schemas == NIL && !all)
		return NIL;
	classes = table_open(RelationRelationId, AccessShareLock);
	scan = systable_beginscan(classes, InvalidOid, false, NULL, 0, NULL);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_class form = (Form_pg_class)GETSTRUCT(tuple);

		if ((form->relkind == RELKIND_RELATION || form->relkind == RELKIND_PARTITIONED_TABLE) &&
			form->relpersistence == RELPERSISTENCE_PERMANENT && form->oid >= FirstNormalObjectId &&
			(all ? !(publication->pubviaroot && form->relispartition)
				 : list_member_oid(schemas, form->relnamespace)))
			oids = lappend_oid(oids, form->oid);
	}
	systable_endscan(scan);
	table_close(classes, AccessShareLock);
	return oids;
}

/* What changes name: roots where they are published so, else partitions without partitions. */
static List *
expand(const List *tables, bool via_root)
{
	List *oids = NIL;
	const ListCell *cell;
	ListCell *part;

	foreach (cell, tables)
	{
		if (via_root || get_rel_relkind(lfirst_oid(cell)) != RELKIND_PARTITIONED_TABLE)
		{
			oids = lappend_oid(oids, lfirst_oid(cell));
			continue;
		}
		foreach (part, find_all_inheritors(lfirst_oid(cell), NoLock, NULL))
		{
			if (get_rel_relkind(lfirst_oid(part)) != RELKIND_PARTITIONED_TABLE)
				oids = lappend_oid(oids, lfirst_oid(part));
		}
	}
	return oids;
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
		List *tables = publication->alltables ? NIL : members_of(publication->oid);

		tables = list_concat(tables, tables_by_schema(publication));
		oids = list_concat(oids, expand(tables, publication->pubviaroot));
	}
	return oids;
}
