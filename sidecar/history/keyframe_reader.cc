// SPDX-License-Identifier: PostgreSQL
#include "sidecar/history/keyframe_reader.h"

namespace varve::history {

using base::Result;
using base::Status;
using store::Family;

KeyframeReader::KeyframeReader(const store::Store* store, base::Position position)
    : position_(position), it_(store->NewIterator(Family::kKeyframe, "", "")) {}

bool KeyframeReader::Covers(base::TableOid table, std::string_view key) const {
  if (!loaded_ || table != table_ || key < first_key_) return false;
  return key <= last_key_ || last_page_ || (next_first_key_ && key < *next_first_key_);
}

Result<std::optional<KeyframeRow>> KeyframeReader::Find(base::TableOid table, std::string_view key) {
  if (!Covers(table, key)) {
    if (empty_.count(table) != 0) return std::optional<KeyframeRow>();
    ASSIGN_OR_RETURN(const bool found, Load(table, key));
    if (!found) return std::optional<KeyframeRow>();
  }
  if (key > last_key_) return std::optional<KeyframeRow>();
  ASSIGN_OR_RETURN(const size_t index, page_.LowerBound(key));
  if (index == page_.size()) return std::optional<KeyframeRow>();
  ASSIGN_OR_RETURN(const store::PageRow row, page_.Row(index));
  if (row.key != key) return std::optional<KeyframeRow>();
  return std::optional<KeyframeRow>(KeyframeRow{page_.version(), row.image});
}

Result<bool> KeyframeReader::Load(base::TableOid table, std::string_view key) {
  const std::string prefix = store::KeyframePrefix(table, position_);
  it_.SeekForPrev(store::KeyframeKey(table, position_, key));
  RETURN_IF_ERROR(it_.status());
  if (!it_.Valid() || it_.key().substr(0, prefix.size()) != prefix) {
    it_.Seek(prefix);
    RETURN_IF_ERROR(it_.status());
    if (!it_.Valid() || it_.key().substr(0, prefix.size()) != prefix) empty_.insert(table);
    return false;
  }
  loaded_ = false;
  bytes_ = it_.value();
  first_key_ = it_.key().substr(prefix.size());
  ASSIGN_OR_RETURN(page_, store::PageView::Parse(bytes_));
  ASSIGN_OR_RETURN(const store::PageRow last, page_.Row(page_.size() - 1));
  last_key_ = last.key;
  table_ = table;
  last_page_ = false;
  next_first_key_.reset();
  if (key > last_key_) RETURN_IF_ERROR(LoadGap(table));
  loaded_ = true;
  return true;
}

Status KeyframeReader::LoadGap(base::TableOid table) {
  const std::string prefix = store::KeyframePrefix(table, position_);
  it_.Next();
  RETURN_IF_ERROR(it_.status());
  if (it_.Valid() && it_.key().substr(0, prefix.size()) == prefix) {
    next_first_key_ = it_.key().substr(prefix.size());
  } else {
    last_page_ = true;
  }
  return {};
}

}  // namespace varve::history
