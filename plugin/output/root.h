/* SPDX-License-Identifier: PostgreSQL */
/*
 * Under publish_via_partition_root: rows of partitions as rows of their root, and what a
 * transaction does to the partitions of a root. PostgreSQL logs no rows for ATTACH, DETACH, DROP
 * and TRUNCATE of a partition: where one changes what the root holds, the root is not followed from
 * there on (UNTRACK), for whatever the client has of it is wrong.
 */
#pragma once

#include "postgres.h"

#include "plugin/output/output.h"

/* Before the transaction, or the block of one, with the tables that it changes: what they belong
 * to. */
extern void varve_roots_begin(VarveOutput *output, List *changed);

/* Where it ends: emits UNTRACK for roots that lost or got rows otherwise than by changes. */
extern void varve_roots_commit(VarveOutput *output, List *changed);

/* Whether rows of the table, which is no root, were not its own either before. */
extern bool varve_roots_had(const VarveOutput *output, Oid relid);

/* TRUNCATE of these tables, a partition that is sent as its root among them. */
extern void varve_roots_truncate(VarveOutput *output, VarveRelationEntry *partition, int count,
								 Relation relations[]);

/* The table has changes that are sent as another table's than those before in this transaction. */
extern void varve_roots_mixed(VarveOutput *output, VarveRelationEntry *entry);

/* A row of the table was changed. */
static inline void
varve_roots_note_row(VarveOutput *output, VarveRelationEntry *entry)
{
	Oid sent_as = varve_relation_sent_as(entry)->relid;

	if (likely(entry->rows_in == output->number && entry->rows_as == sent_as))
		return;
	if (entry->rows_in == output->number)
		varve_roots_mixed(output, entry);
	entry->rows_in = output->number;
	entry->rows_as = sent_as;
}

/* definitions.c: of the transaction or a subtransaction of it. */
extern bool varve_is_own_xid(ReorderBufferTXN *txn, TransactionId xid);

/* Makes a change of a partition one of its root. */
extern void varve_roots_map(VarveRelationEntry *partition, VarveEvent *event);

/*
 * move.c: an UPDATE that moves a row to another partition is a DELETE and an INSERT in the WAL. The
 * DELETE is held back until the next change comes: true when it is.
 */
extern bool varve_move_hold(VarveOutput *output, const VarveEvent *event,
							const ReorderBufferChange *change);

/* Makes the INSERT that ends a move an UPDATE; sends what is held back when it is something else.
 */
extern void varve_move_meet(VarveOutput *output, VarveEvent *event,
							const ReorderBufferChange *change);

/* Sends what is held back, or forgets it: an abort may have cut short the transaction. */
extern void varve_move_flush(VarveOutput *output);
extern void varve_move_forget(VarveOutput *output);
