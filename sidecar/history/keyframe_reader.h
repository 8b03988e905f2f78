// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>

#include "sidecar/base/ids.h"
#include "sidecar/base/result.h"
#include "sidecar/store/page.h"
#include "sidecar/store/store.h"

namespace varve::history {

struct KeyframeRow {
  base::RelationVersion version;
  std::string_view image;  // valid until the next Find
};

// Finds rows of the first copy by key. Remembers the last page, so that keys in order cost one read a page.
// Borrows the store. One thread.
class KeyframeReader {
 public:
  KeyframeReader(const store::Store* store, base::Position position);

  // Nothing when the first copy has no such row. Errors: kInternal.
  base::Result<std::optional<KeyframeRow>> Find(base::TableOid table, std::string_view key);

 private:
  bool Covers(base::TableOid table, std::string_view key) const;
  // Makes the page that would hold the key the current one; false when there is none.
  base::Result<bool> Load(base::TableOid table, std::string_view key);
  base::Status LoadGap(base::TableOid table);

  base::Position position_;
  store::Iterator it_;
  bool loaded_ = false;
  base::TableOid table_;
  std::string bytes_;
  store::PageView page_;
  std::string first_key_;
  std::string last_key_;
  // Where the next page begins, looked up only when a key fell behind this page; nothing: not looked up.
  std::optional<std::string> next_first_key_;
  bool last_page_ = false;
  std::unordered_set<base::TableOid> empty_;
};

}  // namespace varve::history
