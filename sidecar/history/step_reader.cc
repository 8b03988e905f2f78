// SPDX-License-Identifier: PostgreSQL
#include "sidecar/history/step_reader.h"

#include <algorithm>

#include "sidecar/base/check.h"
#include "sidecar/history/records.h"
#include "sidecar/history/schema_words.h"

namespace varve::history {

using base::ErrorCode;
using base::Fail;
using base::Result;
using base::Status;
using store::Family;

StepReader::StepReader(const store::Store* store, const store::Snapshot* snapshot, const Catalog* catalog,
                       const ReadPoint& first)
    : store_(store),
      snapshot_(snapshot),
      catalog_(catalog),
      point_(first),
      versions_(store, snapshot, first.position),
      transactions_(store, snapshot),
      painter_(catalog) {}

std::string DescribeStop(const Catalog& catalog, base::TableOid table, const TableEvent& event) {
  return StopError(catalog.TableName(table, event.place.position), event).message;
}

Result<ReadPoint> StepReader::PointAt(base::Position position) {
  if (point_.position == position) return point_;
  ASSIGN_OR_RETURN(const auto entry, transactions_.At(position));
  if (!entry) {
    return Fail(ErrorCode::kInternal, "the store lacks the transaction at " + base::FormatPosition(position));
  }
  point_ = PointOf(position, entry->record);
  return point_;
}

void StepReader::CollectEvents(base::Position from, base::Position to, std::optional<base::TableOid> table) {
  events_.clear();
  for (const base::TableOid oid : catalog_->TableOids()) {
    if (table && *table != oid) continue;
    for (TableEvent& event : catalog_->Events(oid, from, to)) events_.emplace_back(oid, std::move(event));
  }
  std::stable_sort(events_.begin(), events_.end(), [](const SchemaEvent& a, const SchemaEvent& b) {
    return a.second.place < b.second.place;
  });
}

Status StepReader::Walk(base::Position from, base::Position to, std::optional<base::TableOid> table,
                        const ChangeCallback& callback) {
  if (from >= to) return {};
  CollectEvents(from, to, table);
  store::Iterator log = store_->NewIterator(Family::kLog, store::PositionKey(base::Position{from.value + 1}),
                                            store::PositionKey(base::Position{to.value + 1}), snapshot_);
  for (log.SeekToFirst(); log.Valid(); log.Next()) {
    const auto place = store::ParseLogKey(log.key());
    if (!place) return Fail(ErrorCode::kInternal, "the store holds a damaged log key");
    ASSIGN_OR_RETURN(const store::LogRecord record, store::DecodeLog(log.value()));
    ASSIGN_OR_RETURN(bool more, ShowEvents(*place, callback));
    if (!more) return {};
    if (table && *table != record.table) continue;
    ASSIGN_OR_RETURN(more, ShowStep(*place, record, callback));
    if (!more) return {};
  }
  RETURN_IF_ERROR(log.status());
  RETURN_IF_ERROR(ShowEvents(Timeline::EndOf(to), callback));
  return {};
}

Result<bool> StepReader::ShowEvents(store::Place up_to, const ChangeCallback& callback) {
  while (!events_.empty() && events_.front().second.place <= up_to) {
    const SchemaEvent event = std::move(events_.front());
    events_.pop_front();
    ASSIGN_OR_RETURN(const bool more, ShowEvent(event, callback));
    if (!more) return false;
  }
  return true;
}

Result<bool> StepReader::ShowEvent(const SchemaEvent& event, const ChangeCallback& callback) {
  const auto& [table, what] = event;
  ChangeView view;
  view.kind = ChangeKind::kSchema;
  view.seq = what.place.seq;
  ASSIGN_OR_RETURN(view.point, PointAt(what.place.position));
  const RelationPtr relation = catalog_->VersionAt(table, what.place);
  view.relation = relation.get();
  std::vector<std::string> words;
  if (IsStop(what.kind)) {
    words.push_back(DescribeStop(*catalog_, table, what));
  } else if (const RelationPtr before = catalog_->VersionBefore(table, what.place)) {
    words = DescribeSchemaChange(*before, *relation);
  }
  for (std::string& sentence : words) {
    view.detail = std::move(sentence);
    ASSIGN_OR_RETURN(const bool more, callback(view));
    if (!more) return false;
  }
  return true;
}

Result<bool> StepReader::ShowStep(store::Place place, const store::LogRecord& record,
                                  const ChangeCallback& callback) {
  ChangeView view;
  view.seq = place.seq;
  ASSIGN_OR_RETURN(view.point, PointAt(place.position));
  if (record.op == model::Op::kMessage) {
    view.kind = ChangeKind::kMessage;
    view.message_prefix = record.key;
    view.message_content = record.image;
    return callback(view);
  }
  ASSIGN_OR_RETURN(const RelationPtr relation, catalog_->FindRelationAt(record.table, record.version, place));
  view.relation = relation.get();
  if (record.op == model::Op::kTruncate) {
    view.kind = ChangeKind::kTruncate;
    return callback(view);
  }
  return ShowRow(place, record, &view, callback);
}

Result<bool> StepReader::ShowRow(store::Place place, const store::LogRecord& record, ChangeView* view,
                                 const ChangeCallback& callback) {
  ASSIGN_OR_RETURN(const RelationPtr relation, catalog_->FindRelationAt(record.table, record.version, place));
  ShownRow before;
  ShownRow after;
  RowVersion stored;
  if (record.before == store::BeforeAt::kRewind) {
    const std::string_view key = record.previous_key.empty() ? record.key : record.previous_key;
    ASSIGN_OR_RETURN(auto ended, versions_.EndedAt(record.table, key, place.position));
    if (!ended) {
      return Fail(ErrorCode::kInternal, "the store lacks a before-image of " + relation->QualifiedName() +
                                            " at " + base::FormatPosition(place.position));
    }
    stored = std::move(*ended);
  } else if (record.before == store::BeforeAt::kInline) {
    stored.start.position = place.position;
    stored.version = record.before_version;
    stored.image = record.before_image;
  }
  if (record.before != store::BeforeAt::kNone) {
    RETURN_IF_ERROR(
        painter_.Paint(record.table, relation, stored.version, stored.image, stored.start.position, &before));
    view->before = &before.row;
  }
  if (record.op != model::Op::kDelete) {
    RETURN_IF_ERROR(
        painter_.Paint(record.table, relation, record.version, record.image, place.position, &after));
    view->after = &after.row;
  }
  switch (record.op) {
    case model::Op::kInsert: view->kind = ChangeKind::kInsert; break;
    case model::Op::kUpdate: view->kind = ChangeKind::kUpdate; break;
    case model::Op::kDelete: view->kind = ChangeKind::kDelete; break;
    default: return Fail(ErrorCode::kInternal, "the store holds a damaged log entry");
  }
  if (view->before != nullptr && view->after != nullptr) view->changed = DifferentCells(before, after);
  return callback(*view);
}

}  // namespace varve::history
