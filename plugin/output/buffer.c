/* SPDX-License-Identifier: PostgreSQL */
#include "postgres.h"

#include "plugin/output/buffer.h"

#define KEPT_BYTES_MIN ((Size)4 * 1024 * 1024)
#define DOUBLING_BYTES_MAX ((Size)64 * 1024 * 1024)

void
varve_buffer_init(VarveBuffer *buffer, MemoryContext context, Size capacity)
{
	buffer->data = MemoryContextAlloc(context, capacity);
	buffer->length = 0;
	buffer->capacity = capacity;
	buffer->kept = Max(capacity, KEPT_BYTES_MIN);
	buffer->context = context;
}

void
varve_buffer_reset(VarveBuffer *buffer)
{
	buffer->length = 0;
	if (buffer->capacity > buffer->kept)
	{
		pfree(buffer->data);
		varve_buffer_init(buffer, buffer->context, buffer->kept);
	}
}

void
varve_buffer_grow(VarveBuffer *buffer, Size more)
{
	Size needed = buffer->length + more;
	Size capacity = buffer->capacity;

	if (more > VARVE_BUFFER_BYTES_MAX || needed > VARVE_BUFFER_BYTES_MAX)
		ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
						errmsg("it needs at least %zu bytes, the limit is %zu", needed,
							   VARVE_BUFFER_BYTES_MAX)));
	/* Giant rows grow in steps: doubling would need two more times their size. */
	while (capacity < needed)
		capacity += Min(capacity, DOUBLING_BYTES_MAX);
	buffer->data = repalloc(buffer->data, Min(capacity, VARVE_BUFFER_BYTES_MAX));
	buffer->capacity = Min(capacity, VARVE_BUFFER_BYTES_MAX);
}
