// SPDX-License-Identifier: PostgreSQL
#include <fmt/format.h>

#include "sidecar/history/history_impl.h"
#include "sidecar/history/records.h"
#include "sidecar/model/reference.h"
#include "sidecar/store/record_format.h"

namespace varve::history {

using base::ErrorCode;
using base::Fail;
using base::Status;
using store::Family;

Status HistoryImpl::LoadTags() {
  const std::string prefix = store::CatalogKey(store::CatalogTag::kTag);
  store::Iterator it = store_->NewIterator(Family::kCatalog, prefix, store::PrefixEnd(prefix));
  base::MutexLock lock(&mutex_);
  for (it.SeekToFirst(); it.Valid(); it.Next()) {
    ASSIGN_OR_RETURN(const store::ReadPointRecord record, store::DecodeReadPoint(it.value()));
    tags_.emplace(std::string(it.key().substr(prefix.size())), PointOf(record));
  }
  return it.status();
}

std::vector<Tag> HistoryImpl::Tags() const {
  base::MutexLock lock(&mutex_);
  std::vector<Tag> tags;
  for (const auto& [name, point] : tags_) tags.push_back(Tag{name, point});
  return tags;
}

Status HistoryImpl::CreateTag(std::string_view name, const ReadPoint& point) {
  if (!model::IsValidName(name)) {
    return Fail(
        ErrorCode::kInvalidArgument,
        fmt::format("\"{}\" is no tag name: a letter or digit, then letters, digits, . _ / -, at most "
                    "200 of them",
                    name));
  }
  RETURN_IF_ERROR(visibility_.CheckReadable(point.position));
  base::MutexLock lock(&mutex_);
  if (tags_.find(name) != tags_.end()) {
    return Fail(ErrorCode::kExists, fmt::format("there is a tag {} already", name));
  }
  RETURN_IF_ERROR(store_->Put(Family::kCatalog, store::TagKey(name), store::EncodeReadPoint(RecordOf(point)),
                              store::Durability::kSynced));
  tags_.emplace(std::string(name), point);
  return {};
}

Status HistoryImpl::DeleteTag(std::string_view name) {
  base::MutexLock lock(&mutex_);
  const auto found = tags_.find(name);
  if (found == tags_.end()) return Fail(ErrorCode::kNotFound, fmt::format("there is no tag {}", name));
  store::Batch batch(store_.get());
  batch.Delete(Family::kCatalog, store::TagKey(name));
  RETURN_IF_ERROR(store_->Write(&batch, store::Durability::kSynced));
  tags_.erase(found);
  return {};
}

}  // namespace varve::history
