/* SPDX-License-Identifier: PostgreSQL */
#include "postgres.h"
#include "access/tupdesc_details.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "nodes/nodes.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/ruleutils.h"
#include "utils/syscache.h"

#include "plugin/compat.h"
#include "plugin/output/relation.h"

#define CELLS_A_BYTE 4

static VarveBytes
bytes_of(const char *text)
{
	VarveBytes bytes = {text, strlen(text)};

	return bytes;
}

/* positions[attnum - 1] = place of the column in the index, from 1. The server locks no table to
 * decode. */
static void
read_index_positions(Oid index_oid, uint16 *positions)
{
	Relation index;

	if (!OidIsValid(index_oid))
		return;
	index = RelationIdGetRelation(index_oid);
	if (!RelationIsValid(index))
		elog(ERROR, "could not open index with OID %u", index_oid);
	for (int i = 0; i < IndexRelationGetNumberOfKeyAttributes(index); i++)
	{
		AttrNumber attnum = index->rd_index->indkey.values[i];

		if (attnum > 0)
			positions[attnum - 1] = (uint16)(i + 1);
	}
	RelationClose(index);
}

char
varve_relation_identity(Relation relation)
{
	char wanted = relation->rd_rel->relreplident;

	if ((wanted == REPLICA_IDENTITY_DEFAULT || wanted == REPLICA_IDENTITY_INDEX) &&
		!OidIsValid(RelationGetReplicaIndex(relation)))
		return REPLICA_IDENTITY_NOTHING;
	return wanted;
}

VarveBytes
varve_missing_value(Relation relation, AttrNumber attnum, const VarveEncoder *encoder)
{
	TupleConstr *constraints = RelationGetDescr(relation)->constr;
	VarveBytes none = {NULL, 0};
	VarveBuffer buffer;

	if (constraints == NULL || constraints->missing == NULL ||
		!constraints->missing[attnum - 1].am_present)
		return none;
	varve_buffer_init(&buffer, CurrentMemoryContext, 64);
	varve_encode_payload(encoder, constraints->missing[attnum - 1].am_value, &buffer);
	return (VarveBytes){buffer.data, buffer.length};
}

/*
 * Generation expressions are left out: they name columns, and to print them the server would lock
 * the table, which a decoder must not do.
 */
static VarveBytes
default_expression(Relation relation, AttrNumber attnum)
{
	TupleConstr *constraints = RelationGetDescr(relation)->constr;
	VarveBytes none = {NULL, 0};

	if (constraints == NULL ||
		TupleDescAttr(RelationGetDescr(relation), attnum - 1)->attgenerated != 0)
		return none;
	for (int i = 0; i < constraints->num_defval; i++)
	{
		if (constraints->defval[i].adnum == attnum)
			return bytes_of(
				deparse_expression(stringToNode(constraints->defval[i].adbin), NIL, false, false));
	}
	return none;
}

static void
describe_column(VarveColumn *column, Relation relation, AttrNumber attnum, VarveEncoder *encoder)
{
	Form_pg_attribute attribute = TupleDescAttr(RelationGetDescr(relation), attnum - 1);

	column->attnum = (uint16)attnum;
	column->name = bytes_of(pstrdup(NameStr(attribute->attname)));
	column->type_oid = attribute->atttypid;
	column->base_type_oid = getBaseType(attribute->atttypid);
	column->typmod = attribute->atttypmod;
	column->not_null = attribute->attnotnull;
	column->generated = (uint8)attribute->attgenerated;
	varve_encoder_init(encoder, column->base_type_oid, CurrentMemoryContext);
	column->form = encoder->encoding == VARVE_ENCODE_TEXT ? VARVE_FORM_TEXT : VARVE_FORM_BINARY;
	column->width = encoder->width;
	column->missing = varve_missing_value(relation, attnum, encoder);
	column->default_expression = default_expression(relation, attnum);
	/* A virtual column (18) has no value in the row: null there would be wrong. */
	if (attribute->attgenerated != 0 && attribute->attgenerated != ATTRIBUTE_GENERATED_STORED)
		encoder->encoding = VARVE_ENCODE_ABSENT;
}

static void
describe_columns(VarveRelationEntry *entry, Relation relation)
{
	VarveRelation *definition = &entry->definition;
	uint16 *key_positions = palloc0(Max(entry->attribute_count, 1) * sizeof(uint16));
	uint16 *identity_positions = palloc0(Max(entry->attribute_count, 1) * sizeof(uint16));
	Oid identity_index = RelationGetReplicaIndex(relation);

	read_index_positions(varve_primary_key_index(relation), key_positions);
	read_index_positions(identity_index, identity_positions);
	entry->identity = varve_relation_identity(relation);
	definition->columns = palloc0(Max(entry->attribute_count, 1) * sizeof(VarveColumn));
	for (AttrNumber attnum = 1; attnum <= entry->attribute_count; attnum++)
	{
		VarveEncoder *encoder = &entry->encoders[attnum - 1];
		VarveColumn *column = &definition->columns[definition->column_count];

		if (TupleDescAttr(RelationGetDescr(relation), attnum - 1)->attisdropped)
			continue;
		describe_column(column, relation, attnum, encoder);
		column->key_position = key_positions[attnum - 1];
		column->identity_position = identity_positions[attnum - 1];
		encoder->in_identity = column->identity_position != 0;
		entry->may_expand |= varve_encoder_may_expand(encoder);
		entry->fixed_bytes += encoder->width;
		definition->column_count++;
	}
}

/*
 * How to hear that a type has changed: built-in ones never do, user-defined ones may be renamed,
 * and the fields of composite ones are attributes of a relation.
 */
static void
note_types(VarveRelationEntry *entry)
{
	entry->type_hashes = palloc(Max(entry->definition.type_count, 1) * sizeof(uint32));
	for (size_t i = 0; i < entry->definition.type_count; i++)
	{
		Oid type = entry->definition.types[i].oid;

		if (type >= FirstGenbkiObjectId)
			entry->type_hashes[entry->type_hash_count++] =
				GetSysCacheHashValue1(TYPEOID, ObjectIdGetDatum(type));
		if (entry->definition.types[i].kind == TYPTYPE_COMPOSITE)
			entry->row_types = lappend_oid(entry->row_types, get_typ_typrelid(type));
	}
}

void
varve_relation_describe(VarveRelationEntry *entry, Relation relation)
{
	MemoryContext old_context = MemoryContextSwitchTo(entry->context);
	VarveRelation *definition = &entry->definition;
	int allocated = Max(entry->attribute_count, 1);
	char *schema = get_namespace_name(RelationGetNamespace(relation));

	if (schema == NULL)
		elog(ERROR, "cache lookup failed for schema %u", RelationGetNamespace(relation));
	memset(definition, 0, sizeof(*definition));
	entry->encoders = palloc0(allocated * sizeof(VarveEncoder));
	entry->values = palloc(allocated * sizeof(Datum));
	entry->nulls = palloc(allocated * sizeof(bool));
	entry->may_expand = false;
	entry->fixed_bytes =
		sizeof(uint16) + (entry->attribute_count + CELLS_A_BYTE - 1) / CELLS_A_BYTE;
	definition->oid = entry->relid;
	definition->schema = bytes_of(schema);
	definition->name = bytes_of(pstrdup(RelationGetRelationName(relation)));
	definition->identity = (uint8)relation->rd_rel->relreplident;
	definition->attribute_count = (uint16)entry->attribute_count;
	entry->qualified_name = psprintf("%s.%s", schema, definition->name.data);
	describe_columns(entry, relation);
	varve_relation_describe_types(definition);
	entry->obeys_settings = varve_relation_obeys_settings(definition);
	note_types(entry);
	if (relation->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
		entry->refusal = varve_partitions_describe(entry, relation);
	if (varve_wire_set_version(definition) != VARVE_WIRE_OK)
		ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory")));
	MemoryContextSwitchTo(old_context);
}
