/* SPDX-License-Identifier: PostgreSQL */
#include "postgres.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type_d.h"
#include "utils/fmgroids.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "plugin/compat.h"
#include "plugin/output/relation.h"
#include "plugin/output/settings.h"

struct VarveRelationCache
{
	HTAB *entries;
	VarveRelationEntry *last; /* rows of one table come in runs */
	VarvePublications *publications;
	bool with_json;
	bool has_users; /* some entry has composite types or partitions */
	MemoryContext context;
};

/* What the callbacks below mark; NULL while nothing is decoded. */
static VarveRelationCache *open_cache = NULL;

static void
invalidate_all(VarveRelationCache *cache)
{
	HASH_SEQ_STATUS status;
	VarveRelationEntry *entry;

	hash_seq_init(&status, cache->entries);
	while ((entry = hash_seq_search(&status)) != NULL)
		entry->valid = false;
}

/* Tables whose columns have a composite type that is stored as this relation; and the roots of what
 * may be a partition. */
static void
invalidate_users(VarveRelationCache *cache, Oid relid)
{
	HASH_SEQ_STATUS status;
	VarveRelationEntry *entry;

	hash_seq_init(&status, cache->entries);
	while ((entry = hash_seq_search(&status)) != NULL)
	{
		if (list_member_oid(entry->row_types, relid) || list_member_oid(entry->partitions, relid))
			entry->valid = false;
	}
}

static void
relcache_changed(Datum argument, Oid relid)
{
	VarveRelationEntry *entry;

	if (open_cache == NULL)
		return;
	if (!OidIsValid(relid))
	{
		invalidate_all(open_cache);
		return;
	}
	entry = varve_relation_find(open_cache, relid);
	if (entry != NULL)
		entry->valid = false;
	if (open_cache->has_users)
		invalidate_users(open_cache, relid);
}

static bool
uses_type(const VarveRelationEntry *entry, uint32 hash)
{
	for (int i = 0; i < entry->type_hash_count; i++)
	{
		if (entry->type_hashes[i] == hash)
			return true;
	}
	return false;
}

/* pg_namespace and pg_type: every new table changes pg_type, so look at who uses what. Hash 0: all
 * of it. */
static void
name_changed(Datum argument, int cache_id, uint32 hash)
{
	HASH_SEQ_STATUS status;
	VarveRelationEntry *entry;

	if (open_cache == NULL)
		return;
	hash_seq_init(&status, open_cache->entries);
	while ((entry = hash_seq_search(&status)) != NULL)
	{
		if (hash == 0 ||
			(cache_id == NAMESPACEOID ? entry->schema_hash == hash : uses_type(entry, hash)))
			entry->valid = false;
	}
}

/* A label says nothing of its type: labels change seldom, so all tables are looked at again. */
static void
label_changed(Datum argument, int cache_id, uint32 hash)
{
	if (open_cache != NULL)
		invalidate_all(open_cache);
}

static void
publication_changed(Datum argument, int cache_id, uint32 hash)
{
	if (open_cache == NULL)
		return;
	varve_publications_invalidate(open_cache->publications);
	invalidate_all(open_cache);
}

static void
register_callbacks(void)
{
	static bool registered = false;

	if (registered)
		return;
	registered = true;
	CacheRegisterRelcacheCallback(relcache_changed, (Datum)0);
	CacheRegisterSyscacheCallback(NAMESPACEOID, name_changed, (Datum)0);
	CacheRegisterSyscacheCallback(TYPEOID, name_changed, (Datum)0);
	CacheRegisterSyscacheCallback(ENUMOID, label_changed, (Datum)0);
	CacheRegisterSyscacheCallback(PUBLICATIONOID, publication_changed, (Datum)0);
	CacheRegisterSyscacheCallback(PUBLICATIONRELMAP, publication_changed, (Datum)0);
	CacheRegisterSyscacheCallback(PUBLICATIONNAMESPACEMAP, publication_changed, (Datum)0);
}

static void
close_cache(void *argument)
{
	if (open_cache == argument)
		open_cache = NULL;
}

VarveRelationCache *
varve_relations_open(VarvePublications *publications, bool with_json, MemoryContext context)
{
	VarveRelationCache *cache = MemoryContextAllocZero(context, sizeof(VarveRelationCache));
	MemoryContextCallback *on_reset = MemoryContextAlloc(context, sizeof(MemoryContextCallback));
	HASHCTL control = {0};

	control.keysize = sizeof(Oid);
	control.entrysize = sizeof(VarveRelationEntry);
	control.hcxt = context;
	cache->entries =
		hash_create("varve relations", 128, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	cache->publications = publications;
	cache->with_json = with_json;
	cache->context = context;
	/* The shutdown callback does not run after an error; this does. */
	on_reset->func = close_cache;
	on_reset->arg = cache;
	MemoryContextRegisterResetCallback(context, on_reset);
	open_cache = cache;
	register_callbacks();
	return cache;
}

VarveRelationEntry *
varve_relation_find(VarveRelationCache *cache, Oid relid)
{
	return hash_search(cache->entries, &relid, HASH_FIND, NULL);
}

VarveRelationEntry *
varve_relation_enter(VarveRelationCache *cache, Oid relid)
{
	bool found;
	VarveRelationEntry *entry = hash_search(cache->entries, &relid, HASH_ENTER, &found);

	if (!found)
	{
		memset((char *)entry + sizeof(entry->relid), 0, sizeof(*entry) - sizeof(entry->relid));
		entry->context =
			AllocSetContextCreate(cache->context, "varve relation", ALLOCSET_SMALL_SIZES);
	}
	return entry;
}

/* to_jsonb takes anyelement and finds the type in the expression that calls it: give each column
 * one. */
static void
prepare_to_jsonb(VarveRelationEntry *entry)
{
	MemoryContext old_context = MemoryContextSwitchTo(entry->context);

	entry->to_jsonb = palloc0(Max(entry->attribute_count, 1) * sizeof(FmgrInfo));
	for (size_t i = 0; i < entry->definition.column_count; i++)
	{
		const VarveColumn *column = &entry->definition.columns[i];
		Node *value = (Node *)makeNullConst(column->type_oid, column->typmod, InvalidOid);
		FuncExpr *call = makeFuncExpr(F_TO_JSONB, JSONBOID, list_make1(value), InvalidOid,
									  InvalidOid, COERCE_EXPLICIT_CALL);

		fmgr_info(F_TO_JSONB, &entry->to_jsonb[column->attnum - 1]);
		fmgr_info_set_expr((Node *)call, &entry->to_jsonb[column->attnum - 1]);
	}
	MemoryContextSwitchTo(old_context);
}

/* A partition whose rows are sent as those of its root. */
static void
send_as_root(VarveRelationCache *cache, VarveRelationEntry *entry, Relation relation)
{
	Relation root = RelationIdGetRelation(entry->root);
	MemoryContext old_context;

	if (!RelationIsValid(root))
		elog(ERROR, "could not open relation with OID %u", entry->root);
	entry->root_entry = varve_relation_get(cache, root);
	entry->published = entry->root_entry->published;
	entry->refusal = entry->root_entry->refusal;
	entry->identity = varve_relation_identity(relation);
	if (entry->published)
	{
		old_context = MemoryContextSwitchTo(entry->context);
		entry->to_root =
			convert_tuples_by_name(CreateTupleDescCopyConstr(RelationGetDescr(relation)),
								   CreateTupleDescCopyConstr(RelationGetDescr(root)));
		MemoryContextSwitchTo(old_context);
	}
	RelationClose(root);
}

static void
forget(VarveRelationEntry *entry)
{
	entry->type_hash_count = 0;
	entry->row_types = NIL;
	entry->partitions = NIL;
	entry->root_entry = NULL;
	entry->to_root = NULL;
	entry->detects_moves = false;
	entry->refusal = NULL;
	MemoryContextReset(entry->context);
}

static void
rebuild_entry(VarveRelationCache *cache, VarveRelationEntry *entry, Relation relation)
{
	char *refusal;
	int level;

	/*
	 * Set first: an invalidation that arrives while the catalogs are read must not be lost. An
	 * error may end the reading and not the session.
	 */
	entry->valid = true;
	entry->complete = false;
	forget(entry);
	entry->attribute_count = RelationGetDescr(relation)->natts;
	entry->is_transient = OidIsValid(relation->rd_rel->relrewrite);
	entry->schema_hash =
		GetSysCacheHashValue1(NAMESPACEOID, ObjectIdGetDatum(RelationGetNamespace(relation)));
	entry->published =
		varve_publications_cover(cache->publications, relation, &entry->root, &refusal);
	if (refusal != NULL)
		entry->refusal = MemoryContextStrdup(entry->context, refusal);
	if (relation->rd_rel->relkind == RELKIND_RELATION && OidIsValid(entry->root))
		send_as_root(cache, entry, relation);
	else if (entry->published)
	{
		level = varve_settings_pin();
		varve_relation_describe(entry, relation);
		varve_settings_restore(level);
		cache->has_users |= entry->row_types != NIL || entry->partitions != NIL;
		if (cache->with_json)
			prepare_to_jsonb(entry);
		entry->published = entry->refusal == NULL;
	}
	entry->complete = true;
}

static bool
is_current(const VarveRelationEntry *entry, Relation relation)
{
	return entry->valid && entry->complete &&
		   entry->attribute_count == RelationGetDescr(relation)->natts &&
		   (entry->root_entry == NULL || (entry->root_entry->valid && entry->root_entry->complete));
}

VarveRelationEntry *
varve_relation_get(VarveRelationCache *cache, Relation relation)
{
	VarveRelationEntry *entry = cache->last;
	Oid relid = RelationGetRelid(relation);

	if (entry == NULL || entry->relid != relid)
		entry = varve_relation_enter(cache, relid);
	if (unlikely(!is_current(entry, relation)))
		rebuild_entry(cache, entry, relation);
	cache->last = entry;
	return entry;
}

void
varve_relations_forget_announced(VarveRelationCache *cache)
{
	HASH_SEQ_STATUS status;
	VarveRelationEntry *entry;

	hash_seq_init(&status, cache->entries);
	while ((entry = hash_seq_search(&status)) != NULL)
		entry->announced = VARVE_ANNOUNCED_NOTHING;
}

bool
varve_relations_via_root(VarveRelationCache *cache)
{
	return varve_publications_via_root(cache->publications);
}

List *
varve_relations_published(VarveRelationCache *cache)
{
	return varve_publications_tables(cache->publications);
}
