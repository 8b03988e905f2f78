// SPDX-License-Identifier: PostgreSQL
#include "sidecar/base/check.h"
#include "sidecar/history/history_impl.h"
#include "sidecar/history/step_reader.h"

namespace varve::history {

std::string_view ChangeKindName(ChangeKind kind) {
  switch (kind) {
    case ChangeKind::kInsert: return "insert";
    case ChangeKind::kUpdate: return "update";
    case ChangeKind::kDelete: return "delete";
    case ChangeKind::kTruncate: return "truncate";
    case ChangeKind::kMessage: return "message";
    case ChangeKind::kSchema: return "schema";
    case ChangeKind::kUnreadable: return "unreadable";
  }
  CHECK(false);
}

base::Status HistoryImpl::Show(base::Position position, const ChangeCallback& callback) const {
  ASSIGN_OR_RETURN(const TransactionInfo info, GetTransaction(position));
  const auto first = visibility_.first();
  if (info.point.position == first->position) return {};
  const auto snapshot = store_->TakeSnapshot();
  StepReader steps(store_.get(), snapshot.get(), &catalog_, *first);
  return steps.Walk(base::Position{position.value - 1}, position, std::nullopt, callback);
}

}  // namespace varve::history
