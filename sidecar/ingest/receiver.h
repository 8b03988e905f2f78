// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <utility>

#include "sidecar/base/clock.h"
#include "sidecar/base/mutex.h"
#include "sidecar/base/result.h"
#include "sidecar/ingest/applier.h"
#include "sidecar/ingest/bus_feed.h"
#include "sidecar/ingest/status_board.h"
#include "sidecar/pg/connection.h"
#include "sidecar/pg/replication.h"

namespace varve::ingest {

// An eventfd: what wakes a poll. Wake is thread-safe.
class Waker {
 public:
  Waker();
  ~Waker();
  Waker(const Waker&) = delete;
  Waker& operator=(const Waker&) = delete;
  void Wake();
  void Clear();
  // Waits until Wake or for so long.
  void Wait(int timeout_ms);
  int fd() const { return fd_; }

 private:
  int fd_;
};

// The end of WAL as somebody else reads it from time to time. Thread-safe.
class WalEnd {
 public:
  // `asked_ms`: before the question was sent.
  void Set(base::Lsn end, int64_t asked_ms) EXCLUDES(mutex_) {
    base::MutexLock lock(&mutex_);
    value_ = {end, asked_ms};
  }
  std::pair<base::Lsn, int64_t> Get() const EXCLUDES(mutex_) {
    base::MutexLock lock(&mutex_);
    return value_;
  }

 private:
  mutable base::Mutex mutex_;
  std::pair<base::Lsn, int64_t> value_ GUARDED_BY(mutex_);
};

// Receives on a connection in COPY BOTH state, and with a bus the batches from there, and tells the server
// what is durable: on its own timer, at once when the server asks or something became durable, and whether or
// not the applier takes more. While the applier takes nothing, nothing is received from where batches come:
// the plugin's own queue fills. Borrows all that it is given. Ingest thread only.
class Receiver {
 public:
  struct Params {
    pg::Connection* connection = nullptr;
    Applier* applier = nullptr;
    StatusBoard* board = nullptr;
    Waker* waker = nullptr;
    const base::Clock* clock = nullptr;
    const std::atomic<bool>* stop = nullptr;
    // Set by others: the server is asked how far it has come.
    std::atomic<bool>* ask_server = nullptr;
    // transport zmq; else null.
    BusFeed* bus = nullptr;
    const WalEnd* wal_end = nullptr;
  };
  Receiver(const Params& params, base::Lsn start) : params_(params), received_(start) {}

  // Runs until *stop (no error) or an error of the connection, of a message or of the applier.
  base::Status Run();
  // After Run, with the applier stopped: the last word to the server, which it is waited for to hear.
  void Close();
  // It was the bus that failed: what came over it was not what was announced.
  bool bus_failed() const { return bus_failed_; }

 private:
  base::Status ReceiveCopy();
  base::Status Handle(pg::CopyBuffer buffer);
  base::Status HandleData(const pg::XLogData& data, pg::CopyBuffer buffer);
  void HandleKeepalive(const pg::Keepalive& keepalive);
  base::Status ReceiveBus();
  void Push(Received item);
  void CountBatch(size_t bytes);
  bool StatusDue() const;
  base::Status SendStatus(bool reply_requested);
  base::Status Wait(bool flushed);
  int WaitMs() const;

  const Params params_;
  base::Lsn received_;
  base::Lsn keepalive_seen_;
  std::optional<Received> held_;  // did not fit into the queue
  bool bus_failed_ = false;
  bool reply_due_ = false;
  base::Lsn sent_flush_;
  int64_t last_sent_ms_ = 0;
};

}  // namespace varve::ingest
