/* SPDX-License-Identifier: PostgreSQL */
/*
 * What is known of a table, worked out once and used for each of its rows. Entries are never freed
 * before the decoding context: invalidations arrive at any catalog access and only set flags.
 */
#pragma once

#include "postgres.h"
#include "access/tupconvert.h"
#include "catalog/pg_publication.h"
#include "utils/rel.h"

#include "plugin/output/encode.h"
#include "plugin/output/publication.h"
#include "plugin/wire/wire.h"

/* What the client was last told of a table in this session. */
typedef enum VarveAnnounced
{
	VARVE_ANNOUNCED_NOTHING,
	VARVE_ANNOUNCED_DESCRIPTION, /* entry->announced_description */
	VARVE_ANNOUNCED_UNTRACKED
} VarveAnnounced;

typedef struct VarveRelationEntry
{
	Oid relid; /* key, first */
	bool valid;
	bool complete; /* an error, such as a concurrent abort, has not cut short its making */
	bool published;
	bool is_transient;	 /* the new heap of a table that is being rewritten */
	char identity;		 /* in force: d (primary key), i, f, n */
	bool obeys_settings; /* some column's text does */
	bool may_expand;	 /* some value may be far longer as it is sent than as it is stored */
	char *refusal;		 /* why a table of a publication is not `published` */
	int attribute_count;
	Size fixed_bytes;		/* of an image: all but its values of variable width */
	VarveEncoder *encoders; /* by attnum - 1, like the next three */
	FmgrInfo *to_jsonb;		/* format=json only */
	Datum *values;
	bool *nulls;
	VarveRelation definition;
	char *qualified_name;
	uint32 schema_hash;	 /* of the schema's pg_namespace entry in the syscache */
	uint32 *type_hashes; /* of the user-defined types in `definition` */
	int type_hash_count;
	List *row_types; /* oids of the relations behind the composite types in `definition` */

	/*
	 * Under publish_via_partition_root: what its rows are sent as, itself for a root. A partition
	 * that is sent so has no definition of its own.
	 */
	Oid root;
	struct VarveRelationEntry *root_entry; /* of a partition: where its rows are described */
	TupleConversionMap *to_root;		   /* NULL where the rows are alike */
	List *partitions;					   /* of a root: oids of what is below it */
	bool detects_moves;					   /* of a root: see move.c */
	uint64
		rows_in; /* the transaction that its rows, or a transient heap's, were last seen in ... */
	Oid rows_as; /* ... and what they were sent as */
	MemoryContext context; /* owns what hangs on the entry */

	VarveAnnounced announced;
	uint64 announced_description;
	uint64 staged_number;	  /* of the streamed or prepared transaction that mentioned it last */
	uint64 shown_description; /* format=json: what the client has seen last, in any transaction */
	uint64 ref_sequence; /* the batch in which the table has the place ref_index among the refs */
	uint64 ref_description;
	uint16 ref_index;
} VarveRelationEntry;

typedef struct VarveRelationCache VarveRelationCache;

/*
 * One cache a process at a time: cache callbacks can be registered but never removed. `with_json`
 * prepares to_jsonb for each column.
 */
extern VarveRelationCache *varve_relations_open(VarvePublications *publications, bool with_json,
												MemoryContext context);

/* What the rows of the table are described by: its own entry or that of its root. */
static inline VarveRelationEntry *
varve_relation_sent_as(VarveRelationEntry *entry)
{
	return entry->root_entry == NULL ? entry : entry->root_entry;
}

/* The entry as of now; what it holds stays until the next call for the same table. */
extern VarveRelationEntry *varve_relation_get(VarveRelationCache *cache, Relation relation);

/* The entry if there is one, whatever its state, else NULL. */
extern VarveRelationEntry *varve_relation_find(VarveRelationCache *cache, Oid relid);

/* The entry, made invalid if there was none. */
extern VarveRelationEntry *varve_relation_enter(VarveRelationCache *cache, Oid relid);

/* From here on the client has been told nothing of any table. */
extern void varve_relations_forget_announced(VarveRelationCache *cache);

/* describe.c: fills entry->definition and what derives from it, in entry->context. */
extern void varve_relation_describe(VarveRelationEntry *entry, Relation relation);

/* describe.c: the identity that the server logs old rows by, which is not always the one that was
 * asked for. */
extern char varve_relation_identity(Relation relation);

/* describe.c: what rows from before ADD COLUMN ... DEFAULT have, in the column's form. */
extern VarveBytes varve_missing_value(Relation relation, AttrNumber attnum,
									  const VarveEncoder *encoder);

/*
 * partition.c: of a root that is described, what its partitions have to say. The reason why it
 * cannot be followed, in entry->context, or NULL.
 */
extern char *varve_partitions_describe(VarveRelationEntry *entry, Relation root);

/* partition.c: everything below a partitioned table, in order of oid; only what holds rows. */
extern List *varve_partitions_below(Oid parent);
extern List *varve_partitions_leaves(Oid parent);

/* type.c: the types reachable from the columns, into definition->types. */
extern void varve_relation_describe_types(VarveRelation *definition);

/* type.c: whether the text of some column depends on settings. REQUIRES: its types are there. */
extern bool varve_relation_obeys_settings(const VarveRelation *definition);

/* Every table that the publications have at this point of the WAL. */
extern List *varve_relations_published(VarveRelationCache *cache);

/* Whether some table may be sent as its root. */
extern bool varve_relations_via_root(VarveRelationCache *cache);
