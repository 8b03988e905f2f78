// SPDX-License-Identifier: PostgreSQL
#include "sidecar/history/head_cache.h"

#include <algorithm>
#include <utility>

#include "sidecar/base/check.h"

namespace varve::history {

using base::Result;
using base::Status;
using store::Family;

namespace {

constexpr size_t kEntryBytes = 128;  // of a map node beside its strings

}  // namespace

HeadCache::HeadCache(const store::Store* store, base::Position first, size_t bytes_max)
    : store_(store), first_(first), bytes_max_(bytes_max), keyframe_(store, first) {}

HeadCache::Head* HeadCache::Insert(std::string_view row_key, std::string record) {
  bytes_ += kEntryBytes + row_key.size() + record.size();
  return &heads_.emplace(std::string(row_key), Head{std::move(record), false}).first->second;
}

Result<std::string> HeadCache::FromKeyframe(std::string_view row_key) {
  const auto table = store::RowKeyTable(row_key);
  CHECK(table.has_value());
  ASSIGN_OR_RETURN(const auto row, keyframe_.Find(*table, store::RowKeyBytes(row_key)));
  if (!row) return std::string();
  store::VersionRecord record;
  record.start.position = first_;
  record.version = row->version;
  record.image = row->image;
  return store::EncodeVersion(record);
}

Status HeadCache::Prefetch(const std::vector<std::string_view>& row_keys) {
  std::vector<std::string_view> missing;
  for (const std::string_view row_key : row_keys) {
    if (heads_.find(row_key) == heads_.end()) missing.push_back(row_key);
  }
  std::sort(missing.begin(), missing.end());
  missing.erase(std::unique(missing.begin(), missing.end()), missing.end());
  if (missing.empty()) return {};
  ASSIGN_OR_RETURN(auto stored, store_->MultiGet(Family::kHead, missing));
  for (size_t i = 0; i < missing.size(); ++i) {
    if (stored[i]) {
      Insert(missing[i], std::move(*stored[i]));
    } else {
      ASSIGN_OR_RETURN(std::string record, FromKeyframe(missing[i]));
      Insert(missing[i], std::move(record));
    }
  }
  return {};
}

Result<HeadCache::Head*> HeadCache::Find(std::string_view row_key) {
  const auto found = heads_.find(row_key);
  if (found != heads_.end()) return &found->second;
  ASSIGN_OR_RETURN(auto stored, store_->Get(Family::kHead, row_key));
  if (stored) return Insert(row_key, std::move(*stored));
  ASSIGN_OR_RETURN(std::string record, FromKeyframe(row_key));
  return Insert(row_key, std::move(record));
}

void HeadCache::Set(Head* head, std::string_view row_key, std::string record) {
  bytes_ += record.size();
  bytes_ -= std::min(bytes_, head->record.size());
  dirty_bytes_ += record.size();
  head->record = std::move(record);
  if (head->dirty) return;
  head->dirty = true;
  const auto found = heads_.find(row_key);
  CHECK(found != heads_.end() && &found->second == head);
  dirty_.push_back(&*found);
  dirty_bytes_ += row_key.size();
}

void HeadCache::WriteTo(store::Batch* batch) {
  std::sort(dirty_.begin(), dirty_.end(),
            [](Map::const_pointer a, Map::const_pointer b) { return a->first < b->first; });
  for (const Map::pointer entry : dirty_) {
    batch->Put(Family::kHead, entry->first, entry->second.record);
    entry->second.dirty = false;
  }
  dirty_.clear();
  dirty_bytes_ = 0;
  // Nothing waits now, so all of it can be read again from the store.
  if (bytes_ > bytes_max_) {
    heads_.clear();
    bytes_ = 0;
  }
}

void HeadCache::Clear() {
  heads_.clear();
  dirty_.clear();
  bytes_ = 0;
  dirty_bytes_ = 0;
}

}  // namespace varve::history
