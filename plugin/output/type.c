/* SPDX-License-Identifier: PostgreSQL */
/* Types as a reader of the text form needs them, found by walking from the columns' types. */
#include "postgres.h"
#include "access/htup_details.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "catalog/pg_enum.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "parser/parse_coerce.h"
#include "utils/catcache.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "plugin/compat.h"
#include "plugin/output/relation.h"

#define KIND_ARRAY 'A'

static void
add_type(List **oids, Oid type)
{
	*oids = list_append_unique_oid(*oids, type);
}

/* As to_jsonb: only casts of user-defined types count. */
static bool
has_json_cast(Oid type)
{
	Oid function;

	return type >= FirstNormalObjectId &&
		   find_coercion_pathway(JSONOID, type, COERCION_EXPLICIT, &function) ==
			   COERCION_PATH_FUNC &&
		   OidIsValid(function);
}

static int
attribute_count_of(Oid relid)
{
	HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	int count = 0;

	if (HeapTupleIsValid(tuple))
	{
		count = ((Form_pg_class)GETSTRUCT(tuple))->relnatts;
		ReleaseSysCache(tuple);
	}
	return count;
}

/* The fields of a composite type, read without opening its relation, which would lock it. */
static void
describe_fields(VarveType *type, Oid relid, List **oids)
{
	int count = attribute_count_of(relid);

	type->fields = palloc0(Max(count, 1) * sizeof(VarveTypeField));
	for (int attnum = 1; attnum <= count; attnum++)
	{
		HeapTuple tuple =
			SearchSysCache2(ATTNUM, ObjectIdGetDatum(relid), Int16GetDatum((int16)attnum));
		Form_pg_attribute attribute;

		if (!HeapTupleIsValid(tuple))
			continue;
		attribute = (Form_pg_attribute)GETSTRUCT(tuple);
		if (!attribute->attisdropped)
		{
			VarveTypeField *field = &type->fields[type->field_count++];

			field->name.data = pstrdup(NameStr(attribute->attname));
			field->name.length = strlen(field->name.data);
			field->type_oid = attribute->atttypid;
			add_type(oids, attribute->atttypid);
		}
		ReleaseSysCache(tuple);
	}
}

static int
compare_labels(const void *a, const void *b)
{
	uint32 left = ((const VarveTypeField *)a)->type_oid;
	uint32 right = ((const VarveTypeField *)b)->type_oid;

	return left < right ? -1 : left > right;
}

/* Each label with its pg_enum.oid, in order of that: ALTER TYPE ... RENAME VALUE keeps the oid. */
static void
describe_labels(VarveType *type, Oid oid)
{
	CatCList *labels = SearchSysCacheList1(ENUMTYPOIDNAME, ObjectIdGetDatum(oid));

	type->fields = palloc0(Max(labels->n_members, 1) * sizeof(VarveTypeField));
	for (int i = 0; i < labels->n_members; i++)
	{
		Form_pg_enum label = (Form_pg_enum)GETSTRUCT(&labels->members[i]->tuple);
		VarveTypeField *field = &type->fields[type->field_count++];

		field->name.data = pstrdup(NameStr(label->enumlabel));
		field->name.length = strlen(field->name.data);
		field->type_oid = label->oid;
	}
	ReleaseCatCacheList(labels);
	qsort(type->fields, type->field_count, sizeof(VarveTypeField), compare_labels);
}

static uint8
delimiter_of(Oid element)
{
	HeapTuple tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(element));
	char delimiter;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for type %u", element);
	delimiter = ((Form_pg_type)GETSTRUCT(tuple))->typdelim;
	ReleaseSysCache(tuple);
	return (uint8)delimiter;
}

static void
describe_type(VarveType *type, Oid oid, List **oids)
{
	HeapTuple tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(oid));
	Form_pg_type form;
	char *schema;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for type %u", oid);
	form = (Form_pg_type)GETSTRUCT(tuple);
	schema = get_namespace_name(form->typnamespace);
	type->oid = oid;
	type->schema.data = schema == NULL ? "" : schema;
	type->schema.length = strlen(type->schema.data);
	type->name.data = pstrdup(NameStr(form->typname));
	type->name.length = strlen(type->name.data);
	type->kind = (uint8)form->typtype;
	type->delimiter = ',';
	if (IsTrueArrayType(form))
	{
		type->kind = KIND_ARRAY;
		type->inner_oid = form->typelem;
		type->delimiter = delimiter_of(form->typelem);
	}
	else if (form->typtype == TYPTYPE_DOMAIN)
		type->inner_oid = form->typbasetype;
	else if (form->typtype == TYPTYPE_RANGE)
		type->inner_oid = get_range_subtype(oid);
	else if (form->typtype == TYPTYPE_MULTIRANGE)
		type->inner_oid = get_multirange_range(oid);
	else if (form->typtype == TYPTYPE_COMPOSITE)
		describe_fields(type, form->typrelid, oids);
	else if (form->typtype == TYPTYPE_ENUM)
		describe_labels(type, oid);
	if (OidIsValid(type->inner_oid))
		add_type(oids, type->inner_oid);
	type->json_cast = has_json_cast(oid);
	ReleaseSysCache(tuple);
}

void
varve_relation_describe_types(VarveRelation *definition)
{
	List *oids = NIL;
	size_t allocated = 0;

	for (size_t i = 0; i < definition->column_count; i++)
		add_type(&oids, definition->columns[i].type_oid);
	/* The list grows while it is walked. */
	for (size_t i = 0; i < (size_t)list_length(oids); i++)
	{
		if (i == allocated)
		{
			allocated = Max(2 * allocated, 8);
			definition->types = i == 0 ? palloc(allocated * sizeof(VarveType))
									   : repalloc(definition->types, allocated * sizeof(VarveType));
		}
		memset(&definition->types[i], 0, sizeof(VarveType));
		describe_type(&definition->types[i], list_nth_oid(oids, (int)i), &oids);
		definition->type_count = i + 1;
	}
}

/*
 * Built-in types whose output functions obey none of the settings that settings.c pins. Enums,
 * arrays, ranges and composites only put together what their parts are.
 */
static const Oid indifferent_types[] = {
	BOOLOID,	   CHAROID,	  NAMEOID,		INT2OID,	 INT4OID,	  INT8OID,
	INT2VECTOROID, OIDOID,	  OIDVECTOROID, TIDOID,		 XIDOID,	  XID8OID,
	CIDOID,		   PG_LSNOID, TEXTOID,		VARCHAROID,	 BPCHAROID,	  NUMERICOID,
	UUIDOID,	   BITOID,	  VARBITOID,	INETOID,	 CIDROID,	  MACADDROID,
	MACADDR8OID,   JSONOID,	  JSONBOID,		JSONPATHOID, TSVECTOROID, TSQUERYOID,
};

static bool
is_indifferent(Oid type)
{
	for (int i = 0; i < lengthof(indifferent_types); i++)
	{
		if (indifferent_types[i] == type)
			return true;
	}
	return false;
}

static const VarveType *
find_type(const VarveRelation *definition, Oid oid)
{
	for (size_t i = 0; i < definition->type_count; i++)
	{
		if (definition->types[i].oid == oid)
			return &definition->types[i];
	}
	return NULL;
}

static bool
obeys_settings(const VarveRelation *definition, Oid oid)
{
	const VarveType *type = find_type(definition, oid);

	check_stack_depth();
	if (type == NULL)
		return true;
	if (type->kind == TYPTYPE_ENUM)
		return false;
	if (type->kind == TYPTYPE_COMPOSITE)
	{
		for (size_t i = 0; i < type->field_count; i++)
		{
			if (obeys_settings(definition, type->fields[i].type_oid))
				return true;
		}
		return false;
	}
	if (OidIsValid(type->inner_oid))
		return obeys_settings(definition, type->inner_oid);
	return !is_indifferent(oid);
}

bool
varve_relation_obeys_settings(const VarveRelation *definition)
{
	for (size_t i = 0; i < definition->column_count; i++)
	{
		const VarveColumn *column = &definition->columns[i];

		if (column->form == VARVE_FORM_TEXT && obeys_settings(definition, column->type_oid))
			return true;
	}
	return false;
}
