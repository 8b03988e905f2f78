// SPDX-License-Identifier: PostgreSQL
#include "sidecar/history/transaction_reader.h"

namespace varve::history {

using base::ErrorCode;
using base::Fail;
using base::Result;
using base::Status;
using store::Family;

namespace {

Result<TransactionEntry> EntryOf(const store::Iterator& it) {
  const auto position = store::ParsePositionKey(it.key());
  if (!position) return Fail(ErrorCode::kInternal, "the store holds a damaged transaction key");
  ASSIGN_OR_RETURN(store::TransactionRecord record, store::DecodeTransaction(it.value()));
  return TransactionEntry{*position, std::move(record)};
}

}  // namespace

Result<std::optional<TransactionEntry>> TransactionReader::At(base::Position position) const {
  ASSIGN_OR_RETURN(const auto value,
                   store_->Get(Family::kTransaction, store::PositionKey(position), snapshot_));
  if (!value) return std::optional<TransactionEntry>();
  ASSIGN_OR_RETURN(store::TransactionRecord record, store::DecodeTransaction(*value));
  return std::optional<TransactionEntry>(TransactionEntry{position, std::move(record)});
}

Result<std::optional<TransactionEntry>> TransactionReader::LastUpTo(base::Position position,
                                                                    const Filter& filter) const {
  std::optional<TransactionEntry> last;
  RETURN_IF_ERROR(
      Walk(base::Position{0}, position, false, [&](const TransactionEntry& entry) -> Result<bool> {
        if (!filter(entry)) return true;
        last = entry;
        return false;
      }));
  return last;
}

Status TransactionReader::Walk(base::Position from, base::Position to, bool oldest_first,
                               const Callback& callback) const {
  if (from >= to) return {};
  const std::string upper =
      to.value == UINT64_MAX ? std::string() : store::PositionKey(base::Position{to.value + 1});
  store::Iterator it = store_->NewIterator(
      Family::kTransaction, store::PositionKey(base::Position{from.value + 1}), upper, snapshot_);
  oldest_first ? it.SeekToFirst() : it.SeekToLast();
  for (; it.Valid(); oldest_first ? it.Next() : it.Prev()) {
    ASSIGN_OR_RETURN(const TransactionEntry entry, EntryOf(it));
    ASSIGN_OR_RETURN(const bool more, callback(entry));
    if (!more) return {};
  }
  return it.status();
}

}  // namespace varve::history
