// SPDX-License-Identifier: PostgreSQL
#include "sidecar/base/clock.h"

namespace varve::base {
namespace {

constexpr int64_t kUnixMicrosOfEpoch = 946'684'800'000'000;  // 2000-01-01

class SystemClock final : public Clock {
 public:
  Timestamp Now() const override {
    const auto unix_time = std::chrono::system_clock::now().time_since_epoch();
    return Timestamp{std::chrono::duration_cast<std::chrono::microseconds>(unix_time).count() -
                     kUnixMicrosOfEpoch};
  }
  std::chrono::steady_clock::time_point Steady() const override { return std::chrono::steady_clock::now(); }
};

}  // namespace

const Clock* Clock::System() {
  static const SystemClock clock;
  return &clock;
}

}  // namespace varve::base
