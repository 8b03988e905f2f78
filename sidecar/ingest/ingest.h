// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "sidecar/base/clock.h"
#include "sidecar/base/result.h"
#include "sidecar/history/history.h"
#include "sidecar/ingest/status.h"

namespace varve::ingest {

// How batches come: over the replication connection, over ZeroMQ where the server sends to our endpoint, or
// over ZeroMQ and else not at all.
enum class TransportChoice { kStream, kAuto, kZmq };

struct Options {
  std::string dsn;  // libpq connection string or URI of the database
  std::string publication = "varve";
  std::string slot = "varve";
  TransportChoice transport = TransportChoice::kAuto;
  std::string endpoint;                           // bus::CheckEndpoint; empty: there is none
  int copy_connections = 2;                       // of the first copy, 1 to 16
  uint64_t queue_bytes = uint64_t{64} << 20;      // received and not yet applied, at most
  int sync_group_ms = 50;                         // a steady stream is made durable at least this often
  uint64_t sync_group_bytes = uint64_t{8} << 20;  // and after this many bytes
  int connect_timeout_ms = 10'000;
  int slot_timeout_ms = 600'000;   // for slot creation to wait for running transactions; then it is cancelled
                                   // and tried again
  bool allow_synchronous = false;  // go on although synchronous_standby_names makes commits wait for us

  // Called once, from the ingest thread, when the history can no longer be written (kStoreFull, kInternal).
  // Ingest has then stopped by itself (phase kStopped, last_error set). The owner must destroy this Ingest,
  // close and reopen the history and create another; not from within the callback, which may only hand the
  // news on. Without a callback ingest tries again with backoff on the same history.
  std::function<void(const base::Error&)> on_store_failure;
};

// The client of the replication slot: makes the slot and the first copy when the history is new, then
// receives, appends, publishes and confirms, and connects again for ever. Owns its threads and connections;
// borrows the history (whose writing methods nobody else may call meanwhile) and the clock, which must
// outlive it. Thread-safe. Trouble never ends it before Stop: it shows in GetStatus with the remedy, and is
// tried again (0.5 s to 30 s apart).
class Ingest : public StatusSource {
 public:
  // Errors: kInvalidArgument naming the option and its range, or a DSN that libpq cannot read.
  static base::Result<std::unique_ptr<Ingest>> Create(Options options, history::History* history,
                                                      const base::Clock* clock);

  // Starts the threads and returns at once. Call once.
  virtual void Start() = 0;
  // Publishes what was appended, confirms it, closes the connections and joins the threads; takes at most a
  // few seconds. Idempotent; the destructor calls it.
  virtual void Stop() = 0;
};

}  // namespace varve::ingest
