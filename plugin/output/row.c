/* SPDX-License-Identifier: PostgreSQL */
#include "postgres.h"
#include "access/htup_details.h"

#include "plugin/compat.h"
#include "plugin/output/row.h"

/* Persisted: never renumber. */
enum CellKind
{
	CELL_ABSENT = 0,
	CELL_NULL = 1,
	CELL_UNCHANGED = 2,
	CELL_VALUE = 3
};
#define CELL_BITS 2
#define CELLS_A_BYTE 4

void
varve_row_error_context(void *argument)
{
	const VarveRowErrorContext *context = argument;
	const VarveRelation *definition = &context->entry->definition;

	for (size_t i = 0; i < definition->column_count; i++)
	{
		if (definition->columns[i].attnum == context->column + 1)
		{
			errcontext("column \"%s\" of table \"%s\"", definition->columns[i].name.data,
					   context->entry->qualified_name);
			return;
		}
	}
	errcontext("table \"%s\"", context->entry->qualified_name);
}

void
varve_row_deform(VarveRelationEntry *entry, HeapTuple tuple, TupleDesc descriptor)
{
	heap_deform_tuple(tuple, descriptor, entry->values, entry->nulls);
}

bool
varve_row_is_unchanged(const VarveRelationEntry *entry, int index)
{
	return entry->encoders[index].is_varlena && !entry->nulls[index] &&
		   VARATT_IS_EXTERNAL_ONDISK(DatumGetPointer(entry->values[index]));
}

void
varve_row_append_image(VarveRelationEntry *entry, HeapTuple tuple, TupleDesc descriptor,
					   VarveRowPart part, VarveBuffer *buffer, VarveBuffer *scratch)
{
	int count = entry->attribute_count;
	Size kind_bytes = (count + CELLS_A_BYTE - 1) / CELLS_A_BYTE;
	VarveRowErrorContext context = {entry, -1};
	ErrorContextCallback frame = {error_context_stack, varve_row_error_context, &context};
	Size kinds_at;
	char *out;

	error_context_stack = &frame;
	varve_row_deform(entry, tuple, descriptor);
	/* Room for everything of fixed width at once; values of variable width keep it free behind
	 * them. */
	out = varve_buffer_reserve(buffer, entry->fixed_bytes);
	*out++ = (char)(count & 0xFF);
	*out++ = (char)(count >> 8);
	kinds_at = out - buffer->data;
	memset(out, 0, kind_bytes);
	out += kind_bytes;
	for (int i = 0; i < count; i++)
	{
		const VarveEncoder *encoder = &entry->encoders[i];
		unsigned kind = CELL_VALUE;

		if (encoder->encoding == VARVE_ENCODE_ABSENT ||
			(part == VARVE_ROW_IDENTITY && !encoder->in_identity))
			continue;
		context.column = i;
		if (entry->nulls[i])
			kind = CELL_NULL;
		else if (encoder->width != 0)
			out = varve_encode_fixed(encoder, entry->values[i], out);
		else if (varve_row_is_unchanged(entry, i))
			kind = CELL_UNCHANGED;
		else
		{
			buffer->length = out - buffer->data;
			varve_encode_variable(encoder, entry->values[i], buffer, scratch, entry->fixed_bytes);
			out = buffer->data + buffer->length;
		}
		buffer->data[kinds_at + i / CELLS_A_BYTE] |=
			(char)(kind << (CELL_BITS * (i % CELLS_A_BYTE)));
	}
	buffer->length = out - buffer->data;
	error_context_stack = frame.previous;
}
