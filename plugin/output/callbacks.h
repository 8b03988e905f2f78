/* SPDX-License-Identifier: PostgreSQL */
/* The callbacks that logical decoding calls. */
#pragma once

#include "postgres.h"
#include "replication/logical.h"
#include "replication/output_plugin.h"

extern void varve_output_startup(LogicalDecodingContext *ctx, OutputPluginOptions *opt,
								 bool is_init);
extern void varve_output_shutdown(LogicalDecodingContext *ctx);
extern void varve_output_begin(LogicalDecodingContext *ctx, ReorderBufferTXN *txn);
extern void varve_output_change(LogicalDecodingContext *ctx, ReorderBufferTXN *txn,
								Relation relation, ReorderBufferChange *change);
extern void varve_output_truncate(LogicalDecodingContext *ctx, ReorderBufferTXN *txn, int count,
								  Relation relations[], ReorderBufferChange *change);
extern void varve_output_message(LogicalDecodingContext *ctx, ReorderBufferTXN *txn, XLogRecPtr lsn,
								 bool transactional, const char *prefix, Size size,
								 const char *content);
extern void varve_output_commit(LogicalDecodingContext *ctx, ReorderBufferTXN *txn,
								XLogRecPtr commit_lsn);
extern void varve_output_begin_prepare(LogicalDecodingContext *ctx, ReorderBufferTXN *txn);
extern void varve_output_prepare(LogicalDecodingContext *ctx, ReorderBufferTXN *txn,
								 XLogRecPtr prepare_lsn);
extern void varve_output_commit_prepared(LogicalDecodingContext *ctx, ReorderBufferTXN *txn,
										 XLogRecPtr commit_lsn);
extern void varve_output_rollback_prepared(LogicalDecodingContext *ctx, ReorderBufferTXN *txn,
										   XLogRecPtr prepare_end_lsn, TimestampTz prepare_time);
extern void varve_output_stream_start(LogicalDecodingContext *ctx, ReorderBufferTXN *txn);
extern void varve_output_stream_stop(LogicalDecodingContext *ctx, ReorderBufferTXN *txn);
extern void varve_output_stream_change(LogicalDecodingContext *ctx, ReorderBufferTXN *txn,
									   Relation relation, ReorderBufferChange *change);
extern void varve_output_stream_truncate(LogicalDecodingContext *ctx, ReorderBufferTXN *txn,
										 int count, Relation relations[],
										 ReorderBufferChange *change);
extern void varve_output_stream_message(LogicalDecodingContext *ctx, ReorderBufferTXN *txn,
										XLogRecPtr lsn, bool transactional, const char *prefix,
										Size size, const char *content);
extern void varve_output_stream_abort(LogicalDecodingContext *ctx, ReorderBufferTXN *txn,
									  XLogRecPtr abort_lsn);
extern void varve_output_stream_prepare(LogicalDecodingContext *ctx, ReorderBufferTXN *txn,
										XLogRecPtr prepare_lsn);
extern void varve_output_stream_commit(LogicalDecodingContext *ctx, ReorderBufferTXN *txn,
									   XLogRecPtr commit_lsn);
extern bool varve_output_filter_by_origin(LogicalDecodingContext *ctx, RepOriginId origin_id);
