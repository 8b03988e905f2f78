// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sidecar/base/ids.h"
#include "sidecar/base/mutex.h"
#include "sidecar/base/result.h"
#include "sidecar/history/history.h"
#include "sidecar/history/projection.h"
#include "sidecar/history/timeline.h"
#include "sidecar/model/relation.h"
#include "sidecar/model/row_digest.h"
#include "sidecar/store/store.h"

namespace varve::history {

using RelationPtr = std::shared_ptr<const model::Relation>;

// A table at a position: what is needed to read its rows.
struct TableView {
  base::TableOid table;
  base::Position position;
  RelationPtr relation;
  std::optional<Place> last_truncate;

  // Whether a version that began there is still there: no TRUNCATE came after it.
  bool Survives(Place start) const { return !last_truncate || start > *last_truncate; }
};

// The tables of a history in memory: relation versions and timelines. All of it is also in the store's
// catalog; the writer puts it there, this class only reads it when the store is opened. Entries above the
// published position may be present: every reader passes a position. Thread-safe.
class Catalog {
 public:
  // Reads relations, events and change counts. Errors: kInternal.
  base::Status Load(const store::Store& store);
  void Clear();

  // --- The writer's side.
  // The number of this definition among those of its version; a new one gets the next number.
  uint16_t AddRelation(const RelationPtr& relation, bool* is_new) EXCLUDES(mutex_);
  void AddEvent(base::TableOid table, TableEvent event) EXCLUDES(mutex_);
  void AddChanges(base::TableOid table, uint64_t changes) EXCLUDES(mutex_);
  uint64_t Changes(base::TableOid table) const EXCLUDES(mutex_);
  void DropAbove(base::Position position) EXCLUDES(mutex_);

  // --- Reading.
  bool HasTable(base::TableOid table) const EXCLUDES(mutex_);
  std::vector<base::TableOid> TableOids() const EXCLUDES(mutex_);
  // "public.accounts" as of the position, or the OID as text.
  std::string TableName(base::TableOid table, base::Position position) const EXCLUDES(mutex_);
  // By attnum - 1: what rows have in a column that are older than it.
  model::RowDefaults DefaultsOfOlderRows(base::TableOid table, uint16_t attribute_count) const
      EXCLUDES(mutex_);
  // Any definition of the version: what rows look like is the same in all. Errors: kInternal.
  base::Result<RelationPtr> FindRelation(base::RelationVersion version) const EXCLUDES(mutex_);
  // Errors: kInternal.
  base::Result<RelationPtr> FindDefinition(store::RelationId id) const EXCLUDES(mutex_);
  // The version as the table's change at the place had it. Errors: kInternal.
  base::Result<RelationPtr> FindRelationAt(base::TableOid table, base::RelationVersion version,
                                           Place place) const EXCLUDES(mutex_);
  // Errors: as History::RelationAt.
  base::Result<TableView> ViewAt(base::TableOid table, base::Position position) const EXCLUDES(mutex_);
  // The newest version at or before the place; nullptr when there was none. Does not care whether the rows
  // are known.
  RelationPtr VersionAt(base::TableOid table, Place place) const EXCLUDES(mutex_);
  // Errors: kSchemaChanged, kInternal.
  base::Result<std::shared_ptr<const Projection>> Project(base::TableOid table, base::RelationVersion from,
                                                          const RelationPtr& to) const EXCLUDES(mutex_);
  // `to` with the columns in which rows of `from` cannot be shown as they were then. Errors: kInternal.
  base::Result<RelationPtr> AsWritten(base::TableOid table, base::RelationVersion from,
                                      const RelationPtr& to) const EXCLUDES(mutex_);
  std::optional<Place> FirstTruncateAfter(base::TableOid table, Place place) const EXCLUDES(mutex_);
  // The first event at or before the position that ended what is known of the rows.
  std::optional<TableEvent> StopAt(base::TableOid table, base::Position position) const EXCLUDES(mutex_);
  std::optional<Place> LastTruncate(base::TableOid table, base::Position position) const EXCLUDES(mutex_);
  // Events other than truncates with from < position <= to.
  std::vector<TableEvent> Events(base::TableOid table, base::Position from, base::Position to) const
      EXCLUDES(mutex_);
  // Whether the table was once defined so.
  bool HadRelation(base::TableOid table, const model::Relation& relation) const EXCLUDES(mutex_);
  RelationPtr VersionBefore(base::TableOid table, Place place) const EXCLUDES(mutex_);

  std::vector<TableInfo> Tables(base::Position first, base::Position published) const EXCLUDES(mutex_);
  base::Result<base::TableOid> FindTable(std::string_view name, base::Position published) const
      EXCLUDES(mutex_);

 private:
  struct Table {
    Timeline timeline;
    uint64_t changes = 0;
  };

  RelationPtr RelationLocked(base::RelationVersion version) const REQUIRES(mutex_);
  RelationPtr RelationOf(const TableEvent* event) const REQUIRES(mutex_);
  const Table* TableLocked(base::TableOid table) const REQUIRES(mutex_);
  std::string NameNowLocked(const std::string& once, base::Position published) const REQUIRES(mutex_);
  RelationPtr FirstWithLocked(const Table& table, uint16_t attnum) const REQUIRES(mutex_);
  // A version of the table, and of each column of `to` that it lacks the first version with it.
  struct Origin {
    RelationPtr relation;
    std::map<uint16_t, RelationPtr> first_with;
  };
  base::Result<Origin> OriginOf(base::TableOid table, base::RelationVersion from,
                                const model::Relation& to) const EXCLUDES(mutex_);
  std::string NameLocked(base::TableOid oid, const Table& table, base::Position position) const
      REQUIRES(mutex_);
  TableInfo InfoLocked(base::TableOid oid, const Table& table, base::Position first,
                       base::Position published) const REQUIRES(mutex_);
  base::Status LoadRelations(const store::Store& store) EXCLUDES(mutex_);
  base::Status LoadEvents(const store::Store& store) EXCLUDES(mutex_);
  base::Status LoadChanges(const store::Store& store) EXCLUDES(mutex_);

  mutable base::Mutex mutex_;
  std::unordered_map<base::RelationVersion, std::map<uint16_t, RelationPtr>> relations_ GUARDED_BY(mutex_);
  std::map<base::TableOid, Table> tables_ GUARDED_BY(mutex_);
};

// What to tell a person about a table whose rows are not known from `event` on.
base::Error StopError(const std::string& table, const TableEvent& event);

}  // namespace varve::history
