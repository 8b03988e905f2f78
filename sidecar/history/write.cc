// SPDX-License-Identifier: PostgreSQL
#include <utility>

#include "sidecar/history/history_impl.h"
#include "sidecar/history/records.h"

namespace varve::history {

using base::ErrorCode;
using base::Fail;
using base::Status;
using store::Family;

Status HistoryImpl::BeginBaseline(const Identity& identity) {
  if (FindApplier() != nullptr) {
    return Fail(ErrorCode::kExists,
                "the first copy is complete already: detach and start again with an empty "
                "data directory to have another one");
  }
  {
    base::MutexLock lock(&mutex_);
    baseline_.reset();
    identity_.reset();
  }
  RETURN_IF_ERROR(ClearBaseline(store_.get()));
  // Durable before the slot is made: the slot that a killed first copy leaves is then known to be ours.
  RETURN_IF_ERROR(store_->Put(Family::kCatalog, store::CatalogKey(store::CatalogTag::kIdentity),
                              EncodeIdentity(identity), store::Durability::kSynced));
  base::MutexLock lock(&mutex_);
  baseline_ = std::make_shared<Baseline>(store_.get(), identity);
  identity_ = identity;
  return {};
}

Status HistoryImpl::AddBaselineTable(const model::Relation& relation) {
  ASSIGN_OR_RETURN(const auto baseline, BaselineInProgress());
  return baseline->AddTable(relation);
}

Status HistoryImpl::AddBaselineRow(base::TableOid table, std::string_view image) {
  ASSIGN_OR_RETURN(const auto baseline, BaselineInProgress());
  return baseline->AddRow(table, image);
}

Status HistoryImpl::ExcludeBaselineTable(base::TableOid table, std::string reason) {
  ASSIGN_OR_RETURN(const auto baseline, BaselineInProgress());
  return baseline->Exclude(table, std::move(reason));
}

Status HistoryImpl::FinishBaseline(base::Position consistent_point, base::Timestamp time) {
  ASSIGN_OR_RETURN(const auto baseline, BaselineInProgress());
  const ReadPoint first{consistent_point, time, std::nullopt};
  RETURN_IF_ERROR(baseline->Finish(first));
  RETURN_IF_ERROR(catalog_.Load(*store_));
  StartApplier(first, Published{consistent_point, first, time});
  return {};
}

Status HistoryImpl::BeginSession(base::FullXid xid_epoch_base) {
  ASSIGN_OR_RETURN(const auto applier, ApplierInProgress());
  return applier->BeginSession(xid_epoch_base);
}

Status HistoryImpl::Append(const model::Batch& batch) {
  ASSIGN_OR_RETURN(const auto applier, ApplierInProgress());
  return applier->Append(batch);
}

Status HistoryImpl::Publish() {
  ASSIGN_OR_RETURN(const auto applier, ApplierInProgress());
  return applier->Publish();
}

Status HistoryImpl::Advance(base::Position through) {
  ASSIGN_OR_RETURN(const auto applier, ApplierInProgress());
  return applier->Advance(through);
}

}  // namespace varve::history
