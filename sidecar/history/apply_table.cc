// SPDX-License-Identifier: PostgreSQL
#include <algorithm>

#include <fmt/format.h>

#include "sidecar/base/check.h"
#include "sidecar/base/log.h"
#include "sidecar/history/applier.h"
#include "sidecar/history/bag.h"
#include "sidecar/history/projection.h"
#include "sidecar/history/step_reader.h"
#include "sidecar/types/key.h"

namespace varve::history {

using base::ErrorCode;
using base::Fail;
using base::Result;
using base::Status;
using store::Family;

namespace {

constexpr base::Position kEndOfTime{UINT64_MAX};

// Why rows of the new version have other key bytes than those of the old one; empty when they do not.
std::string KeyDifference(const model::Relation& before, const model::Relation& after) {
  const auto old_key = before.KeyColumns();
  const auto new_key = after.KeyColumns();
  if (old_key.empty() && new_key.empty()) return BagDifference(before, after);
  if (new_key.empty()) {
    return fmt::format(
        "it has no usable key any more (`alter table {} replica identity using index …` or "
        "`full` with a primary key gives it one)",
        after.QualifiedName());
  }
  const bool same = std::equal(old_key.begin(), old_key.end(), new_key.begin(), new_key.end(),
                               [&](const model::Column* a, const model::Column* b) {
                                 return a->attnum == b->attnum &&
                                        (IsReadable(before, *a, after, *b) || types::AreIntegers(*a, *b));
                               });
  return same ? std::string() : "its key changed to other columns or another type";
}

}  // namespace

Applier::Table* Applier::FindTable(base::TableOid oid) {
  const auto [found, is_new] = tables_.try_emplace(oid);
  Table& table = found->second;
  if (is_new && catalog_->HasTable(oid)) {
    table.relation = catalog_->VersionAt(oid, Timeline::EndOf(kEndOfTime));
    table.applies = !catalog_->StopAt(oid, kEndOfTime).has_value();
    table.last_truncate = catalog_->LastTruncate(oid, kEndOfTime);
    NoteBag(oid, &table);
  }
  return &table;
}

// What older rows have does not change any more once a column is there.
void Applier::NoteBag(base::TableOid oid, Table* table) {
  table->bag.reset();
  if (table->relation == nullptr || !table->relation->KeyColumns().empty()) return;
  table->bag = std::make_shared<const model::RowDefaults>(
      catalog_->DefaultsOfOlderRows(oid, table->relation->attribute_count));
}

void Applier::AddEvent(base::TableOid oid, Table* table, TableEvent event) {
  if (event.kind == EventKind::kTruncate) table->last_truncate = event.place;
  // What is no event of its own but the reason of one is counted with that.
  const bool is_definition = event.kind != EventKind::kTruncate && event.kind != EventKind::kKeyChange &&
                             event.kind != EventKind::kContradiction;
  if (table->applies && is_definition) ++open_->record.tables[oid].definitions;
  pending_.Put(Family::kCatalog, store::EventKey(oid, event.place, event.kind),
               store::EncodeEvent(store::EventRecord{event.version, event.definition, event.text}));
  const bool stops = table->applies && IsStop(event.kind);
  const TableEvent stop = event;
  catalog_->AddEvent(oid, std::move(event));
  if (!stops) return;
  table->applies = false;
  // A contradiction has said more already.
  if (stop.kind != EventKind::kContradiction) base::LogWarning("{}", DescribeStop(*catalog_, oid, stop));
}

// The number of the definition, which is stored when it is not yet.
Result<uint16_t> Applier::KeepRelation(const RelationPtr& relation) {
  bool is_new = false;
  const uint16_t definition = catalog_->AddRelation(relation, &is_new);
  const store::RelationId id{relation->version, definition};
  if (is_new || lost_relations_.count(id) != 0) {
    pending_.Put(Family::kCatalog, store::RelationKey(id.version, id.definition),
                 store::EncodeRelation(*relation));
    lost_relations_.erase(id);
    pending_relations_.insert(id);
  }
  return definition;
}

// A table begins to exist, or has another relation version or definition, with the first change that says so.
Status Applier::NoteVersion(const model::Change& change, Place place, Table* table) {
  CHECK(change.relation != nullptr);
  const model::Relation& relation = *change.relation;
  if (table->seen == &relation) return {};
  if (table->relation != nullptr && *table->relation == relation) {
    table->seen = &relation;
    return {};
  }
  // A transaction that began before somebody else's DDL without a lock, such as ALTER TYPE, writes its rows
  // as it saw the table. They are kept as such; the table stays what the DDL made of it. What a table becomes
  // again, a change of its own says.
  if (model::IsRowChange(change.op) && catalog_->HadRelation(change.table, relation)) return {};
  if (relation.oid != change.table || model::ComputeVersion(relation) != relation.version) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("the relation message of {} does not match its version {:016x}",
                            relation.QualifiedName(), relation.version.value));
  }
  const RelationPtr before = table->relation;
  table->relation = std::make_shared<const model::Relation>(relation);
  table->seen = &relation;
  ASSIGN_OR_RETURN(const uint16_t definition, KeepRelation(table->relation));
  AddEvent(change.table, table, TableEvent{place, EventKind::kVersion, relation.version, definition, {}});
  NoteBag(change.table, table);
  if (before == nullptr) {
    AddEvent(change.table, table, TableEvent{place, EventKind::kLate, {}, 0, {}});
  } else if (table->applies) {
    std::string difference = KeyDifference(*before, relation);
    if (!difference.empty()) {
      AddEvent(change.table, table,
               TableEvent{place, EventKind::kKeyChange, relation.version, 0, std::move(difference)});
    }
  }
  return {};
}

Status Applier::ApplyTruncate(const model::Change& change, Place place, Table* table) {
  ++open_->changes[change.table];
  if (!table->applies) return {};
  store::LogRecord record;
  record.op = model::Op::kTruncate;
  record.table = change.table;
  record.version = change.relation->version;
  record.cascade = change.truncate_cascade;
  record.restart_identity = change.truncate_restart_identity;
  pending_.Put(Family::kLog, store::LogKey(place), store::EncodeLog(record));
  AddEvent(change.table, table, TableEvent{place, EventKind::kTruncate, {}, 0, {}});
  ++open_->record.tables[change.table].truncates;
  return {};
}

}  // namespace varve::history
