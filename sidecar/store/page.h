// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sidecar/base/ids.h"
#include "sidecar/base/result.h"

namespace varve::store {

// A keyframe page: consecutive rows of one table, all of one relation version. Persisted: never change.
//   u8 format (1), u64 relation version, u16 row count n, n times u32: where row i ends behind the table of
//   ends; rows: varint key length, key, image.
// Builds one page after another; rows come in key order.
class PageBuilder {
 public:
  static constexpr size_t kRowsMax = 256;
  static constexpr size_t kBytesMax = size_t{64} << 10;  // a single row may exceed it

  explicit PageBuilder(base::RelationVersion version) : version_(version) {}

  bool empty() const { return ends_.empty(); }
  // True when the page should be finished before a row of these sizes is added.
  bool IsFull(size_t key_bytes, size_t image_bytes) const;
  void Add(std::string_view key, std::string_view image);
  const std::string& first_key() const { return first_key_; }
  // The page; the builder is empty afterwards.
  std::string Finish();

 private:
  base::RelationVersion version_;
  std::string first_key_;
  std::string rows_;
  std::vector<uint32_t> ends_;
};

struct PageRow {
  std::string_view key;
  std::string_view image;
};

// Reads a page in place. Borrows the bytes.
class PageView {
 public:
  PageView() = default;
  // Verifies the frame; rows are verified as they are read. Errors: kInternal.
  static base::Result<PageView> Parse(std::string_view bytes);

  base::RelationVersion version() const { return version_; }
  size_t size() const { return count_; }
  // REQUIRES: index < size(). Errors: kInternal.
  base::Result<PageRow> Row(size_t index) const;
  // The first row whose key is at or behind `key`; size() when there is none. Errors: kInternal.
  base::Result<size_t> LowerBound(std::string_view key) const;

 private:
  uint32_t End(size_t index) const;

  base::RelationVersion version_;
  size_t count_ = 0;
  std::string_view ends_;
  std::string_view rows_;
};

}  // namespace varve::store
