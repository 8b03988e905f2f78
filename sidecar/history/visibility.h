// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <atomic>
#include <chrono>
#include <optional>

#include "sidecar/base/ids.h"
#include "sidecar/base/mutex.h"
#include "sidecar/base/result.h"
#include "sidecar/history/history.h"

namespace varve::history {

// What readers see.
struct Published {
  base::Position through;       // everything at or before it is here
  ReadPoint last;               // the newest transaction at or before it
  base::Timestamp running_max;  // the greatest commit time up to `last`
};

// The one number that decides what readers see, and those who wait for it. Thread-safe.
class Visibility {
 public:
  // Nothing until the first copy is complete.
  void Start(const ReadPoint& first, const Published& published) EXCLUDES(mutex_);
  void Reset() EXCLUDES(mutex_);
  void Set(const Published& published) EXCLUDES(mutex_);

  bool readable() const EXCLUDES(mutex_);
  std::optional<ReadPoint> first() const EXCLUDES(mutex_);
  // Errors: kUnavailable until the first copy is complete.
  base::Result<Published> Get() const EXCLUDES(mutex_);
  // Errors: kBehind after the timeout.
  base::Status WaitFor(base::Position position, std::chrono::milliseconds timeout) const EXCLUDES(mutex_);
  // Errors: kUnavailable, kBeforeHistory, kBehind.
  base::Status CheckReadable(base::Position position) const EXCLUDES(mutex_);

 private:
  mutable base::Mutex mutex_;
  mutable base::CondVar moved_;
  std::optional<ReadPoint> first_ GUARDED_BY(mutex_);
  Published published_ GUARDED_BY(mutex_);
};

}  // namespace varve::history
