// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sidecar/base/ids.h"
#include "sidecar/base/result.h"
#include "sidecar/history/keyframe_reader.h"
#include "sidecar/store/record_format.h"
#include "sidecar/store/store.h"

namespace varve::history {

// The newest version of rows as the writer sees it: what is stored plus what waits to be written. Rows that
// were written lately stay in memory. Borrows the store. The applier's thread only.
class HeadCache {
 public:
  struct Head {
    std::string record;  // encoded VersionRecord; empty: there never was such a row
    bool dirty = false;
    bool exists() const { return !record.empty(); }
  };

  HeadCache(const store::Store* store, base::Position first, size_t bytes_max);

  // Reads the heads of many rows at once, so that Find has them. Errors: kInternal.
  base::Status Prefetch(const std::vector<std::string_view>& row_keys);
  // The pointer is valid until WriteTo or Clear. Errors: kInternal.
  base::Result<Head*> Find(std::string_view row_key);
  // REQUIRES: Find(row_key) gave `head`.
  void Set(Head* head, std::string_view row_key, std::string record);
  // Moves everything that waits into the batch, in key order.
  void WriteTo(store::Batch* batch);
  void Clear();

  size_t dirty_bytes() const { return dirty_bytes_; }

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const noexcept { return std::hash<std::string_view>()(text); }
  };
  using Map = std::unordered_map<std::string, Head, Hash, std::equal_to<>>;

  Head* Insert(std::string_view row_key, std::string record);
  // The record of a row without a stored head: as the first copy has it, else empty.
  base::Result<std::string> FromKeyframe(std::string_view row_key);

  const store::Store* store_;
  base::Position first_;
  size_t bytes_max_;
  KeyframeReader keyframe_;
  Map heads_;
  std::vector<Map::pointer> dirty_;
  size_t bytes_ = 0;
  size_t dirty_bytes_ = 0;
};

}  // namespace varve::history
