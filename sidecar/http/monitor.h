// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>

#include "sidecar/base/clock.h"
#include "sidecar/base/mutex.h"
#include "sidecar/history/history.h"
#include "sidecar/ingest/status.h"

namespace varve::http {

// How far what readers see is behind the server.
struct Lag {
  uint64_t bytes = 0;  // of WAL, as the server last said its end
  double seconds = 0;  // age of the last moment at which nothing was missing
};

struct Rates {
  double changes_per_second = 0;
  double transactions_per_second = 0;
};

// Remembers when readers last saw all that the server had, and how fast changes arrive. Thread-safe.
class Monitor {
 public:
  explicit Monitor(const base::Clock* clock) : clock_(clock) {}
  Monitor(const Monitor&) = delete;
  Monitor& operator=(const Monitor&) = delete;

  // Called about twice a second.
  void Sample(const history::StoreStatus& store, const ingest::IngestStatus& ingest) EXCLUDES(mutex_);
  // An idle and connected server that has sent all it has is 0 seconds behind, whatever the time of its last
  // commit.
  Lag LagOf(const history::StoreStatus& store, const ingest::IngestStatus& ingest) EXCLUDES(mutex_);
  // Over the last ten seconds.
  Rates GetRates() const EXCLUDES(mutex_);

 private:
  struct Counted {
    std::chrono::steady_clock::time_point when;
    uint64_t changes = 0;
    uint64_t transactions = 0;
  };

  const base::Clock* const clock_;
  mutable base::Mutex mutex_;
  base::Timestamp complete_at_ GUARDED_BY(mutex_) = {INT64_MIN};
  std::deque<Counted> counted_ GUARDED_BY(mutex_);
};

}  // namespace varve::http
