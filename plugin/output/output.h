/* SPDX-License-Identifier: PostgreSQL */
/* What the callbacks of logical decoding have in common, and what they hand to the two formats. */
#pragma once

#include "postgres.h"
#include "replication/origin.h"
#include "replication/output_plugin.h"
#include "utils/hsearch.h"

#include "plugin/compat.h"
#include "plugin/output/options.h"
#include "plugin/output/publication.h"
#include "plugin/output/relation.h"
#include "plugin/wire/wire.h"

/* One emitted change. Who owns what: everything is borrowed until the sink's change() returns. */
typedef struct VarveEvent
{
	uint8 op;	 /* VarveOp */
	uint8 flags; /* VarveChangeFlag */
	uint32 seq;
	Oid relid;				   /* 0 for messages */
	VarveRelationEntry *entry; /* NULL for messages, DROP and UNTRACK */
	TupleDesc descriptor;	   /* of the new tuple */
	TupleDesc old_descriptor;  /* of the old one */
	HeapTuple new_tuple;
	HeapTuple old_tuple;
	VarveBytes prefix; /* messages */
	VarveBytes content;
} VarveEvent;

/* What is being sent of a transaction. schemas/README.md has the pieces. */
typedef enum VarveStage
{
	VARVE_STAGE_WHOLE,	  /* at its commit; also a message outside any */
	VARVE_STAGE_PREPARED, /* whole, where it is prepared */
	VARVE_STAGE_STREAMED, /* a block of one that is still in progress */
	/* From here on no changes, but the end of what was sent before. */
	VARVE_STAGE_STREAM_ABORT,
	VARVE_STAGE_STREAM_COMMIT,
	VARVE_STAGE_STREAM_PREPARE,
	VARVE_STAGE_COMMIT_PREPARED,
	VARVE_STAGE_ROLLBACK_PREPARED
} VarveStage;

/* The transaction that changes belong to; xid 0 for a message outside any. */
typedef struct VarveEventTransaction
{
	VarveStage stage;
	XLogRecPtr position;
	TimestampTz commit_time;
	TransactionId xid;
	TransactionId subxid; /* STREAMED: of the next change; STREAM_ABORT: what rolled back */
	const char *gid;	  /* of the stages of prepared transactions */
	bool goes_on;		  /* STREAMED: an earlier block of it was sent */
	bool non_transactional;
	/* When it ends, of one that replication has brought in; else InvalidRepOriginId. */
	RepOriginId origin_id;
	const char *origin;	   /* NULL when there is none of that id any more */
	XLogRecPtr origin_lsn; /* where it ended there */
} VarveEventTransaction;

/*
 * What a streamed or prepared transaction carries from callback to callback, in its
 * output_plugin_private: allocated in ctx->context, freed where the transaction ends or is
 * prepared. A subtransaction of which something was sent points there too.
 */
typedef struct VarveStaged
{
	uint64 number; /* as VarveOutput.number */
	uint32 next_seq;
	bool sent;
	HTAB *tables;  /* of VarveStagedTable; NULL while it has mentioned none */
	List *subxids; /* as oids: subtransactions of which something was sent, known by xid only */
	List *unseen_rewrites; /* oids of tables that were not shown when their rows came */
} VarveStaged;

/*
 * A table that such a transaction has mentioned, and what it said of its definition: rows say
 * nothing, since a subtransaction may take them with it.
 */
typedef struct VarveStagedTable
{
	Oid relid; /* key, first */
	VarveAnnounced announced;
	uint64 description;
	bool dropped;
} VarveStagedTable;

/* Whose catalog changes a historic snapshot shows. */
typedef struct VarveVisibility
{
	TransactionId xmin;
	int others; /* transactions from xmin on that are shown */
} VarveVisibility;

/* A table as it was before the transaction in hand. */
typedef struct VarveTableBefore
{
	Oid relid;
	Oid file_node;
	int16 attribute_count; /* that all rows have values of: also since a rewrite with its rows */
} VarveTableBefore;

typedef struct VarveOutput VarveOutput;

/*
 * A format. begin comes before the first change of a transaction, or of a block of a streamed one,
 * commit or stop after the last; none without changes, but that a prepared transaction may have
 * none. change is false, and output->too_large says why, for one that cannot be sent.
 * end tells how something that was sent before ended, by output->transaction.
 */
typedef struct VarveSink
{
	void (*begin)(VarveOutput *output, const VarveEventTransaction *transaction);
	bool (*change)(VarveOutput *output, const VarveEvent *event);
	void (*commit)(VarveOutput *output);
	void (*stop)(VarveOutput *output);
	void (*end)(VarveOutput *output);
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

	VarveEventTransaction transaction; /* the one in hand */
	ReorderBufferTXN *txn;			   /* the top-level one */
	VarveStaged *staged;			   /* of it, if it is streamed or prepared, else NULL */
	uint64 number;					   /* of it, from 1, the same for all of its blocks */
	uint64 last_number;				   /* of the newest transaction */
	ReorderBufferTXN *subtxn; /* the subtransaction that streamed changes belong to, if known */
	bool begun;
	uint32 next_seq;
	List *rewritten; /* oids of tables whose rewrite was reported without its rows */
	List *truncated; /* oids of tables that it emptied */
	int settings_level;
	VarveTableBefore *tables_before; /* of those that it changed, in order of oid */
	int tables_before_count;
	List *others_before; /* relations that are not tables of ours */
	List *roots_before;	 /* root.c */
	MemoryContext roots_context;
	struct VarveMove *move; /* move.c; NULL until there is one */
	VarveVisibility visibility_before;
	int unreported_changes; /* since the client last heard of us */
	bool is_shut_down;
	char *too_large; /* why the last change was not taken; in change_context */
};

extern struct VarveBatch *varve_batch_open(VarveOutput *output, MemoryContext context);

/* Text is about to be made: the settings stay pinned until the end of the transaction. */
extern void varve_output_need_settings(VarveOutput *output);

/* emit.c: begins the transaction if need be, numbers the change and hands it to the sink. */
extern void varve_emit(VarveOutput *output, VarveEvent *event);
extern void varve_emit_begin(VarveOutput *output);

/* The changes that the callbacks of whole and of streamed transactions have in common. */
extern void varve_output_emit_change(VarveOutput *output, Relation relation,
									 ReorderBufferChange *change);
extern void varve_output_emit_truncate(VarveOutput *output, int count, Relation relations[],
									   ReorderBufferChange *change);
extern void varve_output_emit_message(VarveOutput *output, bool transactional, const char *prefix,
									  Size size, const char *content);

/* Every callback that emits changes starts and ends with these two. */
extern MemoryContext varve_output_enter(VarveOutput *output);
extern void varve_output_leave(VarveOutput *output, MemoryContext old_context);

/* The changes of a transaction, or a block of them, begin and end. */
extern void varve_output_open(VarveOutput *output, ReorderBufferTXN *txn, VarveStage stage);
extern void varve_output_close(VarveOutput *output, ReorderBufferTXN *txn);

/* staged.c: what is kept of a transaction, made if need be; and its end. */
extern VarveStaged *varve_staged_of(VarveOutput *output, ReorderBufferTXN *txn);
extern void varve_staged_free(ReorderBufferTXN *txn);

/* staged.c: what the transaction in hand has said of a table; NULL when it has not mentioned it. */
extern VarveStagedTable *varve_staged_table(const VarveOutput *output, Oid relid);

/* staged.c: notes what this event of a staged transaction says, and whose it is. */
extern void varve_staged_note(VarveOutput *output, const VarveEvent *event);
extern void varve_staged_note_subtransaction(VarveOutput *output);

/* staged.c: what was said of tables may have been said in a subtransaction that rolls back. */
extern void varve_staged_forget_tables(VarveStaged *staged);

/*
 * definitions.c: transactions that changed catalogs. begin looks at what there was before, commit
 * emits what became of it: RELATION, UNTRACK, DROP. A streamed transaction has both for each of its
 * blocks.
 */
extern void varve_definitions_begin(VarveOutput *output, ReorderBufferTXN *txn);
extern void varve_definitions_commit(VarveOutput *output, ReorderBufferTXN *txn);

/* definitions.c: a table that was followed, or would be if varve could, is not any more: UNTRACK. */
extern void varve_definitions_unpublished(VarveOutput *output, VarveRelationEntry *entry);

/* definitions.c: UNTRACK, if that was not the last thing that the client was told of it. */
extern void varve_definitions_untrack(VarveOutput *output, VarveRelationEntry *entry,
									  const char *reason);

/* definitions.c: a relation that the transaction changes and that was there before it. */
extern bool varve_definitions_was_there(const VarveOutput *output, Oid relid);

/* definitions.c: the transaction empties the table. */
extern void varve_definitions_truncated(VarveOutput *output, Oid relid);
