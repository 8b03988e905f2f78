/* SPDX-License-Identifier: PostgreSQL */
/* How the values of a column become bytes: decided once a relation, applied to every row. */
#pragma once

#include "postgres.h"
#include "fmgr.h"

#include "plugin/output/buffer.h"

typedef enum VarveEncoding
{
	VARVE_ENCODE_ABSENT, /* dropped and virtual generated columns */
	VARVE_ENCODE_BYTE,	 /* from here to INTERVAL: fixed width */
	VARVE_ENCODE_INT2,
	VARVE_ENCODE_INT4,
	VARVE_ENCODE_INT8,
	VARVE_ENCODE_UUID,
	VARVE_ENCODE_TIMETZ,
	VARVE_ENCODE_INTERVAL,
	VARVE_ENCODE_BYTES, /* payload of a varlena as it is */
	VARVE_ENCODE_NAME,
	VARVE_ENCODE_NUMERIC,
	VARVE_ENCODE_JSONB,
	VARVE_ENCODE_ARRAY,
	VARVE_ENCODE_TEXT /* the output function's */
} VarveEncoding;

typedef struct VarveEncoder
{
	uint8 encoding;	 /* VarveEncoding */
	uint8 width;	 /* of a fixed-width value, else 0 */
	bool is_varlena; /* may be TOASTed */
	bool in_identity;
	struct VarveEncoder *element; /* ARRAY */
	int16 element_length;
	bool element_by_value;
	char element_align;
	FmgrInfo output; /* TEXT */
} VarveEncoder;

/*
 * Fills the encoder for a type, domains resolved; its parts live in `context`. Reads the catalogs
 * for types outside the short list of schemas/README.md only.
 */
extern void varve_encoder_init(VarveEncoder *encoder, Oid base_type, MemoryContext context);

/* Numbers inside of jsonb have all their digits as they are sent, and texts are what they are. */
extern bool varve_encoder_may_expand(const VarveEncoder *encoder);

/* Appends the value's bytes, without a length before them. Text needs the pinned settings. */
extern void varve_encode_payload(const VarveEncoder *encoder, Datum value, VarveBuffer *buffer);

/* Appends a value of variable width: its length, then its bytes, and keeps `spare` bytes free
 * behind. */
extern void varve_encode_variable(const VarveEncoder *encoder, Datum value, VarveBuffer *buffer,
								  VarveBuffer *scratch, Size spare);

/* Writes a fixed-width value at `out` and returns what follows it. */
extern char *varve_encode_fixed(const VarveEncoder *encoder, Datum value, char *out);
