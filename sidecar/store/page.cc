// SPDX-License-Identifier: PostgreSQL
#include "sidecar/store/page.h"

#include "sidecar/base/check.h"
#include "sidecar/store/bytes.h"

namespace varve::store {
namespace {

constexpr uint8_t kFormat = 1;
constexpr size_t kEndBytes = 4;

tl::unexpected<base::Error> Damaged() {
  return base::Fail(base::ErrorCode::kInternal, "the store holds a damaged keyframe page");
}

}  // namespace

bool PageBuilder::IsFull(size_t key_bytes, size_t image_bytes) const {
  return !ends_.empty() && (ends_.size() >= kRowsMax || rows_.size() + key_bytes + image_bytes > kBytesMax);
}

void PageBuilder::Add(std::string_view key, std::string_view image) {
  CHECK(ends_.size() < kRowsMax);
  if (ends_.empty()) first_key_ = key;
  ByteWriter(&rows_).String(key).Raw(image);
  CHECK(rows_.size() <= UINT32_MAX);
  ends_.push_back(static_cast<uint32_t>(rows_.size()));
}

std::string PageBuilder::Finish() {
  std::string page;
  page.reserve(16 + ends_.size() * kEndBytes + rows_.size());
  ByteWriter writer(&page);
  writer.U8(kFormat).U64(version_.value).U16(static_cast<uint16_t>(ends_.size()));
  for (const uint32_t end : ends_) writer.U32(end);
  writer.Raw(rows_);
  ends_.clear();
  rows_.clear();
  first_key_.clear();
  return page;
}

base::Result<PageView> PageView::Parse(std::string_view bytes) {
  ByteReader reader(bytes);
  PageView page;
  const uint8_t format = reader.U8();
  page.version_.value = reader.U64();
  page.count_ = reader.U16();
  if (!reader.ok() || format != kFormat || page.count_ == 0 || page.count_ > PageBuilder::kRowsMax ||
      reader.size() < page.count_ * kEndBytes) {
    return Damaged();
  }
  const std::string_view rest = reader.Rest();
  page.ends_ = rest.substr(0, page.count_ * kEndBytes);
  page.rows_ = rest.substr(page.count_ * kEndBytes);
  if (page.End(page.count_ - 1) != page.rows_.size()) return Damaged();
  return page;
}

uint32_t PageView::End(size_t index) const {
  return ByteReader(ends_.substr(index * kEndBytes, kEndBytes)).U32();
}

base::Result<PageRow> PageView::Row(size_t index) const {
  CHECK(index < count_);
  const size_t begin = index == 0 ? 0 : End(index - 1);
  const size_t end = End(index);
  if (begin > end || end > rows_.size()) return Damaged();
  ByteReader reader(rows_.substr(begin, end - begin));
  PageRow row;
  row.key = reader.String();
  if (!reader.ok()) return Damaged();
  row.image = reader.Rest();
  return row;
}

base::Result<size_t> PageView::LowerBound(std::string_view key) const {
  size_t low = 0;
  size_t high = count_;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    ASSIGN_OR_RETURN(const PageRow row, Row(middle));
    if (row.key < key) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

}  // namespace varve::store
