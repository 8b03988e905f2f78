/* SPDX-License-Identifier: PostgreSQL */
/* format=json: one object a line, for people and for tests. Values are what to_jsonb makes of them.
 */
#include "postgres.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type_d.h"
#include "common/base64.h"
#include "miscadmin.h"
#include "utils/datetime.h"
#include "utils/json.h"
#include "utils/memutils.h"

#include "plugin/output/fit.h"
#include "plugin/output/json.h"
#include "plugin/output/output.h"
#include "plugin/output/row.h"

/* Is `column` among the cells of a kind? */
typedef bool (*CellTest)(const VarveRelationEntry *entry, int column);

void
varve_json_key(StringInfo out, const char *key)
{
	if (out->data[out->len - 1] != '{')
		appendStringInfoString(out, ", ");
	appendStringInfo(out, "\"%s\": ", key);
}

void
varve_json_text(StringInfo out, const char *key, const char *text)
{
	varve_json_key(out, key);
	escape_json(out, text);
}

static const char *
identity_name(char identity)
{
	switch (identity)
	{
		case REPLICA_IDENTITY_DEFAULT:
			return "default";
		case REPLICA_IDENTITY_INDEX:
			return "index";
		case REPLICA_IDENTITY_FULL:
			return "full";
		default:
			return "none";
	}
}

static void
put_subxid(VarveOutput *output)
{
	varve_json_key(output->ctx->out, "subxid");
	appendStringInfo(output->ctx->out, "%u", output->transaction.subxid);
}

/* Starts a line about a transaction as a whole. */
static void
start_frame(VarveOutput *output, const char *kind)
{
	LogicalDecodingContext *ctx = output->ctx;

	OutputPluginPrepareWrite(ctx, true);
	appendStringInfoChar(ctx->out, '{');
	varve_json_text(ctx->out, "kind", kind);
	if (TransactionIdIsValid(output->transaction.xid))
	{
		varve_json_key(ctx->out, "xid");
		appendStringInfo(ctx->out, "%u", output->transaction.xid);
	}
}

/* Starts a line about a change: a streamed one may belong to a subtransaction. */
static void
start_line(VarveOutput *output, const char *kind)
{
	start_frame(output, kind);
	if (output->transaction.subxid != output->transaction.xid)
		put_subxid(output);
}

static void
end_line(VarveOutput *output)
{
	appendStringInfoChar(output->ctx->out, '}');
	OutputPluginWrite(output->ctx, true);
	output->unreported_changes = 0;
}

static void
put_position(VarveOutput *output)
{
	varve_json_key(output->ctx->out, "position");
	appendStringInfo(output->ctx->out, "\"%X/%X\"", LSN_FORMAT_ARGS(output->transaction.position));
}

static void
put_origin(VarveOutput *output)
{
	StringInfo out = output->ctx->out;

	if (output->transaction.origin_id == InvalidRepOriginId)
		return;
	varve_json_key(out, "origin");
	appendStringInfo(out, "{\"id\": %u", output->transaction.origin_id);
	if (output->transaction.origin != NULL)
		varve_json_text(out, "name", output->transaction.origin);
	if (!XLogRecPtrIsInvalid(output->transaction.origin_lsn))
	{
		varve_json_key(out, "lsn");
		appendStringInfo(out, "\"%X/%X\"", LSN_FORMAT_ARGS(output->transaction.origin_lsn));
	}
	appendStringInfoChar(out, '}');
}

static void
put_gid(VarveOutput *output)
{
	if (output->transaction.gid != NULL)
		varve_json_text(output->ctx->out, "gid", output->transaction.gid);
}

static void
put_seq(StringInfo out, const VarveEvent *event)
{
	varve_json_key(out, "seq");
	appendStringInfo(out, "%u", event->seq);
}

static bool
is_absent(const VarveRelationEntry *entry, int column)
{
	return entry->encoders[column].encoding == VARVE_ENCODE_ABSENT;
}

/* The deformed row as an object of the columns that have a value. */
static void
put_row(VarveRelationEntry *entry, const char *key, VarveRowPart part, StringInfo out)
{
	VarveRowErrorContext context = {entry, -1};
	ErrorContextCallback frame = {error_context_stack, varve_row_error_context, &context};

	error_context_stack = &frame;
	varve_json_key(out, key);
	appendStringInfoChar(out, '{');
	for (size_t i = 0; i < entry->definition.column_count; i++)
	{
		const VarveColumn *column = &entry->definition.columns[i];
		int index = column->attnum - 1;

		if (is_absent(entry, index) || varve_row_is_unchanged(entry, index) ||
			(part == VARVE_ROW_IDENTITY && !entry->encoders[index].in_identity))
			continue;
		context.column = index;
		if (out->data[out->len - 1] != '{')
			appendStringInfoString(out, ", ");
		escape_json(out, column->name.data);
		appendStringInfoString(out, ": ");
		varve_json_value(out, entry, column);
	}
	appendStringInfoChar(out, '}');
	error_context_stack = frame.previous;
}

/* The names of the columns that the test picks; nothing at all when there are none. */
static void
put_names(VarveRelationEntry *entry, const char *key, CellTest test, StringInfo out)
{
	bool some = false;

	for (size_t i = 0; i < entry->definition.column_count; i++)
	{
		const VarveColumn *column = &entry->definition.columns[i];

		if (!test(entry, column->attnum - 1))
			continue;
		if (!some)
		{
			varve_json_key(out, key);
			appendStringInfoChar(out, '[');
		}
		else
			appendStringInfoString(out, ", ");
		escape_json(out, column->name.data);
		some = true;
	}
	if (some)
		appendStringInfoChar(out, ']');
}

static void
put_rows(const VarveEvent *event, StringInfo out)
{
	VarveRelationEntry *entry = event->entry;

	if (event->new_tuple != NULL)
	{
		varve_row_deform(entry, event->new_tuple, event->descriptor);
		put_row(entry, "new", VARVE_ROW_WHOLE, out);
		put_names(entry, "unchanged", varve_row_is_unchanged, out);
	}
	if (event->old_tuple != NULL)
	{
		bool is_full = (event->flags & VARVE_CHANGE_OLD_IS_FULL) != 0;

		varve_row_deform(entry, event->old_tuple, event->old_descriptor);
		put_row(entry, is_full ? "old" : "key", is_full ? VARVE_ROW_WHOLE : VARVE_ROW_IDENTITY,
				out);
	}
	if (event->new_tuple != NULL || event->old_tuple != NULL)
		put_names(entry, "absent", is_absent, out);
}

static void
put_message(VarveOutput *output, const VarveEvent *event)
{
	StringInfo out = output->ctx->out;
	/* pg_b64_enc_len counts in int, and too much for what is above 512 MB. */
	Size encoded_size = (event->content.length + 2) / 3 * 4;
	int encoded_length;
	bool transactional = (event->flags & VARVE_CHANGE_MESSAGE_TRANSACTIONAL) != 0;

	if (!transactional)
		put_position(output);
	varve_json_text(out, "prefix", event->prefix.data);
	varve_json_key(out, "transactional");
	appendStringInfoString(out, transactional ? "true" : "false");
	if (event->content.data == NULL)
	{
		varve_json_key(out, "too_large");
		appendStringInfo(out, "%zu", event->content.length);
		return;
	}
	varve_json_key(out, "content_base64");
	appendStringInfoChar(out, '"');
	if (encoded_size >= MaxAllocSize)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("it needs %zu bytes, the limit is %zu", encoded_size, MaxAllocSize)));
	enlargeStringInfo(out, (int)encoded_size);
	encoded_length = pg_b64_encode((const void *)event->content.data, (int)event->content.length,
								   out->data + out->len, (int)encoded_size);
	if (encoded_length < 0)
		elog(ERROR, "could not encode a logical message");
	out->len += encoded_length;
	out->data[out->len] = '\0';
	appendStringInfoChar(out, '"');
}

/* A version is described before it is first used in a session; it has a place when it is told as
 * DDL. */
static void
put_relation(VarveOutput *output, const VarveEvent *event)
{
	StringInfo out = output->ctx->out;
	VarveRelationEntry *entry = event->entry;

	start_line(output, "relation");
	if (event->op == VARVE_OP_RELATION)
		put_seq(out, event);
	varve_json_relation(out, &entry->definition);
	varve_json_text(out, "identity", identity_name(entry->identity));
}

static const char *
kind_name(const VarveEvent *event)
{
	static const char *const names[] = {"insert",  "update",   "delete", "truncate",
										"message", "relation", "drop",	 "untrack",
										"rewrite", "gid",	   "rewrite"};

	return names[event->op];
}

static void
json_begin(VarveOutput *output, const VarveEventTransaction *transaction)
{
	if (transaction->non_transactional)
		return;
	start_frame(output, transaction->stage == VARVE_STAGE_STREAMED ? "stream_start" : "begin");
	put_gid(output);
	end_line(output);
}

static void
put_change(VarveOutput *output, const VarveEvent *event)
{
	StringInfo out = output->ctx->out;
	VarveRelationEntry *entry = event->entry;

	start_line(output, kind_name(event));
	if (!output->transaction.non_transactional)
		put_seq(out, event);
	if (event->op == VARVE_OP_MESSAGE)
		put_message(output, event);
	else if (entry == NULL)
	{
		varve_json_key(out, "oid");
		appendStringInfo(out, "%u", event->relid);
		if (event->content.data != NULL)
			varve_json_text(out, "reason", event->content.data);
		/* If it comes back, it is described again. */
		entry = varve_relation_find(output->relations, event->relid);
		if (entry != NULL)
			entry->shown_description = 0;
	}
	else
	{
		varve_json_text(out, "schema", entry->definition.schema.data);
		varve_json_text(out, "table", entry->definition.name.data);
		if (event->op == VARVE_OP_TRUNCATE)
		{
			varve_json_key(out, "cascade");
			appendStringInfoString(
				out, (event->flags & VARVE_CHANGE_TRUNCATE_CASCADE) != 0 ? "true" : "false");
			varve_json_key(out, "restart_identity");
			appendStringInfoString(
				out, (event->flags & VARVE_CHANGE_TRUNCATE_RESTART) != 0 ? "true" : "false");
		}
		else
			varve_json_text(out, "identity", identity_name(entry->identity));
		if ((event->flags & VARVE_CHANGE_REWRITE_ROWS) != 0)
		{
			varve_json_key(out, "rows");
			appendStringInfoString(out, "true");
		}
		put_rows(event, out);
	}
}

static bool
json_change(VarveOutput *output, const VarveEvent *event)
{
	VarveRelationEntry *entry = event->entry;

	if (!output->transaction.non_transactional)
		varve_output_need_settings(output);
	if (entry != NULL && (event->op == VARVE_OP_RELATION ||
						  entry->shown_description != entry->definition.description))
	{
		if (!varve_fit(output, event, put_relation))
			return false;
		end_line(output);
		entry->shown_description = entry->definition.description;
	}
	if (event->op == VARVE_OP_RELATION)
		return true;
	if (!varve_fit(output, event, put_change))
		return false;
	end_line(output);
	return true;
}

static void
write_end(VarveOutput *output, const char *kind)
{
	static const int utc = 0;
	char time[MAXDATELEN + 1];

	start_frame(output, kind);
	put_gid(output);
	put_position(output);
	/* The zone is given: some of these come where settings cannot be pinned. */
	JsonEncodeDateTime(time, TimestampTzGetDatum(output->transaction.commit_time), TIMESTAMPTZOID,
					   &utc);
	varve_json_text(output->ctx->out, "time", time);
	put_origin(output);
	end_line(output);
}

static void
json_commit(VarveOutput *output)
{
	if (!output->transaction.non_transactional)
		write_end(output, output->transaction.stage == VARVE_STAGE_PREPARED ? "prepare" : "commit");
}

static void
json_stop(VarveOutput *output)
{
	start_frame(output, "stream_stop");
	end_line(output);
}

static void
json_end(VarveOutput *output)
{
	switch (output->transaction.stage)
	{
		case VARVE_STAGE_STREAM_ABORT:
			start_frame(output, "stream_abort");
			put_subxid(output);
			end_line(output);
			break;
		case VARVE_STAGE_STREAM_COMMIT:
			write_end(output, "stream_commit");
			break;
		case VARVE_STAGE_STREAM_PREPARE:
			write_end(output, "stream_prepare");
			break;
		case VARVE_STAGE_COMMIT_PREPARED:
			write_end(output, "commit_prepared");
			break;
		case VARVE_STAGE_ROLLBACK_PREPARED:
			write_end(output, "rollback_prepared");
			break;
		default:
			elog(ERROR, "unexpected end of a transaction: %d", (int)output->transaction.stage);
	}
}

const VarveSink varve_json_sink = {json_begin, json_change, json_commit, json_stop, json_end};
