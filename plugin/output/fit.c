/* SPDX-License-Identifier: PostgreSQL */
/*
 * Changes that cannot be sent: too large, or with a value that JSON cannot be made of. An error
 * would come again at each start and keep the slot where it is for ever, so it is taken for what it
 * says of one table or of one message.
 */
#include "postgres.h"
#include "access/htup_details.h"
#include "mb/pg_wchar.h"
#include "utils/memutils.h"

#include "plugin/output/fit.h"

/* Above it compressed values within the tuple may become too large. */
#define SMALL_TUPLE_BYTES (64 * 1024)
#define SMALL_MESSAGE_BYTES (64 * 1024)
#define SHOWN_PREFIX_BYTES_MAX 64

static bool
is_large(HeapTuple tuple)
{
	return tuple != NULL && (HeapTupleHasExternal(tuple) || tuple->t_len > SMALL_TUPLE_BYTES);
}

/* Whether it may be too large at all: most rows are not even asked for the cost of asking. */
static bool
may_be_too_large(const VarveOutput *output, const VarveEvent *event)
{
	const VarveRelationEntry *entry = event->entry;

	if (entry == NULL)
		return event->content.length + event->prefix.length > SMALL_MESSAGE_BYTES;
	return output->options.format == VARVE_FORMAT_JSON || entry->may_expand ||
		   entry->ref_description != entry->definition.description || is_large(event->new_tuple) ||
		   is_large(event->old_tuple);
}

/* The server has no code of its own for a piece of memory that it never allocates. */
static bool
is_too_large(const ErrorData *error)
{
	static const char allocation[] = "invalid memory alloc request size";

	return error->sqlerrcode == ERRCODE_PROGRAM_LIMIT_EXCEEDED ||
		   (error->sqlerrcode == ERRCODE_INTERNAL_ERROR && error->message != NULL &&
			strncmp(error->message, allocation, sizeof(allocation) - 1) == 0);
}

/* What a cast to json says of a value that it does not like. */
static bool
is_no_json(const VarveOutput *output, const ErrorData *error)
{
	return output->options.format == VARVE_FORMAT_JSON && varve_is_data_error(error->sqlerrcode);
}

bool
varve_is_data_error(int sqlerrcode)
{
	return ERRCODE_TO_CATEGORY(sqlerrcode) == ERRCODE_DATA_EXCEPTION ||
		   sqlerrcode == ERRCODE_STATEMENT_TOO_COMPLEX;
}

char *
varve_fit_shown_prefix(const VarveEvent *event)
{
	return pnstrdup(event->prefix.data, pg_mbcliplen(event->prefix.data, (int)event->prefix.length,
													 SHOWN_PREFIX_BYTES_MAX));
}

static char *
what_does_not_fit(const VarveEvent *event, const ErrorData *error)
{
	/* The message alone may be "out of memory". */
	const char *reason = error->detail != NULL ? error->detail : error->message;

	if (event->entry == NULL)
		return psprintf(
			"a logical message of %zu bytes with prefix \"%s\" is too large to be sent: %s",
			event->content.length, varve_fit_shown_prefix(event), reason);
	if (!is_too_large(error))
		return psprintf("a change of table \"%s\" cannot be shown as JSON: %s",
						event->entry->qualified_name, error->message);
	return psprintf("a change of table \"%s\" is too large to be sent: %s",
					event->entry->qualified_name, reason);
}

/*
 * What an output function holds when it gives up (the description of a row type, no more) goes with
 * the transaction that decoding runs in, which is always rolled back.
 */
bool
varve_fit(VarveOutput *output, const VarveEvent *event, VarveEncodeChange encode)
{
	MemoryContext context = CurrentMemoryContext;
	volatile bool fits = true;

	if (!may_be_too_large(output, event))
	{
		encode(output, event);
		return true;
	}
	PG_TRY();
	{
		encode(output, event);
	}
	PG_CATCH();
	{
		ErrorData *error;

		MemoryContextSwitchTo(output->change_context);
		error = CopyErrorData();
		if (!is_too_large(error) && !is_no_json(output, error))
			PG_RE_THROW();
		FlushErrorState();
		MemoryContextSwitchTo(context);
		output->too_large = what_does_not_fit(event, error);
		fits = false;
	}
	PG_END_TRY();
	return fits;
}
