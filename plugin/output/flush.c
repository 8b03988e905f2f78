/* SPDX-License-Identifier: PostgreSQL */
/*
 * Several small messages in one system call. A walsender tries to send what a plugin has written at
 * once, and again after each WAL record: with small transactions that costs more than all the rest.
 * So what was written stays in the server's send buffer as long as the walsender goes on to the
 * next record. Before it waits for WAL it asks for a flush without having read one
 * (WalSndWaitForWal), and that is when it is sent: nothing waits while the walsender does.
 * Everything goes through that one buffer, keepalives too, so no position is told before what lies
 * below it.
 */
#include "postgres.h"

/* Nothing here looks into Port: the headers of authentication libraries are not wanted. */
#undef ENABLE_GSS
#undef USE_OPENSSL
#include "libpq/libpq.h"
#include "replication/output_plugin.h"
#include "utils/memutils.h"

#include "plugin/output/flush.h"

#define HELD_BYTES_MAX (8 * 1024)
/* How often a flush is put off: as many records are decoded in well under a millisecond. */
#define REQUESTS_MAX 64
/* A transaction with more changes may take its time without writing anything. */
#define SMALL_TRANSACTION_CHANGES 100

/* One walsender decodes in a process; the server's functions take no argument to keep this in. */
static struct
{
	const PQcommMethods *server; /* NULL while they are not replaced */
	PQcommMethods replaced;
	LogicalDecodingContext *ctx;
	XLogRecPtr asked_at; /* the record that was read last when a flush was asked for */
	bool writing;
	bool socket_full;
	Size held_bytes;
	int requests; /* that were put off */
} sending;

static int
flush_now(void)
{
	int result = sending.server->flush_if_writable();

	sending.held_bytes = 0;
	sending.requests = 0;
	sending.socket_full = sending.server->is_send_pending();
	return result;
}

static int
flush_if_writable(void)
{
	XLogRecPtr read_to = sending.ctx->reader->EndRecPtr;
	bool goes_on = sending.writing || read_to != sending.asked_at;

	if (!sending.writing)
		sending.asked_at = read_to;
	if (!goes_on || sending.socket_full || sending.held_bytes == 0 ||
		sending.held_bytes >= HELD_BYTES_MAX || sending.requests >= REQUESTS_MAX)
		return flush_now();
	sending.requests++;
	return 0;
}

/* What is only held does not keep the walsender from reading on. */
static bool
is_send_pending(void)
{
	if (sending.held_bytes > 0 && !sending.socket_full)
		return false;
	return sending.server->is_send_pending();
}

static void
close_sending(void *ctx)
{
	if (sending.ctx != ctx)
		return;
	if (PqCommMethods == &sending.replaced)
		PqCommMethods = sending.server;
	sending.server = NULL;
	sending.ctx = NULL;
}

void
varve_flush_open(LogicalDecodingContext *ctx)
{
	MemoryContextCallback *on_reset;

	/* Only START_REPLICATION reports progress; the SQL functions send nothing. */
	if (ctx->update_progress == NULL || sending.server != NULL)
		return;
	on_reset = MemoryContextAlloc(ctx->context, sizeof(MemoryContextCallback));
	memset(&sending, 0, sizeof(sending));
	sending.ctx = ctx;
	sending.server = PqCommMethods;
	sending.replaced = *PqCommMethods;
	sending.replaced.flush_if_writable = flush_if_writable;
	sending.replaced.is_send_pending = is_send_pending;
	/* The shutdown callback does not run after an error; this does. */
	on_reset->func = close_sending;
	on_reset->arg = ctx;
	MemoryContextRegisterResetCallback(ctx->context, on_reset);
	PqCommMethods = &sending.replaced;
}

void
varve_flush_write(LogicalDecodingContext *ctx, Size length)
{
	bool may_hold = sending.ctx == ctx;

	if (may_hold)
	{
		sending.held_bytes += length;
		sending.writing = true;
	}
	OutputPluginWrite(ctx, true);
	if (may_hold)
		sending.writing = false;
}

void
varve_flush_held(void)
{
	if (sending.server != NULL && sending.held_bytes > 0)
		(void)flush_now();
}

void
varve_flush_before(const LogicalDecodingContext *ctx, const ReorderBufferTXN *txn)
{
	if (sending.ctx == ctx && (txn->nentries > SMALL_TRANSACTION_CHANGES || txn->nsubtxns > 0))
		varve_flush_held();
}
