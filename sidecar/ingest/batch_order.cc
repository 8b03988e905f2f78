// SPDX-License-Identifier: PostgreSQL
#include "sidecar/ingest/batch_order.h"

#include <fmt/format.h>

namespace varve::ingest {
namespace {

using base::ErrorCode;
using base::Fail;

// Checks follow each other within a second; after a longer pause we were the ones that were late.
constexpr int64_t kPauseMs = 2'000;
constexpr int64_t kLateMs = 1'000;

}  // namespace

base::Status BatchOrder::Announce(uint64_t count) {
  if (count < announced_) {
    return Fail(
        ErrorCode::kInvalidArgument,
        fmt::format("a marker announces {} batches where {} were announced before", count, announced_));
  }
  announced_ = count;
  return {};
}

base::Result<bool> BatchOrder::Arrive(const wire::Head& head) {
  if (head.session != session_) return false;
  if (head.sequence != arrived_) {
    return Fail(ErrorCode::kUnavailable,
                fmt::format("batch {} came over the bus where {} was expected: batches are {}", head.sequence,
                            arrived_, head.sequence > arrived_ ? "missing" : "repeated"));
  }
  ++arrived_;
  HoldUp();
  return true;
}

void BatchOrder::Keepalive(base::Lsn position) {
  // Of several with the same batches before them the last one says it all.
  if (!waiting_.empty() && waiting_.back().second == announced_) {
    waiting_.back().first = position;
  } else {
    waiting_.emplace_back(position, announced_);
  }
}

std::optional<base::Lsn> BatchOrder::NextPosition() {
  std::optional<base::Lsn> position;
  while (!waiting_.empty() && waiting_.front().second <= arrived_) {
    position = waiting_.front().first;
    waiting_.pop_front();
  }
  return position;
}

void BatchOrder::SawWalEnd(base::Lsn end, int64_t asked_ms) {
  if (missing_since_ms_ && wal_end_.value == 0 && asked_ms >= *missing_since_ms_) wal_end_ = end;
}

void BatchOrder::SawKeepalive(base::Lsn position) {
  if (missing_since_ms_ && wal_end_.value != 0 && position >= wal_end_) let_go_ = true;
}

base::Status BatchOrder::CheckMissing(int64_t now_ms) {
  const bool paused = now_ms - last_check_ms_ > kPauseMs;
  last_check_ms_ = now_ms;
  if (!missing()) {
    missing_since_ms_.reset();
    return {};
  }
  if (!missing_since_ms_ || paused) {
    missing_since_ms_ = now_ms;
    wal_end_ = {};
    let_go_ = false;
  }
  if (!let_go_ || now_ms - *missing_since_ms_ < kMissingMs) return {};
  return Fail(ErrorCode::kUnavailable,
              fmt::format("batch {} was announced and has not come over the bus within {} s", arrived_,
                          kMissingMs / 1000));
}

bool BatchOrder::Late(int64_t now_ms) const {
  return missing_since_ms_ && now_ms - *missing_since_ms_ >= kLateMs;
}

}  // namespace varve::ingest
