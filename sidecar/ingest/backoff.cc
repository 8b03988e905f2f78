// SPDX-License-Identifier: PostgreSQL
#include "sidecar/ingest/backoff.h"

#include <algorithm>

namespace varve::ingest {

int Backoff::NextMs() {
  const int wait_ms = next_ms_;
  next_ms_ = std::min(next_ms_ * 2, kLastMs);
  return Jitter(wait_ms);
}

int Backoff::LongestMs() { return Jitter(kLastMs); }

int Backoff::Jitter(int wait_ms) {
  const int spread = wait_ms / 5;
  return wait_ms + std::uniform_int_distribution<int>(-spread, spread)(random_);
}

}  // namespace varve::ingest
