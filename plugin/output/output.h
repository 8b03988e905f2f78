/* SPDX-License-Identifier: PostgreSQL */
/* The callbacks that logical decoding calls, and what they hand to the two formats. */
#pragma once

#include "postgres.h"
#include "replication/output_plugin.h"

#include "plugin/compat.h"
#include "plugin/output/options.h"
#include "plugin/output/publication.h"
#include "plugin/output/relation.h"
#include "plugin/wire/wire.h"

extern void varve_output_startup(LogicalDecodingContext *ctx, OutputPluginOptions *opt,
								 bool is_init);
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
extern bool varve_output_filter_by_origin(LogicalDecodingContext *ctx, RepOriginId origin_id);

/* One emitted change. Who owns what: everything is borrowed until the sink's change() returns. */
typedef struct VarveEvent
{
	uint8 op;	 /* VarveOp */
	uint8 flags; /* VarveChangeFlag */
	uint32 seq;
	Oid relid;				   /* 0 for messages */
	VarveRelationEntry *entry; /* NULL for messages, DROP and UNTRACK */
	TupleDesc descriptor;	   /* of the tuples */
	HeapTuple new_tuple;
	HeapTuple old_tuple;
	VarveBytes prefix; /* messages */
	VarveBytes content;
} VarveEvent;

/* The transaction that changes belong to; xid 0 for a message outside any. */
typedef struct VarveEventTransaction
{
	XLogRecPtr position;
	TimestampTz commit_time;
	TransactionId xid;
	bool non_transactional;
} VarveEventTransaction;

/* Whose catalog changes a historic snapshot shows. */
typedef struct VarveVisibility
{
	TransactionId xmin;
	int others; /* transactions from xmin on that are shown */
} VarveVisibility;

typedef struct VarveOutput VarveOutput;

/* A format. begin comes before a transaction's first change, commit after its last; none without
 * changes. */
typedef struct VarveSink
{
	void (*begin)(VarveOutput *output, const VarveEventTransaction *transaction);
	void (*change)(VarveOutput *output, const VarveEvent *event);
	void (*commit)(VarveOutput *output);
} VarveSink;

extern const VarveSink varve_batch_sink;
extern const VarveSink varve_json_sink;

/* What lives as long as one START_REPLICATION or one call of an SQL function: in ctx->context. */
struct VarveOutput
{
	LogicalDecodingContext *ctx;
	VarveOptions options;
	VarvePublications *publications;
	VarveRelationCache *relations;
	MemoryContext change_context; /* reset after each callback */
	const VarveSink *sink;
	struct VarveBatch *batch; /* format=flatbuffers */

	/* The transaction in hand. */
	VarveEventTransaction transaction;
	bool begun;
	uint32 next_seq;
	List *rewritten; /* oids of tables whose rewrite was reported */
	int settings_level;
	List *tables_before; /* of those that it changed; oids in order */
	List *others_before; /* relations that are not tables of ours */
	VarveVisibility visibility_before;
	int unreported_changes; /* since the client last heard of us */
};

extern struct VarveBatch *varve_batch_open(VarveOutput *output, MemoryContext context);

/* Text is about to be made: the settings stay pinned until the end of the transaction. */
extern void varve_output_need_settings(VarveOutput *output);

/* emit.c: begins the transaction if need be, numbers the change and hands it to the sink. */
extern void varve_emit(VarveOutput *output, VarveEvent *event);

/*
 * definitions.c: transactions that changed catalogs. begin looks at what there was before, commit
 * emits what became of it: RELATION, UNTRACK, DROP.
 */
extern void varve_definitions_begin(VarveOutput *output, ReorderBufferTXN *txn);
extern void varve_definitions_commit(VarveOutput *output, ReorderBufferTXN *txn);
