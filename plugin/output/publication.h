/* SPDX-License-Identifier: PostgreSQL */
/* Which tables the client gets: those of its publications, as the catalogs were at the change. */
#pragma once

#include "postgres.h"
#include "catalog/pg_publication.h"
#include "utils/rel.h"

typedef struct VarvePublications VarvePublications;

extern VarvePublications *varve_publications_open(List *names, MemoryContext context);

/*
 * True when a publication has the table. Which actions it publishes does not count: a history
 * without some of the changes would be wrong. *refusal says why a table that one has is not covered
 * all the same: row filters and column lists. No error: what the catalogs say of a stretch of WAL
 * stays, and would stop the slot for ever. In the current memory context.
 *
 * *root is the partitioned table that the rows of a partition are sent as under
 * publish_via_partition_root: the topmost one that the publication has. It is the table itself when
 * that is this one, InvalidOid for a table that is sent as itself otherwise. Partitioned tables in
 * between have a root and are not covered.
 */
extern bool varve_publications_cover(VarvePublications *publications, Relation relation, Oid *root,
									 char **refusal);

/* Whether some table may be sent as its root. */
extern bool varve_publications_via_root(VarvePublications *publications);

/* Every table that the publications have at this point of the WAL. */
extern List *varve_publications_tables(VarvePublications *publications);

/* The definitions may have changed: read them again when they are next needed. Safe in callbacks.
 */
extern void varve_publications_invalidate(VarvePublications *publications);
