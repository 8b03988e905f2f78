// SPDX-License-Identifier: PostgreSQL
// Batches over ZeroMQ. The walsender fills a batch, a thread of the publisher closes and sends it. Nothing
// behind this header calls the server, blocks the caller, or lets an exception leave.
#pragma once

#include "plugin/wire/wire.h"

#ifdef __cplusplus
extern "C" {
#endif

// What batch number n is made of lies in body n % body_count. Whose turn it is to touch a body: the
// walsender's from varve_publisher_open to varve_publisher_leave and between enter and leave; else the
// thread's, until it has sent the batch.
typedef struct VarvePublisherBody {
  VarveWire* wire;
  const VarveBatchParts* parts;  // filled before each varve_publisher_leave
} VarvePublisherBody;

typedef struct VarvePublisherOptions {
  const char* path;  // of the Unix socket that the reader's PULL socket is bound to; below 108 bytes
  const VarvePublisherBody* bodies;
  size_t body_count;
  uint64_t queue_bytes;     // with more waiting no batch is opened
  uint32_t coalesce_us;     // how long a batch stays open for more transactions
  uint32_t unreachable_ms;  // nothing could be sent for so long, and a connection is refused: a failure
} VarvePublisherOptions;

typedef enum VarvePublisherStatus {
  VARVE_PUBLISHER_OK,
  VARVE_PUBLISHER_OUT_OF_MEMORY,
  VARVE_PUBLISHER_NO_DESCRIPTORS,  // ZeroMQ ends the process when it gets none
  VARVE_PUBLISHER_NO_THREAD,
  VARVE_PUBLISHER_TOO_LARGE,  // a batch does not fit into a message
  VARVE_PUBLISHER_UNREACHABLE,
  VARVE_PUBLISHER_BROKEN  // ZeroMQ failed otherwise
} VarvePublisherStatus;

typedef struct VarvePublisher VarvePublisher;

// Starts the thread, with all signals blocked in it and in those of ZeroMQ. The options are copied, what they
// point to must stay until varve_publisher_stop.
VarvePublisherStatus varve_publisher_start(const VarvePublisherOptions* options,
                                           VarvePublisher** publisher) VARVE_NOEXCEPT;

// Ends the thread; what was not sent is dropped. False when it did not end in time: then nothing is freed,
// and what the bodies point to must stay.
bool varve_publisher_stop(VarvePublisher* publisher, uint32_t timeout_ms) VARVE_NOEXCEPT;

// How far the thread has come to grief; *error_number is an errno, for UNREACHABLE and BROKEN.
VarvePublisherStatus varve_publisher_status(const VarvePublisher* publisher,
                                            int* error_number) VARVE_NOEXCEPT;

// Whether a batch may be opened. When not, varve_publisher_room_fd becomes readable as soon as it may be
// otherwise; the caller reads it empty.
bool varve_publisher_has_room(VarvePublisher* publisher) VARVE_NOEXCEPT;
int varve_publisher_room_fd(const VarvePublisher* publisher) VARVE_NOEXCEPT;

// Number of the next batch to open: how many were closed. REQUIRES: none is open.
uint64_t varve_publisher_next(const VarvePublisher* publisher) VARVE_NOEXCEPT;

// Opens the next batch. REQUIRES: none is open, and there is room.
void varve_publisher_open(VarvePublisher* publisher) VARVE_NOEXCEPT;

// Goes on with the batch that is open. False when there is none: the thread has closed it meanwhile.
bool varve_publisher_enter(VarvePublisher* publisher) VARVE_NOEXCEPT;

// Lets go of the open batch: closes it when asked to, or when the thread waits for that; else it stays open
// for the next transaction, or until the thread closes it. `bytes`: about how large it is. True when it was
// closed.
bool varve_publisher_leave(VarvePublisher* publisher, bool close, uint64_t bytes) VARVE_NOEXCEPT;

#ifdef __cplusplus
}
#endif
