/* SPDX-License-Identifier: PostgreSQL */
#include "postgres.h"
#include "access/xact.h"
#include "replication/origin.h"
#include "utils/resowner.h"

#include "plugin/output/origin.h"

/*
 * The end of a streamed or prepared transaction comes outside decoding: in a walsender that is
 * outside any transaction, and the catalogs want one.
 */
static char *
origin_name(RepOriginId id, MemoryContext context)
{
	bool own_transaction = !IsTransactionState();
	ResourceOwner old_owner = CurrentResourceOwner;
	MemoryContext old_context = CurrentMemoryContext;
	char *name = NULL;

	if (own_transaction)
		StartTransactionCommand();
	if (replorigin_by_oid(id, true, &name))
		name = MemoryContextStrdup(context, name);
	if (own_transaction)
	{
		CommitTransactionCommand();
		CurrentResourceOwner = old_owner;
	}
	MemoryContextSwitchTo(old_context);
	return name;
}

void
varve_origin_note(VarveOutput *output, const ReorderBufferTXN *txn)
{
	VarveEventTransaction *transaction = &output->transaction;

	if (txn->origin_id == InvalidRepOriginId || txn->origin_id == DoNotReplicateId)
		return;
	transaction->origin_id = txn->origin_id;
	transaction->origin = origin_name(txn->origin_id, output->change_context);
	transaction->origin_lsn = txn->origin_lsn;
}

void
varve_origin_append(const VarveEventTransaction *transaction, uint32 piece, VarveBuffer *heap,
					VarveBuffer *origins)
{
	const char *name = transaction->origin == NULL ? "" : transaction->origin;
	VarveOrigin origin = {0};

	origin.lsn = transaction->origin_lsn;
	origin.transaction = piece;
	origin.id = transaction->origin_id;
	origin.name_offset = (uint32)heap->length;
	origin.name_length = (uint32)strlen(name);
	varve_buffer_append(heap, name, origin.name_length);
	varve_buffer_append(origins, &origin, sizeof(origin));
}
