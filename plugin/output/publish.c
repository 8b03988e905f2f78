/* SPDX-License-Identifier: PostgreSQL */
#include "postgres.h"
#include <unistd.h>

#include "miscadmin.h"
#include "pgstat.h"
#include "port/pg_bswap.h"
#include "replication/walsender.h"
#include "storage/fd.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "utils/memutils.h"
#include "utils/pidfile.h"

#include "plugin/output/endpoint.h"
#include "plugin/output/publish.h"

#define QUEUE_BYTES ((uint64)32 * 1024 * 1024)
#define COALESCE_US 1000
#define UNREACHABLE_MS 5000
#define STOP_MS 500
#define MARKER_EVERY_MS 1000
#define SHUTDOWN_CHECK_MS 250

struct VarvePublish
{
	VarvePublisher *publisher; /* NULL until it is started */
	MemoryContext memory;
	uint64 announced; /* batches */
};

/*
 * The one of this process. A walsender survives an ERROR and may start another; the process may end
 * without its memory contexts being deleted.
 */
static VarvePublisher *running;

/* One did not end in time, and lives on with its memory. */
static bool abandoned;

static void
stop_at_exit(int code, Datum argument)
{
	if (running != NULL && !varve_publisher_stop(running, STOP_MS))
		abandoned = true;
	running = NULL;
	/* Beside a live thread no destructor of the process may run. Shared memory is released already.
	 */
	if (abandoned)
		_exit(code);
}

static void
stop_at_reset(void *argument)
{
	VarvePublish *publish = argument;

	if (publish->publisher != running)
		return;
	running = NULL;
	if (publish->publisher != NULL && !varve_publisher_stop(publish->publisher, STOP_MS))
		abandoned = true;
	else
		MemoryContextDelete(publish->memory);
}

static void
check_start(VarvePublisherStatus status)
{
	switch (status)
	{
		case VARVE_PUBLISHER_OK:
			return;
		case VARVE_PUBLISHER_NO_DESCRIPTORS:
			ereport(ERROR,
					(errcode(ERRCODE_INSUFFICIENT_RESOURCES),
					 errmsg("too few free file descriptors for transport \"zmq\""),
					 errhint("Raise the limit of open files (ulimit -n) of the server, or lower "
							 "max_files_per_process.")));
			break;
		case VARVE_PUBLISHER_NO_THREAD:
			ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_RESOURCES),
							errmsg("could not start a thread for transport \"zmq\"")));
			break;
		default:
			ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory"),
							errdetail("Failed while starting transport \"zmq\".")));
	}
}

static void
check_running(const VarvePublish *publish)
{
	int error_number;
	VarvePublisherStatus status = varve_publisher_status(publish->publisher, &error_number);

	if (likely(status == VARVE_PUBLISHER_OK))
		return;
	errno = error_number;
	if (status == VARVE_PUBLISHER_UNREACHABLE)
		ereport(ERROR, (errcode(ERRCODE_CONNECTION_FAILURE),
						errmsg("nobody takes the changes at varve.ingest_endpoint: %m"),
						errhint("Start varved, as a user whose socket the server may open.")));
	if (status == VARVE_PUBLISHER_TOO_LARGE)
		ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
						errmsg("a batch of changes does not fit into one message of %d bytes",
							   VARVE_MESSAGE_BYTES_MAX)));
	if (status == VARVE_PUBLISHER_OUT_OF_MEMORY)
		ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory"),
						errdetail("Failed while building a batch of changes.")));
	ereport(ERROR, (errcode(ERRCODE_CONNECTION_FAILURE), errmsg("transport \"zmq\" failed: %m")));
}

/* pg_logical_slot_peek_changes runs on a walsender's connection too, without this function. */
static void
require_replication(const LogicalDecodingContext *ctx)
{
	if (!am_walsender || ctx->update_progress == NULL)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("transport \"zmq\" works with START_REPLICATION only"),
						errhint("Use transport \"stream\".")));
}

VarvePublish *
varve_publish_prepare(VarveOutput *output)
{
	MemoryContext context = output->ctx->context;
	VarvePublish *publish = MemoryContextAllocZero(context, sizeof(VarvePublish));
	MemoryContextCallback *on_reset = MemoryContextAlloc(context, sizeof(MemoryContextCallback));

	require_replication(output->ctx);
	Assert(running == NULL);
	publish->memory =
		AllocSetContextCreate(TopMemoryContext, "varve published batches", ALLOCSET_DEFAULT_SIZES);
	on_reset->func = stop_at_reset;
	on_reset->arg = publish;
	MemoryContextRegisterResetCallback(context, on_reset);
	return publish;
}

MemoryContext
varve_publish_memory(const VarvePublish *publish)
{
	return publish->memory;
}

void
varve_publish_open(VarvePublish *publish, const VarvePublisherBody *bodies, int count)
{
	static bool registered = false;
	VarvePublisherOptions options = {0};

	options.path = varve_endpoint_path();
	options.bodies = bodies;
	options.body_count = count;
	options.queue_bytes = QUEUE_BYTES;
	options.coalesce_us = COALESCE_US;
	options.unreachable_ms = UNREACHABLE_MS;
	if (!registered)
		on_proc_exit(stop_at_exit, 0);
	registered = true;
	check_start(varve_publisher_start(&options, &running));
	publish->publisher = running;
}

/* Tells the client how many batches there are. That path reads its replies and sends keepalives
 * too. */
static void
write_marker(VarveOutput *output, const VarvePublish *publish)
{
	LogicalDecodingContext *ctx = output->ctx;
	uint64 numbers[3] = {pg_hton64(output->options.session_high),
						 pg_hton64(output->options.session_low), pg_hton64(publish->announced)};

	OutputPluginPrepareWrite(ctx, true);
	appendBinaryStringInfo(ctx->out, VARVE_MARKER_MAGIC, strlen(VARVE_MARKER_MAGIC));
	appendBinaryStringInfo(ctx->out, (char *)numbers, sizeof(numbers));
	OutputPluginWrite(ctx, true);
	output->unreported_changes = 0;
}

/*
 * A fast shutdown sends no signal to walsenders: they shall send what is left, and a client who has
 * stopped would hold it up (walsender.c, WalSndDone).
 */
static void
leave_when_server_stops(void)
{
	char line[64];
	FILE *file = AllocateFile("postmaster.pid", "r");

	if (file == NULL)
		return;
	for (int i = 1; i <= LOCK_FILE_LINE_PM_STATUS; i++)
	{
		if (fgets(line, sizeof(line), file) == NULL)
			line[0] = '\0';
	}
	FreeFile(file);
	if (strncmp(line, PM_STATUS_STOPPING, strlen(PM_STATUS_STOPPING)) == 0)
		ereport(FATAL, (errcode(ERRCODE_ADMIN_SHUTDOWN),
						errmsg("the server is shutting down and the reader of transport \"zmq\" "
							   "takes no changes")));
}

static void
drain(int fd)
{
	uint64 count;

	if (read(fd, &count, sizeof(count)) < 0)
		return;
}

static void
wait_for_room(VarveOutput *output, VarvePublish *publish)
{
	int fd = varve_publisher_room_fd(publish->publisher);
	TimestampTz last_marker = GetCurrentTimestamp();

	while (!varve_publisher_has_room(publish->publisher))
	{
		int events = WaitLatchOrSocket(
			MyLatch, WL_LATCH_SET | WL_SOCKET_READABLE | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, fd,
			SHUTDOWN_CHECK_MS, PG_WAIT_EXTENSION);
		TimestampTz now = GetCurrentTimestamp();
		bool marker_due;

		if (events & WL_LATCH_SET)
			ResetLatch(MyLatch);
		if (events & WL_SOCKET_READABLE)
			drain(fd);
		CHECK_FOR_INTERRUPTS();
		check_running(publish);
		marker_due = TimestampDifferenceExceeds(last_marker, now, MARKER_EVERY_MS);
		if (marker_due || (events & WL_TIMEOUT) != 0)
			leave_when_server_stops();
		if (marker_due)
		{
			write_marker(output, publish);
			last_marker = now;
		}
	}
	/* What the latch was set for may be somebody else's further up. */
	SetLatch(MyLatch);
}

bool
varve_publish_enter(VarveOutput *output, VarvePublish *publish, uint64 *sequence)
{
	check_running(publish);
	if (varve_publisher_enter(publish->publisher))
		return true;
	if (!varve_publisher_has_room(publish->publisher))
		wait_for_room(output, publish);
	*sequence = varve_publisher_next(publish->publisher);
	publish->announced = *sequence + 1;
	write_marker(output, publish);
	varve_publisher_open(publish->publisher);
	return false;
}

void
varve_publish_leave(VarvePublish *publish, bool close, Size bytes)
{
	(void)varve_publisher_leave(publish->publisher, close, bytes);
}
