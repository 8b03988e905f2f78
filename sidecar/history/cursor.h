// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sidecar/base/result.h"
#include "sidecar/history/catalog.h"
#include "sidecar/history/version_reader.h"
#include "sidecar/store/page.h"
#include "sidecar/store/store.h"

namespace varve::history {

// The rows of a table at one position, in key order: the pages of the first copy merged with what the heads
// and rewinds say of the rows that changed since. Borrows the store and the snapshot. One thread.
class TableCursor {
 public:
  TableCursor(const store::Store* store, const store::Snapshot* snapshot, const TableView& view,
              base::Position first);

  // Begins at the first row, or behind `after`.
  base::Status Start(const std::optional<std::string>& after);
  // False at the end. Afterwards key() and version() are the row's.
  base::Result<bool> Next();

  const std::string& key() const { return key_; }
  const RowVersion& version() const { return version_; }

 private:
  // The page row at the place of the cursor; false when there are no more.
  base::Result<bool> LoadPageRow();
  base::Status SkipPagesTo(const std::optional<std::string>& after);
  // The head's row at the position; false when there was none.
  base::Result<bool> TakeHead();

  TableView view_;
  base::Position first_;
  VersionReader reader_;
  bool use_pages_;
  bool use_heads_;
  store::Iterator pages_;
  store::Iterator heads_;
  std::optional<store::PageView> page_;
  size_t page_index_ = 0;
  store::PageRow page_row_;
  std::string key_;
  RowVersion version_;
};

}  // namespace varve::history
