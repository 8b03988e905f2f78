/* SPDX-License-Identifier: PostgreSQL */
/* START HERE: what the server looks up when it loads varve.so. */
#include "postgres.h"
#include "fmgr.h"
#include "replication/output_plugin.h"

#include "plugin/compat.h"
#include "plugin/output/callbacks.h"
#include "plugin/output/endpoint.h"

PG_MODULE_MAGIC;

extern PGDLLEXPORT void _PG_init(void);

void
_PG_init(void)
{
	varve_endpoint_define();
}

void
_PG_output_plugin_init(OutputPluginCallbacks *cb)
{
	cb->startup_cb = varve_output_startup;
	cb->shutdown_cb = varve_output_shutdown;
	cb->begin_cb = varve_output_begin;
	cb->change_cb = varve_output_change;
	cb->truncate_cb = varve_output_truncate;
	cb->message_cb = varve_output_message;
	cb->commit_cb = varve_output_commit;
	cb->begin_prepare_cb = varve_output_begin_prepare;
	cb->prepare_cb = varve_output_prepare;
	cb->commit_prepared_cb = varve_output_commit_prepared;
	cb->rollback_prepared_cb = varve_output_rollback_prepared;
	cb->stream_start_cb = varve_output_stream_start;
	cb->stream_stop_cb = varve_output_stream_stop;
	cb->stream_change_cb = varve_output_stream_change;
	cb->stream_truncate_cb = varve_output_stream_truncate;
	cb->stream_message_cb = varve_output_stream_message;
	cb->stream_abort_cb = varve_output_stream_abort;
	cb->stream_prepare_cb = varve_output_stream_prepare;
	cb->stream_commit_cb = varve_output_stream_commit;
	cb->filter_by_origin_cb = varve_output_filter_by_origin;
}
