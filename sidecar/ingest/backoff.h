// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <cstdint>
#include <random>

namespace varve::ingest {

// How long to wait before the next attempt: 0.5 s, doubled each time up to 30 s, give or take a fifth so that
// many clients of one server do not come back together. One thread at a time.
class Backoff {
 public:
  static constexpr int kFirstMs = 500;
  static constexpr int kLastMs = 30'000;

  explicit Backoff(uint64_t seed) : random_(seed) {}

  int NextMs();
  // The next wait is the longest, as for trouble that only a person can end.
  int LongestMs();
  // After success: begins again with the shortest.
  void Reset() { next_ms_ = kFirstMs; }

 private:
  int Jitter(int wait_ms);

  std::mt19937_64 random_;
  int next_ms_ = kFirstMs;
};

}  // namespace varve::ingest
