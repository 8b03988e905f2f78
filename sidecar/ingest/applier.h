// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <thread>

#include "sidecar/base/bounded_queue.h"
#include "sidecar/base/mutex.h"
#include "sidecar/base/result.h"
#include "sidecar/bus/pull_socket.h"
#include "sidecar/history/history.h"
#include "sidecar/pg/connection.h"
#include "sidecar/wire/decoder.h"

namespace varve::ingest {

// One thing received, in order: a message of the plugin, or how far the server has come without one.
struct Received {
  pg::CopyBuffer buffer;     // transport stream
  bus::Frame frame;          // transport zmq
  std::string_view message;  // within one of them; empty for a keepalive
  base::Lsn keepalive_end;
};

struct ApplierOptions {
  uint64_t queue_bytes = 0;
  int sync_group_ms = 0;
  uint64_t sync_group_bytes = 0;
};

// Writes what one session received into the history, on a thread of its own: decodes, appends, and publishes
// whenever the queue is empty or a group is full. Borrows the history. Push, confirmed, failed, error and
// Stop are for the thread that receives.
class Applier {
 public:
  // `identity`: what the session's handshake must agree with. `wake` is called from the applier's thread when
  // the receiver has something to do: room in the queue it waited for, a position to confirm, a failure.
  Applier(const ApplierOptions& options, history::History* history, wire::SessionId session,
          history::Identity identity, std::function<void()> wake);
  ~Applier() { Stop(); }

  void Start();
  // False when the queue is full or the applier has failed; then `item` is untouched and wake follows.
  bool TryPush(Received* item);
  // Publishes what was appended, drops what was not, and joins the thread. Idempotent.
  void Stop();

  // Everything at or before it is durable.
  base::Lsn confirmed() const { return base::Lsn{confirmed_.load()}; }
  bool failed() const { return failed_; }
  // The error behind failed(), and whether it was the history that failed.
  base::Error error() const EXCLUDES(mutex_);
  bool history_failed() const EXCLUDES(mutex_);

 private:
  void Run();
  base::Status Apply(const Received& item);
  base::Status ApplyMessage(std::string_view message);
  base::Status CheckHandshake(const model::Handshake& handshake) const;
  bool ShouldPublish() const;
  int WaitMs() const;
  base::Status Publish();
  base::Status History(base::Status status) EXCLUDES(mutex_);
  void Fail(base::Error error) EXCLUDES(mutex_);

  const ApplierOptions options_;
  history::History* const history_;
  const history::Identity identity_;
  const std::function<void()> wake_;
  base::BoundedQueue<Received> queue_;
  std::thread thread_;

  // Applier's thread only.
  wire::Decoder decoder_;
  base::Position newest_;              // of the whole transactions and keepalives so far
  bool transactions_pending_ = false;  // a whole one is appended and not published
  bool advance_pending_ = false;
  uint64_t bytes_pending_ = 0;
  int64_t pending_since_ms_ = 0;
  int64_t last_publish_ms_ = 0;

  std::atomic<bool> stop_ = false;
  std::atomic<bool> failed_ = false;
  std::atomic<bool> receiver_waits_ = false;
  std::atomic<uint64_t> confirmed_ = 0;
  mutable base::Mutex mutex_;
  std::optional<base::Error> error_ GUARDED_BY(mutex_);
  bool history_failed_ GUARDED_BY(mutex_) = false;
};

}  // namespace varve::ingest
