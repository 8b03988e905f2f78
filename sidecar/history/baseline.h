// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sidecar/base/mutex.h"
#include "sidecar/base/result.h"
#include "sidecar/history/catalog.h"
#include "sidecar/history/history.h"
#include "sidecar/model/row_digest.h"
#include "sidecar/store/store.h"

namespace varve::history {

// A first copy on its way: rows wait in the staging family, in key order whatever order they come in, and
// become keyframe pages when the copy is finished. Borrows the store. AddRow is thread-safe; the other
// methods belong to the applier's thread.
class Baseline {
 public:
  Baseline(store::Store* store, Identity identity) : store_(store), identity_(std::move(identity)) {}

  const Identity& identity() const { return identity_; }
  base::Status AddTable(const model::Relation& relation) EXCLUDES(mutex_);
  base::Status AddRow(base::TableOid table, std::string_view image) EXCLUDES(mutex_);
  base::Status Exclude(base::TableOid table, std::string reason) EXCLUDES(mutex_);
  // Packs the pages and writes everything that makes the history readable; durable when it returns.
  base::Status Finish(const ReadPoint& point) EXCLUDES(mutex_);
  std::vector<TableInfo> Tables() const EXCLUDES(mutex_);

 private:
  struct Table {
    RelationPtr relation;
    std::optional<std::string> excluded;
    std::shared_ptr<const model::RowDefaults> bag = nullptr;  // null: its rows have a key
  };
  static constexpr size_t kShards = 64;

  base::Result<Table> FindTable(base::TableOid table) const EXCLUDES(mutex_);
  base::Status AddToBag(base::TableOid table, const model::RowDefaults& defaults,
                        const std::vector<model::Cell>& cells, std::string_view image);
  base::Status PackPages(base::Position position) EXCLUDES(mutex_);
  base::Status WriteMark(const ReadPoint& point) EXCLUDES(mutex_);

  store::Store* store_;
  Identity identity_;
  mutable base::Mutex mutex_;
  std::map<base::TableOid, Table> tables_ GUARDED_BY(mutex_);
  // Two rows with one key must not both find the place free.
  std::array<base::Mutex, kShards> shards_;
};

// Removes what a first copy that was not finished has left.
base::Status ClearBaseline(store::Store* store);

}  // namespace varve::history
