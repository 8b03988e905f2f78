// SPDX-License-Identifier: PostgreSQL
#include <algorithm>

#include <fmt/format.h>

#include "sidecar/history/history_impl.h"
#include "sidecar/history/records.h"
#include "sidecar/history/transaction_reader.h"

namespace varve::history {

using base::ErrorCode;
using base::Fail;
using base::Result;
using base::Status;

Status HistoryImpl::Log(base::Position from, base::Position to, bool oldest_first,
                        const TransactionCallback& callback) const {
  ASSIGN_OR_RETURN(const Published published, visibility_.Get());
  const auto snapshot = store_->TakeSnapshot();
  const TransactionReader transactions(store_.get(), snapshot.get());
  return transactions.Walk(from, std::min(to, published.through), oldest_first,
                           [&](const TransactionEntry& entry) -> Result<bool> {
                             if (!entry.record.in_log) return true;
                             return callback(InfoOf(entry.position, entry.record));
                           });
}

Result<TransactionInfo> HistoryImpl::GetTransaction(base::Position position) const {
  RETURN_IF_ERROR(visibility_.CheckReadable(position));
  const auto first = visibility_.first();
  if (first && position == first->position) {
    TransactionInfo info;
    info.point = *first;
    return info;
  }
  const TransactionReader transactions(store_.get(), nullptr);
  ASSIGN_OR_RETURN(const auto entry, transactions.At(position));
  if (!entry) {
    return Fail(ErrorCode::kUnknownReference,
                fmt::format("no transaction ends at {}: see `varve log`", base::FormatPosition(position)));
  }
  return InfoOf(position, entry->record);
}

}  // namespace varve::history
