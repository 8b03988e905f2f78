/* SPDX-License-Identifier: PostgreSQL */
#include "postgres.h"
#include "utils/json.h"

#include "plugin/output/json.h"

static const VarveType *
find_type(const VarveRelation *relation, Oid oid)
{
	for (size_t i = 0; i < relation->type_count; i++)
	{
		if (relation->types[i].oid == oid)
			return &relation->types[i];
	}
	return NULL;
}

static void
put_boolean(StringInfo out, const char *key, bool value)
{
	varve_json_key(out, key);
	appendStringInfoString(out, value ? "true" : "false");
}

static void
put_number(StringInfo out, const char *key, int64 value)
{
	varve_json_key(out, key);
	appendStringInfo(out, INT64_FORMAT, value);
}

static void
put_type(StringInfo out, const char *key, const VarveRelation *relation, Oid oid)
{
	const VarveType *type = find_type(relation, oid);

	if (type == NULL)
		return;
	varve_json_key(out, key);
	appendStringInfoChar(out, '{');
	varve_json_text(out, "schema", type->schema.data);
	varve_json_text(out, "name", type->name.data);
	if (type->kind == 'A')
	{
		const VarveType *element = find_type(relation, type->inner_oid);

		varve_json_key(out, "element");
		appendStringInfoChar(out, '{');
		varve_json_text(out, "schema", element->schema.data);
		varve_json_text(out, "name", element->name.data);
		appendStringInfoChar(out, '}');
	}
	appendStringInfoChar(out, '}');
}

static void
put_column(StringInfo out, const VarveRelation *relation, const VarveColumn *column)
{
	appendStringInfoChar(out, '{');
	varve_json_text(out, "name", column->name.data);
	put_number(out, "attnum", column->attnum);
	put_type(out, "type", relation, column->type_oid);
	if (column->base_type_oid != column->type_oid)
		put_type(out, "base_type", relation, column->base_type_oid);
	put_number(out, "typmod", column->typmod);
	varve_json_text(out, "form", column->form == VARVE_FORM_TEXT ? "text" : "binary");
	put_boolean(out, "not_null", column->not_null);
	if (column->key_position != 0)
		put_number(out, "key", column->key_position);
	if (column->identity_position != 0)
		put_number(out, "identity_position", column->identity_position);
	if (column->generated != 0)
		varve_json_text(out, "generated", column->generated == 's' ? "stored" : "virtual");
	if (column->default_expression.data != NULL)
		varve_json_text(out, "default", column->default_expression.data);
	appendStringInfoChar(out, '}');
}

void
varve_json_relation(StringInfo out, const VarveRelation *relation)
{
	varve_json_key(out, "version");
	appendStringInfo(out, "\"%08x%08x\"", (uint32)(relation->version >> 32),
					 (uint32)relation->version);
	put_number(out, "oid", relation->oid);
	varve_json_text(out, "schema", relation->schema.data);
	varve_json_text(out, "table", relation->name.data);
	varve_json_key(out, "columns");
	appendStringInfoChar(out, '[');
	for (size_t i = 0; i < relation->column_count; i++)
	{
		if (i > 0)
			appendStringInfoString(out, ", ");
		put_column(out, relation, &relation->columns[i]);
	}
	appendStringInfoChar(out, ']');
}
