// SPDX-License-Identifier: PostgreSQL
#include <utility>

#include <fmt/format.h>

#include "sidecar/history/history_impl.h"
#include "sidecar/history/records.h"
#include "sidecar/store/record_format.h"

namespace varve::history {

using base::ErrorCode;
using base::Fail;
using base::Result;
using base::Status;
using store::CatalogTag;
using store::Family;

namespace {

// Another layout is refused: there is no migration before 1.0.
Status CheckVersion(store::Store* store) {
  const std::string key = store::CatalogKey(CatalogTag::kStoreVersion);
  ASSIGN_OR_RETURN(const auto value, store->Get(Family::kCatalog, key));
  if (value) {
    ASSIGN_OR_RETURN(const uint64_t version, store::DecodeNumber(*value));
    if (version == store::kStoreVersion) return {};
    return Fail(
        ErrorCode::kInvalidArgument,
        fmt::format("the store has version {}, this varved reads version {}: use the varved that wrote "
                    "it, or detach and start again with an empty data directory",
                    version, store::kStoreVersion));
  }
  store::Iterator anything = store->NewIterator(Family::kCatalog, "", "");
  anything.SeekToFirst();
  RETURN_IF_ERROR(anything.status());
  if (anything.Valid()) {
    return Fail(ErrorCode::kInvalidArgument, "the data directory holds a database that is not a Varve store");
  }
  return store->Put(Family::kCatalog, key, store::EncodeNumber(store::kStoreVersion),
                    store::Durability::kSynced);
}

}  // namespace

Result<std::unique_ptr<History>> History::Open(const Options& options, const base::Clock* clock) {
  store::Options store_options;
  store_options.directory = options.data_dir + "/store";
  store_options.memory_bytes = options.memory_bytes;
  ASSIGN_OR_RETURN(auto store, store::Store::Open(store_options));
  RETURN_IF_ERROR(CheckVersion(store.get()));
  auto history = std::make_unique<HistoryImpl>(std::move(store), options, clock);
  RETURN_IF_ERROR(history->Load());
  return std::unique_ptr<History>(std::move(history));
}

Status HistoryImpl::Load() {
  ASSIGN_OR_RETURN(const auto mark, store_->Get(Family::kCatalog, store::CatalogKey(CatalogTag::kBaseline)));
  if (!mark) return LoadUnfinished();
  ASSIGN_OR_RETURN(const store::ReadPointRecord first, store::DecodeReadPoint(*mark));
  ASSIGN_OR_RETURN(const auto published_bytes,
                   store_->Get(Family::kCatalog, store::CatalogKey(CatalogTag::kPublished)));
  ASSIGN_OR_RETURN(const auto identity_bytes,
                   store_->Get(Family::kCatalog, store::CatalogKey(CatalogTag::kIdentity)));
  if (!published_bytes || !identity_bytes) {
    return Fail(ErrorCode::kInternal, "the store lacks its published position or its identity");
  }
  ASSIGN_OR_RETURN(const Published published, DecodePublished(*published_bytes));
  ASSIGN_OR_RETURN(Identity identity, DecodeIdentity(*identity_bytes));
  RETURN_IF_ERROR(RollBack(store_.get(), published.through, first.position));
  store::Iterator staged = store_->NewIterator(Family::kStaging, "", "");
  staged.SeekToFirst();
  RETURN_IF_ERROR(staged.status());
  const bool left_over = staged.Valid();
  { const store::Iterator closed = std::move(staged); }
  if (left_over) RETURN_IF_ERROR(store_->Clear(Family::kStaging));
  RETURN_IF_ERROR(catalog_.Load(*store_));
  RETURN_IF_ERROR(LoadTags());
  {
    base::MutexLock lock(&mutex_);
    identity_ = std::move(identity);
  }
  StartApplier(PointOf(first), published);
  return FindApplier()->LoadStaged();
}

// Of a first copy that was not completed only the identity is of use: it tells whose slot was made.
Status HistoryImpl::LoadUnfinished() {
  RETURN_IF_ERROR(ClearBaseline(store_.get()));
  ASSIGN_OR_RETURN(const auto bytes, store_->Get(Family::kCatalog, store::CatalogKey(CatalogTag::kIdentity)));
  if (!bytes) return {};
  ASSIGN_OR_RETURN(Identity identity, DecodeIdentity(*bytes));
  base::MutexLock lock(&mutex_);
  identity_ = std::move(identity);
  return {};
}

void HistoryImpl::StartApplier(const ReadPoint& first, const Published& published) {
  auto applier = std::make_shared<Applier>(store_.get(), &catalog_, &visibility_, first, published,
                                           options_.pending_bytes_max, options_.head_cache_bytes_max);
  {
    base::MutexLock lock(&mutex_);
    applier_ = std::move(applier);
    baseline_.reset();
  }
  visibility_.Start(first, published);
}

std::shared_ptr<Baseline> HistoryImpl::FindBaseline() const {
  base::MutexLock lock(&mutex_);
  return baseline_;
}

std::shared_ptr<Applier> HistoryImpl::FindApplier() const {
  base::MutexLock lock(&mutex_);
  return applier_;
}

Result<std::shared_ptr<Baseline>> HistoryImpl::BaselineInProgress() const {
  auto baseline = FindBaseline();
  if (baseline == nullptr) return Fail(ErrorCode::kInvalidArgument, "no first copy is running");
  return baseline;
}

Result<std::shared_ptr<Applier>> HistoryImpl::ApplierInProgress() const {
  auto applier = FindApplier();
  if (applier == nullptr) return Fail(ErrorCode::kUnavailable, "the first copy is not complete");
  return applier;
}

}  // namespace varve::history
