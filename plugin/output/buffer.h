/* SPDX-License-Identifier: PostgreSQL */
/* Bytes that grow at their end, for the hot path: a StringInfo without its call per append. */
#pragma once

#include "postgres.h"
#include "utils/memutils.h"

/* What is sent of a change is not larger: with its batch it must stay below the 1 GB of a COPY
 * message. */
#define VARVE_BUFFER_BYTES_MAX ((Size)1000 * 1024 * 1024)

typedef struct VarveBuffer
{
	char *data;
	Size length;
	Size capacity;
	Size kept; /* of the capacity, when it is reset */
	MemoryContext context;
} VarveBuffer;

extern void varve_buffer_init(VarveBuffer *buffer, MemoryContext context, Size capacity);

/* Empties the buffer; memory that only a giant row needed is given back. */
extern void varve_buffer_reset(VarveBuffer *buffer);

/* ERRCODE_PROGRAM_LIMIT_EXCEEDED beyond VARVE_BUFFER_BYTES_MAX. */
extern void varve_buffer_grow(VarveBuffer *buffer, Size more);

/* Makes room for `more` bytes behind the end and returns the end. */
static inline char *
varve_buffer_reserve(VarveBuffer *buffer, Size more)
{
	if (unlikely(buffer->capacity - buffer->length < more))
		varve_buffer_grow(buffer, more);
	return buffer->data + buffer->length;
}

static inline void
varve_buffer_append(VarveBuffer *buffer, const void *bytes, Size length)
{
	memcpy(varve_buffer_reserve(buffer, length), bytes, length);
	buffer->length += length;
}
