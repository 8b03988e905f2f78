// SPDX-License-Identifier: PostgreSQL
#include <algorithm>

#include "sidecar/history/applier.h"
#include "sidecar/history/records.h"

namespace varve::history {

using base::Fail;
using base::Status;
using store::Family;

Status Applier::WritePending(store::Durability durability) {
  heads_.WriteTo(&pending_);
  const Status status = store_->Write(&pending_, durability);
  if (!status) {
    failed_ = status.error();
    return status;
  }
  pending_.Clear();
  pending_relations_.clear();
  return {};
}

// The synced write is also what makes the unsynced ones before it durable: they are in the same log.
Status Applier::Publish() {
  if (failed_) return Fail(*failed_);
  Published next = appended_;
  if (!open_ && !preparing_) next.through = std::max(next.through, advance_);
  if (next.through == published_.through) return {};
  pending_.Put(Family::kCatalog, store::CatalogKey(store::CatalogTag::kPublished), EncodePublished(next));
  for (const auto& [table, changes] : appended_changes_) {
    pending_.Put(Family::kCatalog, store::ChangesKey(table),
                 store::EncodeNumber(catalog_->Changes(table) + changes));
  }
  staging_.WriteEnds(&pending_);
  RETURN_IF_ERROR(WritePending(store::Durability::kSynced));
  staging_.Published();
  for (const auto& [table, changes] : appended_changes_) catalog_->AddChanges(table, changes);
  appended_changes_.clear();
  appended_ = next;
  published_ = next;
  visibility_->Set(next);
  return {};
}

Status Applier::Advance(base::Position through) {
  if (failed_) return Fail(*failed_);
  advance_ = std::max(advance_, through);
  return {};
}

Status Applier::BeginSession(base::FullXid xid_epoch_base) {
  if (const auto failure = store_->failure()) return Fail(*failure);
  open_.reset();
  preparing_ = false;
  pending_.Clear();
  lost_relations_.merge(pending_relations_);
  pending_relations_.clear();
  heads_.Clear();
  tables_.clear();
  appended_changes_.clear();
  appended_ = published_;
  advance_ = base::Position{};
  catalog_->DropAbove(published_.through);
  Status status = RollBack(store_, published_.through, first_.position);
  if (status) status = staging_.BeginSession();
  if (!status) {
    failed_ = status.error();
    return status;
  }
  failed_.reset();
  xid_near_ = xid_epoch_base;
  return {};
}

}  // namespace varve::history
