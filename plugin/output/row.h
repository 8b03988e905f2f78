/* SPDX-License-Identifier: PostgreSQL */
/* Rows as bytes: the row image of schemas/README.md. */
#pragma once

#include "postgres.h"
#include "access/htup.h"
#include "access/tupdesc.h"

#include "plugin/output/buffer.h"
#include "plugin/output/relation.h"

/* Which part of a logged row counts. */
typedef enum VarveRowPart
{
	VARVE_ROW_WHOLE,
	VARVE_ROW_IDENTITY /* the columns of the replica identity; the others were not logged */
} VarveRowPart;

/* Takes the row apart into entry->values and entry->nulls; fast defaults are filled in. */
extern void varve_row_deform(VarveRelationEntry *entry, HeapTuple tuple, TupleDesc descriptor);

/* True for TOASTed values that the change did not touch: there is no value to be had. */
extern bool varve_row_is_unchanged(const VarveRelationEntry *entry, int index);

/* Appends the image. Scratch holds one value at a time. */
extern void varve_row_append_image(VarveRelationEntry *entry, HeapTuple tuple, TupleDesc descriptor,
								   VarveRowPart part, VarveBuffer *buffer, VarveBuffer *scratch);

/* Names the table and the column that an error is about; `column` is an index into the encoders or
 * -1. */
typedef struct VarveRowErrorContext
{
	const VarveRelationEntry *entry;
	int column;
} VarveRowErrorContext;

extern void varve_row_error_context(void *argument);
