/* SPDX-License-Identifier: PostgreSQL */
/* Parts of format=json. */
#pragma once

#include "postgres.h"
#include "lib/stringinfo.h"

#include "plugin/output/relation.h"
#include "plugin/wire/wire.h"

/* Appends `"key": `, with a comma before it unless it comes first in its object. */
extern void varve_json_key(StringInfo out, const char *key);

/* Appends a key and a text value. */
extern void varve_json_text(StringInfo out, const char *key, const char *text);

/* Appends the members of an object that describe a relation. */
extern void varve_json_relation(StringInfo out, const VarveRelation *relation);

/* Appends the deformed row's value of a column. */
extern void varve_json_value(StringInfo out, VarveRelationEntry *entry, const VarveColumn *column);
