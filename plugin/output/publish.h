/* SPDX-License-Identifier: PostgreSQL */
/*
 * transport=zmq, the walsender's side: batches are opened and filled here, wire/publisher closes
 * and sends them. Before the first change is put into a batch, a marker in the COPY stream
 * announces it: schemas/README.md.
 */
#pragma once

#include "postgres.h"

#include "plugin/output/output.h"
#include "plugin/wire/publisher.h"

typedef struct VarvePublish VarvePublish;

/*
 * What will end the thread with ctx->context or with the process. ERRORs unless START_REPLICATION
 * runs the plugin: peeking must not publish.
 */
extern VarvePublish *varve_publish_prepare(VarveOutput *output);

/* All that the thread reads belongs there: it goes when the thread has ended, and only then. */
extern MemoryContext varve_publish_memory(const VarvePublish *publish);

/* Connects and starts the thread. */
extern void varve_publish_open(VarvePublish *publish, const VarvePublisherBody *bodies, int count);

/*
 * Goes on with the open batch. False when there is none any more: then a new one is open,
 * announced, and *sequence is its number. Waits while the queue is full: serves interrupts, keeps
 * the client's connection alive, ends when the server shuts down. ERRORs when the batches cannot be
 * sent.
 */
extern bool varve_publish_enter(VarveOutput *output, VarvePublish *publish, uint64 *sequence);

/* Lets go of the batch of about `bytes`; with `close` it is sent at once, else within a
 * millisecond. */
extern void varve_publish_leave(VarvePublish *publish, bool close, Size bytes);
