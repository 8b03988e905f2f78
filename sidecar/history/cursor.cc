// SPDX-License-Identifier: PostgreSQL
#include "sidecar/history/cursor.h"

namespace varve::history {

using base::Result;
using base::Status;
using store::Family;

TableCursor::TableCursor(const store::Store* store, const store::Snapshot* snapshot, const TableView& view,
                         base::Position first)
    : view_(view),
      first_(first),
      reader_(store, snapshot, first),
      use_pages_(view.Survives(Place{first, base::Seq{}})),
      use_heads_(view.position > first),
      pages_(store->NewIterator(Family::kKeyframe, store::KeyframePrefix(view.table, first),
                                store::PrefixEnd(store::KeyframePrefix(view.table, first)), snapshot)),
      heads_(store->NewIterator(Family::kHead, store::RowKey(view.table, ""),
                                store::PrefixEnd(store::RowKey(view.table, "")), snapshot)) {}

Status TableCursor::Start(const std::optional<std::string>& after) {
  if (use_pages_) RETURN_IF_ERROR(SkipPagesTo(after));
  if (use_heads_) {
    if (after) {
      heads_.Seek(store::RowKey(view_.table, *after + '\0'));
    } else {
      heads_.SeekToFirst();
    }
  }
  return {};
}

Status TableCursor::SkipPagesTo(const std::optional<std::string>& after) {
  if (after) {
    pages_.SeekForPrev(store::KeyframeKey(view_.table, first_, *after));
    if (!pages_.Valid()) pages_.SeekToFirst();
  } else {
    pages_.SeekToFirst();
  }
  page_.reset();
  if (!after || !pages_.Valid()) return pages_.status();
  ASSIGN_OR_RETURN(page_, store::PageView::Parse(pages_.value()));
  ASSIGN_OR_RETURN(page_index_, page_->LowerBound(*after + '\0'));
  return {};
}

Result<bool> TableCursor::LoadPageRow() {
  if (!use_pages_) return false;
  while (!page_ || page_index_ == page_->size()) {
    if (page_) pages_.Next();
    page_.reset();
    if (!pages_.Valid()) {
      RETURN_IF_ERROR(pages_.status());
      return false;
    }
    ASSIGN_OR_RETURN(page_, store::PageView::Parse(pages_.value()));
    page_index_ = 0;
  }
  ASSIGN_OR_RETURN(page_row_, page_->Row(page_index_));
  return true;
}

Result<bool> TableCursor::TakeHead() {
  ASSIGN_OR_RETURN(const store::VersionRecord record, store::DecodeVersion(heads_.value()));
  if (record.start.position <= view_.position) {
    if (record.tombstone || !view_.Survives(record.start)) return false;
    version_ = OwnVersion(record);
    return true;
  }
  ASSIGN_OR_RETURN(auto earlier, reader_.FirstRewind(heads_.key(), view_.position));
  if (!earlier || earlier->tombstone || !view_.Survives(earlier->start)) return false;
  version_ = std::move(*earlier);
  return true;
}

Result<bool> TableCursor::Next() {
  for (;;) {
    ASSIGN_OR_RETURN(const bool has_page_row, LoadPageRow());
    const bool has_head = use_heads_ && heads_.Valid();
    if (use_heads_ && !has_head) RETURN_IF_ERROR(heads_.status());
    if (!has_page_row && !has_head) return false;
    const std::string_view head_key = has_head ? store::RowKeyBytes(heads_.key()) : std::string_view();
    if (!has_head || (has_page_row && page_row_.key < head_key)) {
      key_ = page_row_.key;
      version_ = RowVersion{};
      version_.start.position = first_;
      version_.version = page_->version();
      version_.image = page_row_.image;
      ++page_index_;
      return true;
    }
    // A row that has a head is told by the head alone.
    if (has_page_row && page_row_.key == head_key) ++page_index_;
    ASSIGN_OR_RETURN(const bool found, TakeHead());
    if (found) key_ = head_key;
    heads_.Next();
    if (found) return true;
  }
}

}  // namespace varve::history
