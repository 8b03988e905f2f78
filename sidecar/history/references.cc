// SPDX-License-Identifier: PostgreSQL
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "sidecar/history/history_impl.h"
#include "sidecar/history/records.h"
#include "sidecar/history/transaction_reader.h"

namespace varve::history {

using base::ErrorCode;
using base::Fail;
using base::Result;
using store::Family;

namespace {

// Turns references into read points under one snapshot.
class Resolver {
 public:
  Resolver(const store::Store* store, const store::Snapshot* snapshot, const ReadPoint& first,
           const Published& published, base::Timestamp now, const std::string& text)
      : store_(store),
        transactions_(store, snapshot),
        snapshot_(snapshot),
        first_(first),
        published_(published),
        now_(now),
        text_(text) {}

  Result<ReadPoint> operator()(const model::NowReference&) const { return published_.last; }
  Result<ReadPoint> operator()(const model::FirstReference&) const { return first_; }
  Result<ReadPoint> operator()(const model::BranchReference& branch) const {
    return Fail(ErrorCode::kUnknownReference, fmt::format("there is no branch {}", branch.name));
  }
  Result<ReadPoint> operator()(const model::TagReference& tag) const {
    return Fail(ErrorCode::kUnknownReference,
                fmt::format("there is no tag {}: see `varve tag list`", tag.name));
  }
  Result<ReadPoint> operator()(const model::LsnReference& reference) const;
  Result<ReadPoint> operator()(const model::TimeReference& reference) const;
  Result<ReadPoint> operator()(const model::XidReference& reference) const;
  Result<ReadPoint> StepBack(const ReadPoint& from, uint32_t steps) const;

 private:
  tl::unexpected<base::Error> BeforeHistory() const {
    return Fail(ErrorCode::kBeforeHistory, fmt::format("{} is before the history, which begins at {} ({})",
                                                       text_, base::FormatPosition(first_.position),
                                                       base::FormatTimestamp(first_.commit_time)));
  }
  // What the log does not list changes no state and is no place to be at.
  Result<ReadPoint> LastTransaction(base::Position position) const {
    ASSIGN_OR_RETURN(const auto entry,
                     transactions_.LastUpTo(position, [](const TransactionEntry& candidate) {
                       return candidate.record.in_log;
                     }));
    if (!entry) return first_;
    return PointOf(entry->position, entry->record);
  }

  const store::Store* store_;
  TransactionReader transactions_;
  const store::Snapshot* snapshot_;
  const ReadPoint first_;
  const Published published_;
  const base::Timestamp now_;
  const std::string& text_;
};

Result<ReadPoint> Resolver::operator()(const model::LsnReference& reference) const {
  const uint8_t present_era = published_.through.era();
  if (reference.era && *reference.era > present_era) {
    return Fail(ErrorCode::kUnknownReference, fmt::format("{}: there is no era {}, the present one is {}",
                                                          text_, *reference.era, present_era));
  }
  if (reference.lsn.value > base::Position::kLsnMask) {
    return Fail(ErrorCode::kInvalidArgument, fmt::format("{} is beyond every WAL position", text_));
  }
  const base::Position position = base::Position::Make(reference.era.value_or(present_era), reference.lsn);
  if (position < first_.position) return BeforeHistory();
  if (position > published_.through) {
    return Fail(ErrorCode::kBehind, fmt::format("{} is not here yet: the history reaches {}", text_,
                                                base::FormatPosition(published_.through)));
  }
  return LastTransaction(position);
}

// The time index is in order of the greatest commit time so far, so the last entry at or before the time is
// the end of the longest prefix of history that lies before it.
Result<ReadPoint> Resolver::operator()(const model::TimeReference& reference) const {
  if (reference.time > now_) {
    return Fail(ErrorCode::kInTheFuture,
                fmt::format("{} is in the future: it is {}", text_, base::FormatTimestamp(now_)));
  }
  if (reference.time < first_.commit_time) return BeforeHistory();
  store::Iterator it = store_->NewIterator(Family::kTimeIndex, "", "", snapshot_);
  it.SeekForPrev(store::TimeKey(reference.time, published_.through));
  // An entry above the published position has a running maximum at or above all published ones.
  for (; it.Valid(); it.Prev()) {
    const auto position = store::TimeKeyPosition(it.key());
    if (!position) return Fail(ErrorCode::kInternal, "the store holds a damaged time index");
    if (*position > published_.through) continue;
    ASSIGN_OR_RETURN(const auto entry, transactions_.At(*position));
    if (!entry) return Fail(ErrorCode::kInternal, "the time index names a transaction that is not there");
    return PointOf(entry->position, entry->record);
  }
  RETURN_IF_ERROR(it.status());
  return first_;
}

Result<ReadPoint> Resolver::operator()(const model::XidReference& reference) const {
  const std::string prefix = store::XidPrefix(reference.xid);
  store::Iterator it = store_->NewIterator(Family::kXidIndex, prefix, store::PrefixEnd(prefix), snapshot_);
  for (it.SeekToLast(); it.Valid(); it.Prev()) {
    const auto entry = store::ParseXidKey(it.key());
    if (!entry) return Fail(ErrorCode::kInternal, "the store holds a damaged xid index");
    if (entry->position > published_.through) continue;
    if (reference.epoch && entry->xid.epoch() != *reference.epoch) continue;
    ASSIGN_OR_RETURN(const auto transaction, transactions_.At(entry->position));
    if (!transaction)
      return Fail(ErrorCode::kInternal, "the xid index names a transaction that is not there");
    return PointOf(transaction->position, transaction->record);
  }
  RETURN_IF_ERROR(it.status());
  return Fail(ErrorCode::kUnknownReference,
              fmt::format("{} is not known here: it is before the first copy, touched no tracked table, was "
                          "rolled back, or has not arrived yet (see `varve log`)",
                          text_));
}

// A step leads over one entry of `varve log`, to the one before it.
Result<ReadPoint> Resolver::StepBack(const ReadPoint& from, uint32_t steps) const {
  if (from.position == first_.position) return BeforeHistory();
  uint32_t left = steps;
  std::optional<ReadPoint> found;
  RETURN_IF_ERROR(transactions_.Walk(first_.position, base::Position{from.position.value - 1}, false,
                                     [&](const TransactionEntry& entry) -> Result<bool> {
                                       if (!entry.record.in_log || --left != 0) return true;
                                       found = PointOf(entry.position, entry.record);
                                       return false;
                                     }));
  if (found) return *found;
  // The first copy is the stop before the first transaction.
  if (left == 1) return first_;
  return BeforeHistory();
}

}  // namespace

Result<ReadPoint> HistoryImpl::Resolve(const model::Reference& reference,
                                       std::optional<base::TableOid> table) const {
  ASSIGN_OR_RETURN(const Published published, visibility_.Get());
  if (table && !catalog_.HasTable(*table)) {
    return Fail(ErrorCode::kNotTracked, fmt::format("table {} is not tracked", table->value));
  }
  const auto snapshot = store_->TakeSnapshot();
  // Every table is complete from the first copy on, so `first` is the same with and without one.
  const Resolver resolver(store_.get(), snapshot.get(), *visibility_.first(), published, clock_->Now(),
                          reference.text);
  std::optional<ReadPoint> base;
  if (const auto* tag = std::get_if<model::TagReference>(&reference.base)) {
    base::MutexLock lock(&mutex_);
    const auto found = tags_.find(tag->name);
    if (found != tags_.end()) base = found->second;
  }
  if (!base) {
    ASSIGN_OR_RETURN(base, std::visit(resolver, reference.base));
  }
  if (reference.back == 0) return *base;
  return resolver.StepBack(*base, reference.back);
}

}  // namespace varve::history
