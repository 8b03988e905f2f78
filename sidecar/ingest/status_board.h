// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <algorithm>
#include <string>
#include <utility>

#include "sidecar/base/mutex.h"
#include "sidecar/ingest/status.h"

namespace varve::ingest {

// The status that the threads of the slot client write and others read. Thread-safe.
class StatusBoard {
 public:
  IngestStatus Read() const EXCLUDES(mutex_) {
    base::MutexLock lock(&mutex_);
    return status_;
  }
  // `change` gets the status to edit; it must not block.
  template <typename Change>
  void Update(Change change) EXCLUDES(mutex_) {
    base::MutexLock lock(&mutex_);
    change(&status_);
  }

  void SetPhase(Phase phase) {
    Update([&](IngestStatus* status) { status->phase = phase; });
  }
  void SetTrouble(std::string message, std::string remedy) {
    Update([&](IngestStatus* status) {
      status->last_error = std::move(message);
      status->remedy = std::move(remedy);
    });
  }
  // The end of WAL as the server said it at `now`; goes up only.
  void SawServer(base::Lsn lsn, base::Timestamp now) {
    Update([&](IngestStatus* status) {
      status->server_lsn = std::max(status->server_lsn, lsn);
      status->server_time = std::max(status->server_time, now);
    });
  }

 private:
  mutable base::Mutex mutex_;
  IngestStatus status_ GUARDED_BY(mutex_);
};

}  // namespace varve::ingest
