// SPDX-License-Identifier: PostgreSQL
#include "sidecar/http/monitor.h"

#include <algorithm>

namespace varve::http {
namespace {

constexpr std::chrono::seconds kRateWindow(10);
constexpr size_t kSamplesMax = 64;

uint64_t MissingBytes(const history::StoreStatus& store, const ingest::IngestStatus& ingest) {
  const uint64_t here = store.published_through.lsn().value;
  return ingest.server_lsn.value > here ? ingest.server_lsn.value - here : 0;
}

}  // namespace

void Monitor::Sample(const history::StoreStatus& store, const ingest::IngestStatus& ingest) {
  LagOf(store, ingest);
  const Counted now{clock_->Steady(), store.changes_applied, store.transactions_applied};
  base::MutexLock lock(&mutex_);
  // The counts begin again when the store was closed and opened.
  if (!counted_.empty() && counted_.back().changes > now.changes) counted_.clear();
  counted_.push_back(now);
  while (counted_.size() > kSamplesMax || counted_.front().when + kRateWindow < now.when) {
    counted_.pop_front();
  }
}

Lag Monitor::LagOf(const history::StoreStatus& store, const ingest::IngestStatus& ingest) {
  Lag lag;
  lag.bytes = MissingBytes(store, ingest);
  base::MutexLock lock(&mutex_);
  if (lag.bytes == 0 && ingest.server_lsn.value != 0)
    complete_at_ = std::max(complete_at_, ingest.server_time);
  if (lag.bytes == 0 && ingest.phase == ingest::Phase::kStreaming) return lag;
  const base::Timestamp seen = std::max(complete_at_, store.published.commit_time);
  lag.seconds = static_cast<double>(std::max<int64_t>(clock_->Now().micros - seen.micros, 0)) / 1e6;
  return lag;
}

Rates Monitor::GetRates() const {
  base::MutexLock lock(&mutex_);
  if (counted_.size() < 2) return {};
  const Counted& first = counted_.front();
  const Counted& last = counted_.back();
  const double seconds = std::chrono::duration<double>(last.when - first.when).count();
  if (seconds <= 0) return {};
  return Rates{static_cast<double>(last.changes - first.changes) / seconds,
               static_cast<double>(last.transactions - first.transactions) / seconds};
}

}  // namespace varve::http
