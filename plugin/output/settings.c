/* SPDX-License-Identifier: PostgreSQL */
#include "postgres.h"
#include "catalog/namespace.h"
#include "miscadmin.h"
#include "pgtime.h"
#include "utils/builtins.h"
#include "utils/bytea.h"
#include "utils/float.h"
#include "utils/guc.h"
#include "utils/xml.h"

#include "plugin/compat.h"
#include "plugin/output/settings.h"

static bool
timezone_is_right(void)
{
	return strcmp(pg_get_timezone_name(session_timezone), "UTC") == 0;
}

static bool
datestyle_is_right(void)
{
	return DateStyle == USE_ISO_DATES;
}

static bool
intervalstyle_is_right(void)
{
	return IntervalStyle == INTSTYLE_POSTGRES;
}

static bool
bytea_output_is_right(void)
{
	return bytea_output == BYTEA_OUTPUT_HEX;
}

static bool
extra_float_digits_is_right(void)
{
	return extra_float_digits == 1;
}

static bool
lc_monetary_is_right(void)
{
	return strcmp(locale_monetary, "C") == 0;
}

static bool
xmlbinary_is_right(void)
{
	return xmlbinary == XMLBINARY_BASE64;
}

static bool
quote_all_identifiers_is_right(void)
{
	return !quote_all_identifiers;
}

static bool
search_path_is_right(void)
{
	return strcmp(namespace_search_path, "pg_catalog") == 0;
}

/* To ask costs nothing, to set one costs more than to decode a row. */
static const struct
{
	const char *name;
	const char *value;
	bool (*is_right)(void);
} pinned[] = {
	{"timezone", "UTC", timezone_is_right},
	{"datestyle", "ISO", datestyle_is_right},
	{"intervalstyle", "postgres", intervalstyle_is_right},
	{"bytea_output", "hex", bytea_output_is_right},
	{"extra_float_digits", "1", extra_float_digits_is_right},
	{"lc_monetary", "C", lc_monetary_is_right},
	{"xmlbinary", "base64", xmlbinary_is_right},
	{"quote_all_identifiers", "off", quote_all_identifiers_is_right},
	{"search_path", "pg_catalog", search_path_is_right},
};

int
varve_settings_pin(void)
{
	int level = 0;

	for (int i = 0; i < lengthof(pinned); i++)
	{
		if (pinned[i].is_right())
			continue;
		if (level == 0)
			level = NewGUCNestLevel();
		(void)set_config_option(pinned[i].name, pinned[i].value, PGC_USERSET, PGC_S_SESSION,
								GUC_ACTION_SAVE, true, 0, false);
	}
	return level;
}

void
varve_settings_restore(int level)
{
	if (level != 0)
		AtEOXact_GUC(true, level);
}
