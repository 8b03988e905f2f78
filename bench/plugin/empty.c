/* SPDX-License-Identifier: PostgreSQL */
/* An output plugin that does nothing: what a drain through it costs is the price of decoding alone. */
#include "postgres.h"
#include "replication/logical.h"
#include "replication/output_plugin.h"

PG_MODULE_MAGIC;

extern PGDLLEXPORT void _PG_output_plugin_init(OutputPluginCallbacks *callbacks);

static void
startup(LogicalDecodingContext *ctx, OutputPluginOptions *options, bool is_init)
{
	options->output_type = OUTPUT_PLUGIN_BINARY_OUTPUT;
}

static void
begin(LogicalDecodingContext *ctx, ReorderBufferTXN *txn)
{
}

static void
change(LogicalDecodingContext *ctx, ReorderBufferTXN *txn, Relation relation,
	   ReorderBufferChange *one)
{
}

static void
commit(LogicalDecodingContext *ctx, ReorderBufferTXN *txn, XLogRecPtr commit_lsn)
{
}

void
_PG_output_plugin_init(OutputPluginCallbacks *callbacks)
{
	callbacks->startup_cb = startup;
	callbacks->begin_cb = begin;
	callbacks->change_cb = change;
	callbacks->commit_cb = commit;
}
