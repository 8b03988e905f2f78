// SPDX-License-Identifier: PostgreSQL
#include "sidecar/history/catalog.h"

#include <utility>

#include <fmt/format.h>

#include "sidecar/base/check.h"
#include "sidecar/store/record_format.h"

namespace varve::history {

using base::ErrorCode;
using base::Fail;
using base::Result;
using base::Status;
using store::CatalogTag;
using store::Family;

namespace {

// Hands every value of a catalog tag to `take`.
Status WalkTag(const store::Store& store, CatalogTag tag,
               const std::function<Status(std::string_view key, std::string_view value)>& take) {
  const std::string prefix = store::CatalogKey(tag);
  store::Iterator it = store.NewIterator(Family::kCatalog, prefix, store::PrefixEnd(prefix));
  for (it.SeekToFirst(); it.Valid(); it.Next()) RETURN_IF_ERROR(take(it.key(), it.value()));
  return it.status();
}

}  // namespace

void Catalog::Clear() {
  base::MutexLock lock(&mutex_);
  relations_.clear();
  tables_.clear();
}

Status Catalog::Load(const store::Store& store) {
  Clear();
  RETURN_IF_ERROR(LoadRelations(store));
  RETURN_IF_ERROR(LoadEvents(store));
  return LoadChanges(store);
}

Status Catalog::LoadRelations(const store::Store& store) {
  return WalkTag(store, CatalogTag::kRelation,
                 [this](std::string_view key, std::string_view value) -> Status {
                   const auto id = store::ParseRelationKey(key);
                   ASSIGN_OR_RETURN(model::Relation relation, store::DecodeRelation(value));
                   if (!id || id->version != relation.version) {
                     return Fail(ErrorCode::kInternal, "the store holds a damaged key of a relation version");
                   }
                   base::MutexLock lock(&mutex_);
                   relations_[id->version][id->definition] =
                       std::make_shared<const model::Relation>(std::move(relation));
                   return {};
                 });
}

Status Catalog::LoadEvents(const store::Store& store) {
  return WalkTag(store, CatalogTag::kEvent, [this](std::string_view key, std::string_view value) -> Status {
    const auto id = store::ParseEventKey(key);
    if (!id) return Fail(ErrorCode::kInternal, "the store holds a damaged key of a table event");
    ASSIGN_OR_RETURN(store::EventRecord record, store::DecodeEvent(value));
    TableEvent event{id->place, id->kind, record.version, record.definition, std::move(record.text)};
    base::MutexLock lock(&mutex_);
    if (id->kind == EventKind::kVersion && RelationOf(&event) == nullptr) {
      return Fail(ErrorCode::kInternal, fmt::format("the store lacks relation version {:016x} of table {}",
                                                    record.version.value, id->table.value));
    }
    tables_[id->table].timeline.Add(std::move(event));
    return {};
  });
}

Status Catalog::LoadChanges(const store::Store& store) {
  return WalkTag(store, CatalogTag::kChanges, [this](std::string_view key, std::string_view value) -> Status {
    const auto table = store::RowKeyTable(key.substr(1));
    if (!table) return Fail(ErrorCode::kInternal, "the store holds a damaged key of a change count");
    ASSIGN_OR_RETURN(const uint64_t changes, store::DecodeNumber(value));
    AddChanges(*table, changes);
    return {};
  });
}

uint16_t Catalog::AddRelation(const RelationPtr& relation, bool* is_new) {
  base::MutexLock lock(&mutex_);
  std::map<uint16_t, RelationPtr>& definitions = relations_[relation->version];
  for (const auto& [number, definition] : definitions) {
    if (*definition == *relation) {
      *is_new = false;
      return number;
    }
  }
  *is_new = true;
  const auto number = static_cast<uint16_t>(definitions.empty() ? 0 : definitions.rbegin()->first + 1);
  definitions.emplace(number, relation);
  return number;
}

void Catalog::AddEvent(base::TableOid table, TableEvent event) {
  base::MutexLock lock(&mutex_);
  tables_[table].timeline.Add(std::move(event));
}

void Catalog::AddChanges(base::TableOid table, uint64_t changes) {
  base::MutexLock lock(&mutex_);
  tables_[table].changes += changes;
}

uint64_t Catalog::Changes(base::TableOid table) const {
  base::MutexLock lock(&mutex_);
  const Table* found = TableLocked(table);
  return found == nullptr ? 0 : found->changes;
}

void Catalog::DropAbove(base::Position position) {
  base::MutexLock lock(&mutex_);
  for (auto it = tables_.begin(); it != tables_.end();) {
    it->second.timeline.DropAbove(position);
    // A table that was only seen above the position is unknown again.
    it = it->second.timeline.events().empty() ? tables_.erase(it) : std::next(it);
  }
}

const Catalog::Table* Catalog::TableLocked(base::TableOid table) const {
  const auto found = tables_.find(table);
  return found == tables_.end() ? nullptr : &found->second;
}

RelationPtr Catalog::RelationLocked(base::RelationVersion version) const {
  const auto found = relations_.find(version);
  return found == relations_.end() || found->second.empty() ? nullptr : found->second.begin()->second;
}

RelationPtr Catalog::RelationOf(const TableEvent* event) const {
  if (event == nullptr) return nullptr;
  const auto found = relations_.find(event->version);
  if (found == relations_.end()) return nullptr;
  const auto definition = found->second.find(event->definition);
  return definition == found->second.end() ? nullptr : definition->second;
}

bool Catalog::HasTable(base::TableOid table) const {
  base::MutexLock lock(&mutex_);
  return TableLocked(table) != nullptr;
}

std::vector<base::TableOid> Catalog::TableOids() const {
  base::MutexLock lock(&mutex_);
  std::vector<base::TableOid> oids;
  for (const auto& [oid, table] : tables_) oids.push_back(oid);
  return oids;
}

std::string Catalog::NameLocked(base::TableOid oid, const Table& table, base::Position position) const {
  const RelationPtr relation = RelationOf(table.timeline.VersionAt(position));
  return relation == nullptr ? fmt::format("table {}", oid.value) : relation->QualifiedName();
}

std::string Catalog::TableName(base::TableOid table, base::Position position) const {
  base::MutexLock lock(&mutex_);
  const Table* found = TableLocked(table);
  return found == nullptr ? fmt::format("table {}", table.value) : NameLocked(table, *found, position);
}

Result<RelationPtr> Catalog::FindRelation(base::RelationVersion version) const {
  base::MutexLock lock(&mutex_);
  RelationPtr relation = RelationLocked(version);
  if (relation == nullptr) {
    return Fail(ErrorCode::kInternal, fmt::format("the store lacks relation version {:016x}", version.value));
  }
  return relation;
}

Result<RelationPtr> Catalog::FindDefinition(store::RelationId id) const {
  base::MutexLock lock(&mutex_);
  const auto version = relations_.find(id.version);
  if (version != relations_.end()) {
    const auto definition = version->second.find(id.definition);
    if (definition != version->second.end()) return definition->second;
  }
  return Fail(ErrorCode::kInternal, fmt::format("the store lacks definition {} of relation version {:016x}",
                                                id.definition, id.version.value));
}

Result<RelationPtr> Catalog::FindRelationAt(base::TableOid table, base::RelationVersion version,
                                            Place place) const {
  RelationPtr relation = VersionAt(table, place);
  if (relation != nullptr && relation->version == version) return relation;
  return FindRelation(version);
}

Result<TableView> Catalog::ViewAt(base::TableOid table, base::Position position) const {
  base::MutexLock lock(&mutex_);
  const Table* found = TableLocked(table);
  if (found == nullptr) {
    return Fail(ErrorCode::kNotTracked, fmt::format("table {} is not tracked", table.value));
  }
  if (const TableEvent* stop = found->timeline.StopAt(position)) {
    return Fail(StopError(NameLocked(table, *found, position), *stop));
  }
  TableView view{table, position, RelationOf(found->timeline.VersionAt(position)),
                 found->timeline.LastTruncate(position)};
  if (view.relation == nullptr) {
    // Only a table that was first seen later has no version here, and its stop says why it is unreadable.
    const TableEvent* stop = found->timeline.StopAt(base::Position{UINT64_MAX});
    if (stop != nullptr) return Fail(StopError(NameLocked(table, *found, stop->place.position), *stop));
    return Fail(ErrorCode::kNotTracked,
                fmt::format("table {} did not exist at {}", table.value, base::FormatPosition(position)));
  }
  return view;
}

RelationPtr Catalog::VersionAt(base::TableOid table, Place place) const {
  base::MutexLock lock(&mutex_);
  const Table* found = TableLocked(table);
  return found == nullptr ? nullptr : RelationOf(found->timeline.VersionAtPlace(place));
}

RelationPtr Catalog::VersionBefore(base::TableOid table, Place place) const {
  base::MutexLock lock(&mutex_);
  const Table* found = TableLocked(table);
  return found == nullptr ? nullptr : RelationOf(found->timeline.VersionBefore(place));
}

bool Catalog::HadRelation(base::TableOid table, const model::Relation& relation) const {
  base::MutexLock lock(&mutex_);
  const Table* found = TableLocked(table);
  if (found == nullptr) return false;
  for (const TableEvent& event : found->timeline.events()) {
    if (event.kind != EventKind::kVersion || event.version != relation.version) continue;
    const RelationPtr version = RelationOf(&event);
    if (version != nullptr && *version == relation) return true;
  }
  return false;
}

RelationPtr Catalog::FirstWithLocked(const Table& table, uint16_t attnum) const {
  for (const TableEvent& event : table.timeline.events()) {
    if (event.kind != EventKind::kVersion) continue;
    RelationPtr version = RelationOf(&event);
    if (version != nullptr && version->FindAttnum(attnum) != nullptr) return version;
  }
  return nullptr;
}

model::RowDefaults Catalog::DefaultsOfOlderRows(base::TableOid table, uint16_t attribute_count) const {
  model::RowDefaults defaults(attribute_count);
  base::MutexLock lock(&mutex_);
  const Table* found = TableLocked(table);
  for (uint16_t attnum = 1; found != nullptr && attnum <= attribute_count; ++attnum) {
    const RelationPtr first = FirstWithLocked(*found, attnum);
    if (first != nullptr) defaults[attnum - 1U] = first->FindAttnum(attnum)->missing;
  }
  return defaults;
}

Result<Catalog::Origin> Catalog::OriginOf(base::TableOid table, base::RelationVersion from,
                                          const model::Relation& to) const {
  base::MutexLock lock(&mutex_);
  Origin origin;
  origin.relation = RelationLocked(from);
  const Table* found = TableLocked(table);
  if (origin.relation == nullptr || found == nullptr || origin.relation->oid != table) {
    return Fail(ErrorCode::kInternal, fmt::format("the store lacks relation version {:016x} of {}",
                                                  from.value, to.QualifiedName()));
  }
  for (const model::Column& column : to.columns) {
    if (origin.relation->FindAttnum(column.attnum) == nullptr) {
      origin.first_with[column.attnum] = FirstWithLocked(*found, column.attnum);
    }
  }
  return origin;
}

Result<std::shared_ptr<const Projection>> Catalog::Project(base::TableOid table, base::RelationVersion from,
                                                           const RelationPtr& to) const {
  ASSIGN_OR_RETURN(Origin origin, OriginOf(table, from, *to));
  return Projection::Make(std::move(origin.relation), to,
                          [&](uint16_t attnum) { return origin.first_with[attnum]; });
}

Result<RelationPtr> Catalog::AsWritten(base::TableOid table, base::RelationVersion from,
                                       const RelationPtr& to) const {
  ASSIGN_OR_RETURN(Origin origin, OriginOf(table, from, *to));
  return Projection::AsWritten(*origin.relation, *to,
                               [&](uint16_t attnum) { return origin.first_with[attnum]; });
}

std::optional<Place> Catalog::FirstTruncateAfter(base::TableOid table, Place place) const {
  base::MutexLock lock(&mutex_);
  const Table* found = TableLocked(table);
  if (found == nullptr) return std::nullopt;
  return found->timeline.FirstTruncateAfter(place);
}

std::optional<TableEvent> Catalog::StopAt(base::TableOid table, base::Position position) const {
  base::MutexLock lock(&mutex_);
  const Table* found = TableLocked(table);
  const TableEvent* stop = found == nullptr ? nullptr : found->timeline.StopAt(position);
  if (stop == nullptr) return std::nullopt;
  return *stop;
}

std::optional<Place> Catalog::LastTruncate(base::TableOid table, base::Position position) const {
  base::MutexLock lock(&mutex_);
  const Table* found = TableLocked(table);
  if (found == nullptr) return std::nullopt;
  return found->timeline.LastTruncate(position);
}

std::vector<TableEvent> Catalog::Events(base::TableOid table, base::Position from, base::Position to) const {
  base::MutexLock lock(&mutex_);
  std::vector<TableEvent> events;
  const Table* found = TableLocked(table);
  if (found == nullptr) return events;
  for (const TableEvent& event : found->timeline.events()) {
    if (event.place.position > from && event.place.position <= to) events.push_back(event);
  }
  return events;
}

}  // namespace varve::history
