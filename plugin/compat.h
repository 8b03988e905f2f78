/* SPDX-License-Identifier: PostgreSQL */
/* The only file that tests PG_VERSION_NUM. Include it after postgres.h. */
#pragma once

#include "replication/logical.h"
#include "replication/reorderbuffer.h"
#include "utils/rel.h"

#if PG_VERSION_NUM < 150000
#error "Varve needs PostgreSQL 15 or later"
#endif

#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

/* Until 16 the server declared neither the plugin's entry point nor its visibility. */
#if PG_VERSION_NUM < 160000
extern void _PG_output_plugin_init(struct OutputPluginCallbacks *cb);
#endif

/* Of utils/pg_locale.h, which from 17 on wants the headers of ICU. */
extern PGDLLIMPORT char *locale_monetary;

/* Row images of a change: a wrapped tuple until 16, a HeapTuple since. NULL where there is none. */
#if PG_VERSION_NUM >= 170000
#define varve_change_tuple(logged) (logged)
#else
#define varve_change_tuple(logged) ((logged) == NULL ? NULL : &(logged)->tuple)
#endif

/* Until 15 the plugin itself keeps the client's connection alive in a long transaction. */
#define VARVE_PLUGIN_KEEPS_ALIVE (PG_VERSION_NUM < 160000)

/* The primary key's index, InvalidOid where there is none or where it is deferrable. */
static inline Oid
varve_primary_key_index(Relation relation)
{
#if PG_VERSION_NUM >= 170000
	return relation->rd_ispkdeferrable ? InvalidOid : relation->rd_pkindex;
#else
	return relation->rd_pkindex;
#endif
}

#if PG_VERSION_NUM >= 190000
#define RepOriginId ReplOriginId
#define InvalidRepOriginId InvalidReplOriginId
#endif
