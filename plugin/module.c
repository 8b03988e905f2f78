/* SPDX-License-Identifier: PostgreSQL */
/* START HERE: what the server looks up when it loads varve.so. */
#include "postgres.h"
#include "fmgr.h"
#include "replication/output_plugin.h"

#include "plugin/compat.h"
#include "plugin/output/output.h"

PG_MODULE_MAGIC;

void
_PG_output_plugin_init(OutputPluginCallbacks *cb)
{
	cb->startup_cb = varve_output_startup;
	cb->begin_cb = varve_output_begin;
	cb->change_cb = varve_output_change;
	cb->truncate_cb = varve_output_truncate;
	cb->message_cb = varve_output_message;
	cb->commit_cb = varve_output_commit;
	cb->filter_by_origin_cb = varve_output_filter_by_origin;
}
