// SPDX-License-Identifier: PostgreSQL
#include "sidecar/history/history_impl.h"

namespace varve::history {

using base::Result;

StoreStatus HistoryImpl::GetStatus() const {
  StoreStatus status;
  const auto first = visibility_.first();
  const auto published = visibility_.Get();
  if (first && published) {
    status.baseline_complete = true;
    status.first = *first;
    status.published = published->last;
    status.published_through = published->through;
  }
  status.store_bytes = store_->Bytes();
  if (const auto applier = FindApplier()) {
    status.changes_applied = applier->changes_applied();
    status.transactions_applied = applier->transactions_applied();
    status.prepared = applier->Prepared();
  }
  return status;
}

std::optional<Identity> HistoryImpl::GetIdentity() const {
  base::MutexLock lock(&mutex_);
  return identity_;
}

std::vector<TableInfo> HistoryImpl::Tables() const {
  if (const auto baseline = FindBaseline()) return baseline->Tables();
  const auto first = visibility_.first();
  const auto published = visibility_.Get();
  if (!first || !published) return {};
  return catalog_.Tables(first->position, published->through);
}

Result<base::TableOid> HistoryImpl::FindTable(std::string_view name) const {
  ASSIGN_OR_RETURN(const Published published, visibility_.Get());
  return catalog_.FindTable(name, published.through);
}

Result<std::shared_ptr<const model::Relation>> HistoryImpl::RelationAt(base::TableOid table,
                                                                       base::Position position) const {
  RETURN_IF_ERROR(visibility_.CheckReadable(position));
  ASSIGN_OR_RETURN(const TableView view, catalog_.ViewAt(table, position));
  return view.relation;
}

base::Status HistoryImpl::WaitFor(base::Position position, std::chrono::milliseconds timeout) const {
  return visibility_.WaitFor(position, timeout);
}

}  // namespace varve::history
