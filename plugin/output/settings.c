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

static const struct
{
	const char *name;
	const char *value;
} pinned[] = {
	{"timezone", "UTC"},		   {"datestyle", "ISO"},
	{"intervalstyle", "postgres"}, {"bytea_output", "hex"},
	{"extra_float_digits", "1"},   {"lc_monetary", "C"},
	{"xmlbinary", "base64"},	   {"quote_all_identifiers", "off"},
	{"search_path", "pg_catalog"},
};

/* A client that sets them itself, as varved does, saves the cost of setting them for each
 * transaction. */
static bool
settings_are_right(void)
{
	return DateStyle == USE_ISO_DATES && IntervalStyle == INTSTYLE_POSTGRES &&
		   bytea_output == BYTEA_OUTPUT_HEX && extra_float_digits == 1 &&
		   xmlbinary == XMLBINARY_BASE64 && !quote_all_identifiers &&
		   strcmp(pg_get_timezone_name(session_timezone), "UTC") == 0 &&
		   strcmp(locale_monetary, "C") == 0 && strcmp(namespace_search_path, "pg_catalog") == 0;
}

int
varve_settings_pin(void)
{
	int level;

	if (settings_are_right())
		return 0;
	level = NewGUCNestLevel();
	for (int i = 0; i < lengthof(pinned); i++)
		(void)set_config_option(pinned[i].name, pinned[i].value, PGC_USERSET, PGC_S_SESSION,
								GUC_ACTION_SAVE, true, 0, false);
	return level;
}

void
varve_settings_restore(int level)
{
	if (level != 0)
		AtEOXact_GUC(true, level);
}
