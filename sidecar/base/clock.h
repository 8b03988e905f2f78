// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <chrono>

#include "sidecar/base/ids.h"

namespace varve::base {

// Where time comes from, so that tests can set it. Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual Timestamp Now() const = 0;
  virtual std::chrono::steady_clock::time_point Steady() const = 0;

  // The machine's clock; lives for the whole process.
  static const Clock* System();
};

}  // namespace varve::base
