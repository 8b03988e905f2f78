/* SPDX-License-Identifier: PostgreSQL */
#include "postgres.h"
#include "catalog/pg_type_d.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/jsonb.h"

#include "plugin/output/fit.h"
#include "plugin/output/json.h"

/* A number or text has always a place in jsonb; json itself, and what may have some of it inside,
 * may not. */
static bool
may_be_refused(const VarveRelationEntry *entry, const VarveColumn *column)
{
	switch (entry->encoders[column->attnum - 1].encoding)
	{
		case VARVE_ENCODE_TEXT:
		case VARVE_ENCODE_ARRAY:
			return true;
		default:
			return column->base_type_oid == JSONOID;
	}
}

static void
put_jsonb(StringInfo out, VarveRelationEntry *entry, int index)
{
	Jsonb *value = DatumGetJsonbP(FunctionCall1(&entry->to_jsonb[index], entry->values[index]));

	(void)JsonbToCString(out, &value->root, VARSIZE(value));
}

/* JSON inside of it stays as it was written, which may be over several lines; no text has a line's
 * end as it is. */
static void
put_json(StringInfo out, VarveRelationEntry *entry, int index)
{
	FmgrInfo to_json;
	text *value;
	int start = out->len;

	fmgr_info(F_TO_JSON, &to_json);
	fmgr_info_set_expr(entry->to_jsonb[index].fn_expr, &to_json);
	value = DatumGetTextPP(FunctionCall1(&to_json, entry->values[index]));
	appendBinaryStringInfo(out, VARDATA_ANY(value), VARSIZE_ANY_EXHDR(value));
	for (int i = start; i < out->len; i++)
	{
		if (out->data[i] == '\n' || out->data[i] == '\r')
			out->data[i] = ' ';
	}
}

/* False, with nothing appended, for a value that jsonb has no place for: \u0000, 1e200000, a string
 * of 300 MB. */
static bool
try_jsonb(StringInfo out, VarveRelationEntry *entry, int index)
{
	MemoryContext context = CurrentMemoryContext;
	int start = out->len;
	volatile bool is_taken = true;

	PG_TRY();
	{
		put_jsonb(out, entry, index);
	}
	PG_CATCH();
	{
		ErrorData *error;

		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		if (!varve_is_data_error(error->sqlerrcode) &&
			error->sqlerrcode != ERRCODE_PROGRAM_LIMIT_EXCEEDED)
			PG_RE_THROW();
		FlushErrorState();
		FreeErrorData(error);
		out->len = start;
		out->data[start] = '\0';
		is_taken = false;
	}
	PG_END_TRY();
	return is_taken;
}

void
varve_json_value(StringInfo out, VarveRelationEntry *entry, const VarveColumn *column)
{
	int index = column->attnum - 1;

	if (entry->nulls[index])
		appendStringInfoString(out, "null");
	else if (!may_be_refused(entry, column))
		put_jsonb(out, entry, index);
	else if (!try_jsonb(out, entry, index))
		put_json(out, entry, index);
}
