/* SPDX-License-Identifier: PostgreSQL */
/*
 * The send functions of the short list, written out: a call of the real ones allocates and formats
 * for every value, re-codes text to client_encoding, and looks up types. tests/regress compares
 * with the real ones.
 */
#include "postgres.h"
#include "access/detoast.h"
#include "access/tupmacs.h"
#include "catalog/pg_type_d.h"
#include "miscadmin.h"
#include "port/pg_bswap.h"
#include "utils/array.h"
#include "utils/date.h"
#include "utils/jsonb.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

#include "plugin/compat.h"
#include "plugin/output/encode.h"

#define VARINT_BYTES_MAX 5
#define JSONB_SEND_VERSION 1

static const struct
{
	Oid type;
	uint8 encoding;
	uint8 width;
} binary_types[] = {
	{BOOLOID, VARVE_ENCODE_BYTE, 1},	  {CHAROID, VARVE_ENCODE_BYTE, 1},
	{INT2OID, VARVE_ENCODE_INT2, 2},	  {INT4OID, VARVE_ENCODE_INT4, 4},
	{INT8OID, VARVE_ENCODE_INT8, 8},	  {OIDOID, VARVE_ENCODE_INT4, 4},
	{FLOAT4OID, VARVE_ENCODE_INT4, 4},	  {FLOAT8OID, VARVE_ENCODE_INT8, 8},
	{DATEOID, VARVE_ENCODE_INT4, 4},	  {TIMEOID, VARVE_ENCODE_INT8, 8},
	{TIMESTAMPOID, VARVE_ENCODE_INT8, 8}, {TIMESTAMPTZOID, VARVE_ENCODE_INT8, 8},
	{TIMETZOID, VARVE_ENCODE_TIMETZ, 12}, {INTERVALOID, VARVE_ENCODE_INTERVAL, 16},
	{UUIDOID, VARVE_ENCODE_UUID, 16},	  {NUMERICOID, VARVE_ENCODE_NUMERIC, 0},
	{TEXTOID, VARVE_ENCODE_BYTES, 0},	  {VARCHAROID, VARVE_ENCODE_BYTES, 0},
	{BPCHAROID, VARVE_ENCODE_BYTES, 0},	  {NAMEOID, VARVE_ENCODE_NAME, 0},
	{BYTEAOID, VARVE_ENCODE_BYTES, 0},	  {JSONOID, VARVE_ENCODE_BYTES, 0},
	{JSONBOID, VARVE_ENCODE_JSONB, 0},
};

static bool
find_binary_type(Oid type, VarveEncoder *encoder)
{
	for (int i = 0; i < lengthof(binary_types); i++)
	{
		if (binary_types[i].type == type)
		{
			encoder->encoding = binary_types[i].encoding;
			encoder->width = binary_types[i].width;
			return true;
		}
	}
	return false;
}

void
varve_encoder_init(VarveEncoder *encoder, Oid base_type, MemoryContext context)
{
	VarveEncoder element = {0};
	Oid element_type;
	Oid function;
	bool is_varlena;

	memset(encoder, 0, sizeof(*encoder));
	encoder->is_varlena = get_typlen(base_type) == -1;
	if (find_binary_type(base_type, encoder))
		return;
	/*
	 * Domains over elements are types of their own, whose arrays travel as text. So do int2vector
	 * and oidvector: they have elements and are not the array type of these.
	 */
	element_type = get_element_type(base_type);
	if (OidIsValid(element_type) && get_array_type(element_type) == base_type &&
		find_binary_type(element_type, &element))
	{
		encoder->encoding = VARVE_ENCODE_ARRAY;
		encoder->element = MemoryContextAlloc(context, sizeof(VarveEncoder));
		*encoder->element = element;
		get_typlenbyvalalign(element_type, &encoder->element_length, &encoder->element_by_value,
							 &encoder->element_align);
		return;
	}
	encoder->encoding = VARVE_ENCODE_TEXT;
	getTypeOutputInfo(base_type, &function, &is_varlena);
	fmgr_info_cxt(function, &encoder->output, context);
}

bool
varve_encoder_may_expand(const VarveEncoder *encoder)
{
	return encoder->encoding == VARVE_ENCODE_JSONB || encoder->encoding == VARVE_ENCODE_TEXT ||
		   (encoder->encoding == VARVE_ENCODE_ARRAY &&
			encoder->element->encoding == VARVE_ENCODE_JSONB);
}

static inline char *
put_int16(char *out, uint16 value)
{
	value = pg_hton16(value);
	memcpy(out, &value, sizeof(value));
	return out + sizeof(value);
}

static inline char *
put_int32(char *out, uint32 value)
{
	value = pg_hton32(value);
	memcpy(out, &value, sizeof(value));
	return out + sizeof(value);
}

static inline char *
put_int64(char *out, uint64 value)
{
	value = pg_hton64(value);
	memcpy(out, &value, sizeof(value));
	return out + sizeof(value);
}

static inline char *
put_varint(char *out, Size value)
{
	while (value >= 0x80)
	{
		*out++ = (char)(value | 0x80);
		value >>= 7;
	}
	*out++ = (char)value;
	return out;
}

char *
varve_encode_fixed(const VarveEncoder *encoder, Datum value, char *out)
{
	switch ((VarveEncoding)encoder->encoding)
	{
		case VARVE_ENCODE_BYTE:
			*out = DatumGetChar(value);
			return out + 1;
		case VARVE_ENCODE_INT2:
			return put_int16(out, (uint16)DatumGetInt16(value));
		case VARVE_ENCODE_INT4:
			return put_int32(out, (uint32)DatumGetInt32(value));
		case VARVE_ENCODE_INT8:
			return put_int64(out, (uint64)DatumGetInt64(value));
		case VARVE_ENCODE_UUID:
			memcpy(out, DatumGetPointer(value), UUID_LEN);
			return out + UUID_LEN;
		case VARVE_ENCODE_TIMETZ:
		{
			const TimeTzADT *time = DatumGetTimeTzADTP(value);

			return put_int32(put_int64(out, (uint64)time->time), (uint32)time->zone);
		}
		case VARVE_ENCODE_INTERVAL:
		{
			const Interval *interval = DatumGetIntervalP(value);

			out = put_int64(out, (uint64)interval->time);
			return put_int32(put_int32(out, (uint32)interval->day), (uint32)interval->month);
		}
		default:
			elog(ERROR, "encoding %d is not of fixed width", encoder->encoding);
	}
}

/*
 * A numeric as it lies on disk, packed or not, behind its varlena header: see numeric.c, "the
 * Numeric type as stored on disk". The layout has been stable since 9.1: pg_upgrade keeps it.
 */
#define NUMERIC_DIGIT_BYTES 2
#define NUMERIC_SEND_HEADER_BYTES 8
#define NUMERIC_SIGN_MASK 0xC000
#define NUMERIC_SHORT 0x8000
#define NUMERIC_SPECIAL 0xC000
#define NUMERIC_NEGATIVE 0x4000
#define NUMERIC_SPECIAL_MASK 0xF000
#define NUMERIC_LONG_SCALE_MASK 0x3FFF
#define NUMERIC_SHORT_SIGN_MASK 0x2000
#define NUMERIC_SHORT_SCALE_MASK 0x1F80
#define NUMERIC_SHORT_SCALE_SHIFT 7
#define NUMERIC_SHORT_WEIGHT_SIGN_MASK 0x0040
#define NUMERIC_SHORT_WEIGHT_MASK 0x003F

typedef struct NumericParts
{
	uint16 sign;
	uint16 scale;
	int16 weight;
	uint16 digit_count;
	const char *digits; /* in host order, not aligned */
} NumericParts;

static NumericParts
numeric_parts(const struct varlena *value)
{
	const char *data = VARDATA_ANY(value);
	Size length = VARSIZE_ANY_EXHDR(value);
	Size header_length = sizeof(uint16);
	NumericParts parts;
	uint16 header;

	memcpy(&header, data, sizeof(header));
	if ((header & NUMERIC_SHORT) != 0)
	{
		parts.sign = (header & NUMERIC_SHORT_SIGN_MASK) != 0 ? NUMERIC_NEGATIVE : 0;
		parts.scale = (header & NUMERIC_SHORT_SCALE_MASK) >> NUMERIC_SHORT_SCALE_SHIFT;
		parts.weight = header & NUMERIC_SHORT_WEIGHT_MASK;
		if ((header & NUMERIC_SHORT_WEIGHT_SIGN_MASK) != 0)
			parts.weight |= ~NUMERIC_SHORT_WEIGHT_MASK;
		if ((header & NUMERIC_SIGN_MASK) == NUMERIC_SPECIAL)
			parts.sign = header & NUMERIC_SPECIAL_MASK;
	}
	else
	{
		parts.sign = header & NUMERIC_SIGN_MASK;
		parts.scale = header & NUMERIC_LONG_SCALE_MASK;
		memcpy(&parts.weight, data + sizeof(header), sizeof(parts.weight));
		header_length += sizeof(parts.weight);
	}
	parts.digit_count = (uint16)((length - header_length) / NUMERIC_DIGIT_BYTES);
	parts.digits = data + header_length;
	return parts;
}

static inline Size
numeric_length(const NumericParts *parts)
{
	return NUMERIC_SEND_HEADER_BYTES + (Size)parts->digit_count * NUMERIC_DIGIT_BYTES;
}

static char *
put_numeric(char *out, const NumericParts *parts)
{
	out = put_int16(out, parts->digit_count);
	out = put_int16(out, (uint16)parts->weight);
	out = put_int16(out, parts->sign);
	out = put_int16(out, parts->scale);
	for (int i = 0; i < parts->digit_count; i++)
	{
		uint16 digit;

		memcpy(&digit, parts->digits + i * NUMERIC_DIGIT_BYTES, sizeof(digit));
		out = put_int16(out, digit);
	}
	return out;
}

/*
 * What the reorder buffer put together of a TOASTed value stands behind a pointer: to detoast that
 * would copy it once more.
 */
static inline struct varlena *
plain_varlena(Datum value)
{
	struct varlena *bytes = (struct varlena *)DatumGetPointer(value);

	if (VARATT_IS_EXTERNAL_INDIRECT(bytes))
	{
		struct varatt_indirect indirect;

		VARATT_EXTERNAL_GET_POINTER(indirect, bytes);
		bytes = indirect.pointer;
	}
	return PG_DETOAST_DATUM_PACKED(PointerGetDatum(bytes));
}

static void
append_jsonb(Datum value, VarveBuffer *buffer)
{
	Jsonb *jsonb = DatumGetJsonbP(value);
	StringInfoData text;
	char version = JSONB_SEND_VERSION;

	initStringInfo(&text);
	(void)JsonbToCString(&text, &jsonb->root, VARSIZE(jsonb));
	varve_buffer_append(buffer, &version, 1);
	varve_buffer_append(buffer, text.data, text.len);
	pfree(text.data);
}

static void
append_element(const VarveEncoder *element, Datum value, VarveBuffer *buffer)
{
	Size length_at = buffer->length;

	(void)varve_buffer_reserve(buffer, sizeof(uint32));
	buffer->length += sizeof(uint32);
	varve_encode_payload(element, value, buffer);
	put_int32(buffer->data + length_at, (uint32)(buffer->length - length_at - sizeof(uint32)));
}

/* As array_send. */
static void
append_array(const VarveEncoder *encoder, Datum value, VarveBuffer *buffer)
{
	ArrayType *array = DatumGetArrayTypeP(value);
	int dimension_count = ARR_NDIM(array);
	int element_count = ArrayGetNItems(dimension_count, ARR_DIMS(array));
	const bits8 *not_null = ARR_NULLBITMAP(array);
	char *at = ARR_DATA_PTR(array);
	char *out = varve_buffer_reserve(buffer, (3 + 2 * (Size)dimension_count) * sizeof(uint32));

	out = put_int32(out, (uint32)dimension_count);
	out = put_int32(out, ARR_HASNULL(array) ? 1 : 0);
	out = put_int32(out, ARR_ELEMTYPE(array));
	for (int i = 0; i < dimension_count; i++)
	{
		out = put_int32(out, (uint32)ARR_DIMS(array)[i]);
		out = put_int32(out, (uint32)ARR_LBOUND(array)[i]);
	}
	buffer->length = out - buffer->data;
	for (int i = 0; i < element_count; i++)
	{
		if (i % 1024 == 0)
			CHECK_FOR_INTERRUPTS();
		if (not_null != NULL && (not_null[i / 8] & (1 << (i % 8))) == 0)
		{
			put_int32(varve_buffer_reserve(buffer, sizeof(uint32)), (uint32)-1);
			buffer->length += sizeof(uint32);
			continue;
		}
		append_element(encoder->element,
					   fetch_att(at, encoder->element_by_value, encoder->element_length), buffer);
		at = att_addlength_pointer(at, encoder->element_length, at);
		at = (char *)att_align_nominal(at, encoder->element_align);
	}
}

void
varve_encode_payload(const VarveEncoder *encoder, Datum value, VarveBuffer *buffer)
{
	switch ((VarveEncoding)encoder->encoding)
	{
		case VARVE_ENCODE_BYTES:
		{
			struct varlena *bytes = plain_varlena(value);

			varve_buffer_append(buffer, VARDATA_ANY(bytes), VARSIZE_ANY_EXHDR(bytes));
			break;
		}
		case VARVE_ENCODE_NAME:
			varve_buffer_append(buffer, NameStr(*DatumGetName(value)),
								strlen(NameStr(*DatumGetName(value))));
			break;
		case VARVE_ENCODE_NUMERIC:
		{
			NumericParts parts = numeric_parts(PG_DETOAST_DATUM_PACKED(value));

			put_numeric(varve_buffer_reserve(buffer, numeric_length(&parts)), &parts);
			buffer->length += numeric_length(&parts);
			break;
		}
		case VARVE_ENCODE_JSONB:
			append_jsonb(value, buffer);
			break;
		case VARVE_ENCODE_ARRAY:
			append_array(encoder, value, buffer);
			break;
		case VARVE_ENCODE_TEXT:
		{
			char *text = OutputFunctionCall((FmgrInfo *)&encoder->output, value);

			varve_buffer_append(buffer, text, strlen(text));
			break;
		}
		default:
			varve_encode_fixed(encoder, value, varve_buffer_reserve(buffer, encoder->width));
			buffer->length += encoder->width;
	}
}

static inline void
append_with_length(VarveBuffer *buffer, const void *bytes, Size length, Size spare)
{
	char *out = varve_buffer_reserve(buffer, VARINT_BYTES_MAX + length + spare);

	out = put_varint(out, length);
	memcpy(out, bytes, length);
	buffer->length = out + length - buffer->data;
}

void
varve_encode_variable(const VarveEncoder *encoder, Datum value, VarveBuffer *buffer,
					  VarveBuffer *scratch, Size spare)
{
	switch ((VarveEncoding)encoder->encoding)
	{
		case VARVE_ENCODE_BYTES:
		{
			struct varlena *bytes = plain_varlena(value);

			append_with_length(buffer, VARDATA_ANY(bytes), VARSIZE_ANY_EXHDR(bytes), spare);
			break;
		}
		case VARVE_ENCODE_NAME:
			append_with_length(buffer, NameStr(*DatumGetName(value)),
							   strlen(NameStr(*DatumGetName(value))), spare);
			break;
		case VARVE_ENCODE_NUMERIC:
		{
			NumericParts parts = numeric_parts(PG_DETOAST_DATUM_PACKED(value));
			char *out =
				varve_buffer_reserve(buffer, VARINT_BYTES_MAX + numeric_length(&parts) + spare);

			out = put_numeric(put_varint(out, numeric_length(&parts)), &parts);
			buffer->length = out - buffer->data;
			break;
		}
		default:
			varve_buffer_reset(scratch);
			varve_encode_payload(encoder, value, scratch);
			append_with_length(buffer, scratch->data, scratch->length, spare);
	}
}
