// SPDX-License-Identifier: PostgreSQL
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "sidecar/history/cursor.h"
#include "sidecar/history/history_impl.h"
#include "sidecar/history/records.h"
#include "sidecar/history/row_mapper.h"
#include "sidecar/history/schema_words.h"
#include "sidecar/history/step_reader.h"
#include "sidecar/history/transaction_reader.h"

namespace varve::history {

using base::ErrorCode;
using base::Fail;
using base::Result;
using base::Status;
using store::Family;

namespace {

// Up to here the changed keys are collected from the log; a longer stretch is compared by two scans.
constexpr uint64_t kKeysMax = 100'000;

using KeySet = std::set<std::string, std::less<>>;

// Net differences between two positions. Rows are compared under the later schema: a column that was added
// in between counts as having had its default before, one that was dropped does not count.
class NetDiff {
 public:
  NetDiff(const store::Store* store, const store::Snapshot* snapshot, const Catalog* catalog,
          const ReadPoint& first, base::Position from, base::Position to, const ReadPoint& point,
          const ChangeCallback& callback)
      : store_(store),
        snapshot_(snapshot),
        catalog_(catalog),
        first_(first.position),
        low_(std::min(from, to)),
        high_(std::max(from, to)),
        backwards_(from > to),
        point_(point),
        callback_(callback),
        versions_(store, snapshot, first.position),
        painter_(catalog) {}

  // One table; false: the callback ended the walk. Errors: as ViewAt at either end.
  Result<bool> DiffTable(base::TableOid table);
  // All tables; those that cannot be compared are reported as such.
  Status DiffAll();
  // Counts the changes in between and, when they are few, collects their keys.
  Status Prepare(std::optional<base::TableOid> table);

 private:
  Result<bool> DiffSchema(const TableView& low, const TableView& high);
  Result<bool> DiffByKeys(const TableView& low, const TableView& high, const KeySet& keys);
  Result<bool> DiffByScans(const TableView& low, const TableView& high);
  Result<bool> ShowDifference(const TableView& low, const TableView& high,
                              const std::optional<RowVersion>& row_low,
                              const std::optional<RowVersion>& row_high);
  Result<bool> ShowStopped(base::TableOid table, const TableEvent& stop);
  Result<bool> ShowStop(base::TableOid table, const TableEvent& stop, ChangeKind kind);
  Result<std::optional<RowVersion>> LiveAt(const TableView& view, std::string_view key);
  Status CollectKeys(std::optional<base::TableOid> table);

  const store::Store* store_;
  const store::Snapshot* snapshot_;
  const Catalog* catalog_;
  const base::Position first_;
  const base::Position low_;
  const base::Position high_;
  const bool backwards_;
  const ReadPoint point_;
  const ChangeCallback& callback_;
  VersionReader versions_;
  RowPainter painter_;
  bool few_ = false;
  std::map<base::TableOid, KeySet> keys_;
};

Status NetDiff::Prepare(std::optional<base::TableOid> table) {
  uint64_t changes = 0;
  const TransactionReader transactions(store_, snapshot_);
  RETURN_IF_ERROR(transactions.Walk(low_, high_, true, [&](const TransactionEntry& entry) -> Result<bool> {
    for (const auto& [oid, counts] : entry.record.tables) {
      if (!table || *table == oid) changes += counts.inserts + counts.updates + counts.deletes;
    }
    return changes <= kKeysMax;
  }));
  few_ = changes <= kKeysMax;
  return few_ ? CollectKeys(table) : Status();
}

Status NetDiff::CollectKeys(std::optional<base::TableOid> table) {
  store::Iterator log = store_->NewIterator(Family::kLog, store::PositionKey(base::Position{low_.value + 1}),
                                            store::PositionKey(base::Position{high_.value + 1}), snapshot_);
  for (log.SeekToFirst(); log.Valid(); log.Next()) {
    ASSIGN_OR_RETURN(const store::LogRecord record, store::DecodeLog(log.value()));
    if (record.op == model::Op::kMessage || record.op == model::Op::kTruncate) continue;
    if (table && *table != record.table) continue;
    KeySet& keys = keys_[record.table];
    keys.emplace(record.key);
    if (!record.previous_key.empty()) keys.emplace(record.previous_key);
  }
  return log.status();
}

Status NetDiff::DiffAll() {
  std::map<std::string, std::vector<base::TableOid>> by_name;
  for (const base::TableOid oid : catalog_->TableOids()) {
    by_name[catalog_->TableName(oid, high_)].push_back(oid);
  }
  for (const auto& [name, oids] : by_name) {
    for (const base::TableOid oid : oids) {
      const auto stop = catalog_->StopAt(oid, high_);
      bool more = true;
      if (!stop) {
        if (catalog_->VersionAt(oid, Timeline::EndOf(low_)) == nullptr) continue;
        ASSIGN_OR_RETURN(more, DiffTable(oid));
      } else if (stop->kind != EventKind::kExcluded && stop->kind != EventKind::kLate) {
        ASSIGN_OR_RETURN(more, ShowStopped(oid, *stop));
      }
      if (!more) return {};
    }
  }
  return {};
}

// A table that was dropped before is no longer part of the database.
Result<bool> NetDiff::ShowStopped(base::TableOid table, const TableEvent& stop) {
  if (stop.place.position > low_) {
    ASSIGN_OR_RETURN(const bool more, ShowStop(table, stop, ChangeKind::kSchema));
    if (!more) return false;
  }
  if (stop.kind == EventKind::kDrop) return true;
  return ShowStop(table, stop, ChangeKind::kUnreadable);
}

Result<bool> NetDiff::ShowStop(base::TableOid table, const TableEvent& stop, ChangeKind kind) {
  const RelationPtr relation = catalog_->VersionAt(table, Timeline::EndOf(high_));
  ChangeView view;
  view.kind = kind;
  view.point = point_;
  view.relation = relation.get();
  view.detail = DescribeStop(*catalog_, table, stop);
  return callback_(view);
}

Result<bool> NetDiff::DiffTable(base::TableOid table) {
  ASSIGN_OR_RETURN(const TableView low, catalog_->ViewAt(table, low_));
  ASSIGN_OR_RETURN(const TableView high, catalog_->ViewAt(table, high_));
  ASSIGN_OR_RETURN(const bool more, DiffSchema(low, high));
  if (!more) return false;
  const bool truncated = high.last_truncate && high.last_truncate->position > low_;
  if (!few_ || truncated) return DiffByScans(low, high);
  const auto keys = keys_.find(table);
  return keys == keys_.end() ? Result<bool>(true) : DiffByKeys(low, high, keys->second);
}

Result<bool> NetDiff::DiffSchema(const TableView& low, const TableView& high) {
  const model::Relation& from = backwards_ ? *high.relation : *low.relation;
  const model::Relation& to = backwards_ ? *low.relation : *high.relation;
  for (std::string& sentence : DescribeSchemaChange(from, to)) {
    ChangeView view;
    view.kind = ChangeKind::kSchema;
    view.point = point_;
    view.relation = &to;
    view.detail = std::move(sentence);
    ASSIGN_OR_RETURN(const bool more, callback_(view));
    if (!more) return false;
  }
  return true;
}

Result<std::optional<RowVersion>> NetDiff::LiveAt(const TableView& view, std::string_view key) {
  ASSIGN_OR_RETURN(auto version, versions_.At(view.table, key, view.position));
  if (version && (version->tombstone || !view.Survives(version->start))) version.reset();
  return version;
}

Result<bool> NetDiff::DiffByKeys(const TableView& low, const TableView& high, const KeySet& keys) {
  for (const std::string& key : keys) {
    ASSIGN_OR_RETURN(const auto row_low, LiveAt(low, key));
    ASSIGN_OR_RETURN(const auto row_high, LiveAt(high, key));
    ASSIGN_OR_RETURN(const bool more, ShowDifference(low, high, row_low, row_high));
    if (!more) return false;
  }
  return true;
}

Result<bool> NetDiff::DiffByScans(const TableView& low, const TableView& high) {
  TableCursor cursor_low(store_, snapshot_, low, first_);
  TableCursor cursor_high(store_, snapshot_, high, first_);
  RETURN_IF_ERROR(cursor_low.Start(std::nullopt));
  RETURN_IF_ERROR(cursor_high.Start(std::nullopt));
  ASSIGN_OR_RETURN(bool has_low, cursor_low.Next());
  ASSIGN_OR_RETURN(bool has_high, cursor_high.Next());
  while (has_low || has_high) {
    const bool take_low = has_low && (!has_high || cursor_low.key() <= cursor_high.key());
    const bool take_high = has_high && (!has_low || cursor_high.key() <= cursor_low.key());
    std::optional<RowVersion> row_low;
    std::optional<RowVersion> row_high;
    if (take_low) {
      row_low = cursor_low.version();
      ASSIGN_OR_RETURN(has_low, cursor_low.Next());
    }
    if (take_high) {
      row_high = cursor_high.version();
      ASSIGN_OR_RETURN(has_high, cursor_high.Next());
    }
    ASSIGN_OR_RETURN(const bool more, ShowDifference(low, high, row_low, row_high));
    if (!more) return false;
  }
  return true;
}

Result<bool> NetDiff::ShowDifference(const TableView& low, const TableView& high,
                                     const std::optional<RowVersion>& row_low,
                                     const std::optional<RowVersion>& row_high) {
  if (!row_low && !row_high) return true;
  ShownRow shown_low;
  ShownRow shown_high;
  ChangeView view;
  if (row_low && row_high) {
    if (row_low->version == row_high->version && row_low->image == row_high->image) return true;
    ShownRow under_high;
    RETURN_IF_ERROR(painter_.Paint(high.table, high.relation, row_low->version, row_low->image,
                                   row_low->start.position, &under_high));
    RETURN_IF_ERROR(painter_.Paint(high.table, high.relation, row_high->version, row_high->image,
                                   row_high->start.position, &shown_high));
    view.changed = DifferentCells(under_high, shown_high);
    if (view.changed.empty()) return true;
  } else if (row_high) {
    RETURN_IF_ERROR(painter_.Paint(high.table, high.relation, row_high->version, row_high->image,
                                   row_high->start.position, &shown_high));
  }
  if (row_low) {
    RETURN_IF_ERROR(painter_.Paint(low.table, low.relation, row_low->version, row_low->image,
                                   row_low->start.position, &shown_low));
  }
  view.point = point_;
  view.before = row_low ? &shown_low.row : nullptr;
  view.after = row_high ? &shown_high.row : nullptr;
  view.relation = high.relation.get();
  if (backwards_) {
    std::swap(view.before, view.after);
    view.relation = low.relation.get();
  }
  view.kind = view.before == nullptr  ? ChangeKind::kInsert
              : view.after == nullptr ? ChangeKind::kDelete
                                      : ChangeKind::kUpdate;
  return callback_(view);
}

}  // namespace

Status HistoryImpl::Diff(base::Position from, base::Position to, std::optional<base::TableOid> table,
                         bool raw, const ChangeCallback& callback) const {
  RETURN_IF_ERROR(visibility_.CheckReadable(from));
  RETURN_IF_ERROR(visibility_.CheckReadable(to));
  const auto first = visibility_.first();
  const auto snapshot = store_->TakeSnapshot();
  if (table && !catalog_.HasTable(*table)) {
    return Fail(ErrorCode::kNotTracked, fmt::format("table {} is not tracked", table->value));
  }
  if (raw) {
    if (from > to) {
      return Fail(ErrorCode::kInvalidArgument,
                  fmt::format("every step can only be shown forward, and {} is after {}",
                              base::FormatPosition(from), base::FormatPosition(to)));
    }
    StepReader steps(store_.get(), snapshot.get(), &catalog_, *first);
    return steps.Walk(from, to, table, callback);
  }
  const TransactionReader transactions(store_.get(), snapshot.get());
  ASSIGN_OR_RETURN(const auto entry, transactions.LastUpTo(to, [](const TransactionEntry& candidate) {
    return candidate.record.in_log;
  }));
  const ReadPoint point = entry ? PointOf(entry->position, entry->record) : *first;
  NetDiff diff(store_.get(), snapshot.get(), &catalog_, *first, from, to, point, callback);
  RETURN_IF_ERROR(diff.Prepare(table));
  if (!table) return diff.DiffAll();
  RETURN_IF_ERROR(diff.DiffTable(*table));
  return {};
}

}  // namespace varve::history
