// SPDX-License-Identifier: PostgreSQL
// Rewrites whose rows come with them. ALTER TABLE leaves no row out and adds none: under unchanged keys each
// row is one that is there, and those whose values it changed become updates of its transaction.
#include <functional>
#include <utility>

#include <fmt/format.h>

#include "sidecar/base/check.h"
#include "sidecar/base/log.h"
#include "sidecar/history/applier.h"
#include "sidecar/history/cursor.h"

namespace varve::history {

using base::ErrorCode;
using base::Fail;
using base::Result;
using base::Status;
using store::VersionRecord;

namespace {

constexpr std::string_view kOtherKeys = "which gave its rows other keys";
constexpr std::string_view kNoKey = "its rows, which have no key, cannot be told from those before";

uint64_t HashKey(std::string_view key) { return std::hash<std::string_view>()(key); }

}  // namespace

Status Applier::BeginRewrite(const model::Change& change, Place place, Table* table) {
  if (change.rewrite_rows && !table->bag) {
    open_->rewrites.try_emplace(change.table);
    return {};
  }
  std::string why(table->bag ? kNoKey : std::string_view());
  AddEvent(change.table, table, TableEvent{place, EventKind::kRewrite, {}, 0, std::move(why)});
  return {};
}

Status Applier::ApplyRewriteRow(const model::Change& change, Place place, RowKeys* keys, Table* table) {
  const auto contradicts = [&](std::string_view what) {
    const base::Error error = Contradiction(change, place, what);
    base::LogError("{}; the table is not followed any further", error.message);
    AddEvent(change.table, table, TableEvent{place, EventKind::kContradiction, {}, 0, error.message});
    return Status();
  };
  const auto found = open_->rewrites.find(change.table);
  if (found == open_->rewrites.end()) return contradicts("no rewrite has begun");
  OpenRewrite& rewrite = found->second;
  if (!keys->ready) {
    const Status made = MakeKeys(change, keys);
    if (!made) return contradicts(made.error().message);
  }
  if (keys->unchanged_cells) return contradicts("a rewritten row lacks a value");
  ASSIGN_OR_RETURN(HeadCache::Head* const head, heads_.Find(keys->now));
  ASSIGN_OR_RETURN(const auto before, LiveRow(*head, *table));
  if (!before) {
    AddEvent(change.table, table, TableEvent{place, EventKind::kRewrite, {}, 0, std::string(kOtherKeys)});
    return {};
  }
  ++rewrite.rows;
  rewrite.key_sum += HashKey(store::RowKeyBytes(keys->now));
  ASSIGN_OR_RETURN(const bool is_same, IsSameRow(change, *before, &rewrite));
  if (is_same) return {};
  ++open_->changes[change.table];
  model::Change update = change;
  update.op = model::Op::kUpdate;
  return ApplyRow(update, place, keys, *table);
}

Result<bool> Applier::IsSameRow(const model::Change& change, const VersionRecord& before,
                                OpenRewrite* rewrite) {
  const model::Relation& relation = *change.relation;
  if (before.version == relation.version) return before.image == change.new_image;
  const auto [found, is_new] = rewrite->projections.try_emplace(before.version);
  if (is_new) {
    ASSIGN_OR_RETURN(const RelationPtr target, catalog_->FindRelation(relation.version));
    auto projection = catalog_->Project(change.table, before.version, target);
    if (projection) {
      found->second = std::move(*projection);
    } else if (projection.error().code != ErrorCode::kSchemaChanged) {
      return Fail(std::move(projection).error());
    }
  }
  if (found->second == nullptr) return false;
  RETURN_IF_ERROR(found->second->Decode(before.image, &old_cells_));
  RETURN_IF_ERROR(model::DecodeImageInto(relation, change.new_image, &cells_));
  return old_cells_ == cells_;
}

Result<bool> Applier::AreAllRows(base::TableOid oid, const Table& table, const OpenRewrite& rewrite) {
  RETURN_IF_ERROR(WritePending(store::Durability::kBuffered));
  const auto snapshot = store_->TakeSnapshot();
  const TableView view{oid, open_->position, table.relation, table.last_truncate};
  TableCursor cursor(store_, snapshot.get(), view, first_.position);
  RETURN_IF_ERROR(cursor.Start(std::nullopt));
  uint64_t rows = 0;
  uint64_t key_sum = 0;
  for (;;) {
    ASSIGN_OR_RETURN(const bool found, cursor.Next());
    if (!found) return rows == rewrite.rows && key_sum == rewrite.key_sum;
    ++rows;
    key_sum += HashKey(cursor.key());
  }
}

// Each row that came was there: here it is seen whether one was left out, or came twice.
Status Applier::EndRewrite(base::TableOid oid) {
  const auto found = open_->rewrites.find(oid);
  if (found == open_->rewrites.end()) return {};
  const OpenRewrite rewrite = std::move(found->second);
  open_->rewrites.erase(found);
  Table* table = FindTable(oid);
  if (!table->applies) return {};
  ASSIGN_OR_RETURN(const bool are_all, AreAllRows(oid, *table, rewrite));
  if (are_all) return {};
  CHECK(open_->next_seq > 0);
  const Place place{open_->position, base::Seq{open_->next_seq - 1}};
  std::string what =
      fmt::format("the {} rows of the rewrite of {} at {} are not those of the history", rewrite.rows,
                  table->relation->QualifiedName(), base::FormatPosition(place.position));
  base::LogError("{}; the table is not followed any further", what);
  AddEvent(oid, table, TableEvent{place, EventKind::kContradiction, {}, 0, std::move(what)});
  return {};
}

Status Applier::EndRewrites() {
  while (!open_->rewrites.empty()) RETURN_IF_ERROR(EndRewrite(open_->rewrites.begin()->first));
  return {};
}

}  // namespace varve::history
