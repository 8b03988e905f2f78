// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <chrono>
#include <cstdint>

namespace varve::pg {

// Milliseconds of the steady clock, for deadlines.
inline int64_t NowMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace varve::pg
