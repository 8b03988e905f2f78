/* SPDX-License-Identifier: PostgreSQL */
#include "postgres.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "nodes/parsenodes.h"
#include "utils/builtins.h"
#include "utils/varlena.h"

#include "plugin/output/options.h"

#define BATCH_BYTES_DEFAULT (64 * 1024)
#define BATCH_BYTES_MIN 1024
#define BATCH_BYTES_MAX (16 * 1024 * 1024)
#define SESSION_DIGITS 32
#define SHOWN_BYTES_MAX 64

/* Takes one option; value is NULL when it was given without one. */
typedef void (*OptionReader)(const char *name, const char *value, VarveOptions *options);

static const char *
require_value(const char *name, const char *value)
{
	if (value == NULL)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("option \"%s\" requires a value", name)));
	return value;
}

/* The beginning of what a client gave, of whatever length. */
static const char *
shown(const char *given)
{
	int length = pg_mbcliplen(given, (int)strlen(given), SHOWN_BYTES_MAX);

	return given[length] == '\0' ? given : psprintf("%.*s...", length, given);
}

static void
refuse_value(const char *name, const char *value, const char *allowed)
{
	ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					errmsg("invalid value for option \"%s\": \"%s\"", name, shown(value)),
					errhint("Valid values: %s.", allowed)));
}

/* An option without a value is on. */
static bool
read_boolean(const char *name, const char *value)
{
	bool result = true;

	if (value != NULL && !parse_bool(value, &result))
		refuse_value(name, value, "on, off");
	return result;
}

static void
read_publication_names(const char *name, const char *value, VarveOptions *options)
{
	/* SplitIdentifierString writes into its argument, and the result points there. */
	char *names = pstrdup(require_value(name, value));

	if (!SplitIdentifierString(names, ',', &options->publication_names))
		ereport(ERROR, (errcode(ERRCODE_INVALID_NAME),
						errmsg("invalid syntax in option \"%s\": \"%s\"", name, shown(value)),
						errhint("Give publication names separated by commas, quoted as in SQL.")));
}

static void
read_transport(const char *name, const char *value, VarveOptions *options)
{
	require_value(name, value);
	if (strcmp(value, "zmq") == 0)
		options->transport = VARVE_TRANSPORT_ZMQ;
	else if (strcmp(value, "stream") == 0)
		options->transport = VARVE_TRANSPORT_STREAM;
	else
		refuse_value(name, value, "stream, zmq");
}

static uint64
read_hexadecimal(const char *name, const char *value, const char *digits)
{
	uint64 result = 0;

	for (int i = 0; i < SESSION_DIGITS / 2; i++)
	{
		char digit = digits[i];

		if (digit >= '0' && digit <= '9')
			result = result << 4 | (uint64)(digit - '0');
		else if (digit >= 'a' && digit <= 'f')
			result = result << 4 | (uint64)(digit - 'a' + 10);
		else if (digit >= 'A' && digit <= 'F')
			result = result << 4 | (uint64)(digit - 'A' + 10);
		else
			refuse_value(name, value, "32 hexadecimal digits");
	}
	return result;
}

static void
read_session(const char *name, const char *value, VarveOptions *options)
{
	require_value(name, value);
	if (strlen(value) != SESSION_DIGITS)
		refuse_value(name, value, "32 hexadecimal digits");
	options->session_high = read_hexadecimal(name, value, value);
	options->session_low = read_hexadecimal(name, value, value + SESSION_DIGITS / 2);
}

static void
read_format(const char *name, const char *value, VarveOptions *options)
{
	require_value(name, value);
	if (strcmp(value, "flatbuffers") == 0)
		options->format = VARVE_FORMAT_FLATBUFFERS;
	else if (strcmp(value, "json") == 0)
		options->format = VARVE_FORMAT_JSON;
	else
		refuse_value(name, value, "flatbuffers, json");
}

static void
read_streaming(const char *name, const char *value, VarveOptions *options)
{
	options->streaming = read_boolean(name, value);
}

static void
read_two_phase(const char *name, const char *value, VarveOptions *options)
{
	options->two_phase = read_boolean(name, value);
}

static void
read_messages(const char *name, const char *value, VarveOptions *options)
{
	options->messages = read_boolean(name, value);
}

static void
read_origin(const char *name, const char *value, VarveOptions *options)
{
	require_value(name, value);
	if (strcmp(value, "none") == 0)
		options->only_local = true;
	else if (strcmp(value, "any") == 0)
		options->only_local = false;
	else
		refuse_value(name, value, "any, none");
}

static void
read_rewrites(const char *name, const char *value, VarveOptions *options)
{
	options->rewrites = read_boolean(name, value);
}

static void
read_batch_bytes(const char *name, const char *value, VarveOptions *options)
{
	const char *end;
	char *stop;
	long bytes;

	require_value(name, value);
	end = value + strlen(value);
	errno = 0;
	bytes = strtol(value, &stop, 10);
	if (errno != 0 || stop != end || stop == value || bytes < BATCH_BYTES_MIN ||
		bytes > BATCH_BYTES_MAX)
		refuse_value(name, value, "1024 to 16777216");
	options->batch_bytes = (int)bytes;
}

static const struct
{
	const char *name;
	OptionReader read;
} option_table[] = {
	{"publication_names", read_publication_names},
	{"transport", read_transport},
	{"session", read_session},
	{"format", read_format},
	{"streaming", read_streaming},
	{"two_phase", read_two_phase},
	{"messages", read_messages},
	{"origin", read_origin},
	{"rewrites", read_rewrites},
	{"batch_bytes", read_batch_bytes},
};

static void
refuse_option(const char *name)
{
	StringInfoData known;

	initStringInfo(&known);
	for (int i = 0; i < lengthof(option_table); i++)
		appendStringInfo(&known, "%s%s", i == 0 ? "" : ", ", option_table[i].name);
	ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					errmsg("unrecognized option \"%s\" for output plugin varve", shown(name)),
					errhint("Valid options: %s.", known.data)));
}

/* Markers say whose batches they announce, and people read what comes in the COPY stream. */
static void
check_transport(const VarveOptions *options)
{
	if (options->transport != VARVE_TRANSPORT_ZMQ)
		return;
	if (options->format != VARVE_FORMAT_FLATBUFFERS)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("transport \"zmq\" works with format \"flatbuffers\" only")));
	if (options->session_high == 0 && options->session_low == 0)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("transport \"zmq\" needs the option \"session\"")));
}

void
varve_options_parse(List *given, VarveOptions *options)
{
	bool seen[lengthof(option_table)] = {false};
	ListCell *cell;

	memset(options, 0, sizeof(*options));
	options->messages = true;
	options->batch_bytes = BATCH_BYTES_DEFAULT;
	foreach (cell, given)
	{
		DefElem *option = lfirst_node(DefElem, cell);
		int i = 0;

		while (i < lengthof(option_table) && strcmp(option_table[i].name, option->defname) != 0)
			i++;
		if (i == lengthof(option_table))
			refuse_option(option->defname);
		if (seen[i])
			ereport(ERROR, (errcode(ERRCODE_SYNTAX_ERROR),
							errmsg("option \"%s\" was given more than once", option->defname)));
		seen[i] = true;
		option_table[i].read(option->defname, option->arg == NULL ? NULL : strVal(option->arg),
							 options);
	}
	/* An empty list could as well mean "nothing" as "everything": neither is guessed. */
	if (options->publication_names == NIL)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("option \"publication_names\" must name at least one publication")));
	check_transport(options);
}
