// SPDX-License-Identifier: PostgreSQL
#include <algorithm>
#include <utility>

#include "sidecar/history/history_impl.h"
#include "sidecar/history/records.h"
#include "sidecar/history/row_mapper.h"
#include "sidecar/history/step_reader.h"
#include "sidecar/history/transaction_reader.h"

namespace varve::history {

using base::ErrorCode;
using base::Fail;
using base::Result;
using base::Status;

namespace {

// A stretch (from, to] of a row's life under one key.
struct Segment {
  std::string key;
  base::Position from;
  base::Position to;
  bool linked = false;  // the row came to this key, by an update, from that of the segment before
};

class RowHistoryReader {
 public:
  RowHistoryReader(const store::Store* store, const store::Snapshot* snapshot, const Catalog* catalog,
                   const ReadPoint& first, base::TableOid table, const ChangeCallback& callback)
      : catalog_(catalog),
        table_(table),
        callback_(callback),
        versions_(store, snapshot, first.position),
        transactions_(store, snapshot),
        painter_(catalog) {}

  // False: the callback ended the walk.
  Result<bool> Walk(std::string_view key, base::Position from, base::Position to);

 private:
  Result<std::vector<Segment>> FindSegments(std::string_view key, base::Position from, base::Position to);
  Result<bool> WalkSegment(const Segment& segment);
  bool IsGoneAtOnce(const RowVersion& version) const;
  Result<bool> Step(const RowVersion& version);
  // Shows the end of the current version when a TRUNCATE came before `end`.
  Result<bool> EndByTruncate(base::Position end);
  Result<bool> Show(ChangeKind kind, store::Place place, const RowVersion* after, std::string detail);

  const Catalog* catalog_;
  base::TableOid table_;
  const ChangeCallback& callback_;
  VersionReader versions_;
  TransactionReader transactions_;
  RowPainter painter_;
  std::optional<RowVersion> current_;  // the row as the walk has it, when it is there
};

// A version that a later TRUNCATE of its own transaction removed: nobody ever saw it.
bool RowHistoryReader::IsGoneAtOnce(const RowVersion& version) const {
  const auto truncated = catalog_->FirstTruncateAfter(table_, version.start);
  return truncated && truncated->position == version.start.position;
}

// Backwards from `to`: wherever a version came from another key, the row's life before is under that key.
Result<std::vector<Segment>> RowHistoryReader::FindSegments(std::string_view key, base::Position from,
                                                            base::Position to) {
  std::vector<Segment> segments;
  Segment segment{std::string(key), from, to, false};
  for (;;) {
    std::optional<std::pair<base::Position, std::string>> link;
    const auto find_link = [&](const RowVersion& version, std::optional<base::Position>) -> Result<bool> {
      if (version.start.position > from && !version.previous_key.empty() && !IsGoneAtOnce(version)) {
        link.emplace(version.start.position, version.previous_key);
      }
      return true;
    };
    RETURN_IF_ERROR(versions_.Walk(table_, segment.key, from, segment.to, find_link));
    if (!link) break;
    segment.from = base::Position{link->first.value - 1};
    segment.linked = true;
    Segment earlier{std::move(link->second), from, segment.from, false};
    segments.push_back(std::move(segment));
    segment = std::move(earlier);
  }
  segments.push_back(std::move(segment));
  std::reverse(segments.begin(), segments.end());
  return segments;
}

Result<bool> RowHistoryReader::Walk(std::string_view key, base::Position from, base::Position to) {
  ASSIGN_OR_RETURN(const std::vector<Segment> segments, FindSegments(key, from, to));
  for (const Segment& segment : segments) {
    ASSIGN_OR_RETURN(const bool more, WalkSegment(segment));
    if (!more) return false;
  }
  return EndByTruncate(base::Position{to.value + 1});
}

Result<bool> RowHistoryReader::WalkSegment(const Segment& segment) {
  bool more = true;
  RETURN_IF_ERROR(
      versions_.Walk(table_, segment.key, segment.from, segment.to,
                     [&](const RowVersion& version, std::optional<base::Position>) -> Result<bool> {
                       if (version.start.position <= segment.from) {
                         // What was there before. Of a key that the row came to later it was another row.
                         if (segment.linked || version.tombstone) return true;
                         const auto truncated = catalog_->FirstTruncateAfter(table_, version.start);
                         if (!truncated || truncated->position > segment.from) current_ = version;
                         return true;
                       }
                       ASSIGN_OR_RETURN(more, Step(version));
                       return more;
                     }));
  return more;
}

Result<bool> RowHistoryReader::Step(const RowVersion& version) {
  ASSIGN_OR_RETURN(const bool more, EndByTruncate(version.start.position));
  if (!more) return false;
  if (version.tombstone || IsGoneAtOnce(version)) {
    if (!current_) return true;
    if (!version.tombstone) {
      const auto truncated = catalog_->FirstTruncateAfter(table_, version.start);
      return Show(ChangeKind::kTruncate, *truncated, nullptr, {});
    }
    return Show(ChangeKind::kDelete, version.start, nullptr,
                version.moved ? "the row went on under another key" : "");
  }
  return Show(current_ ? ChangeKind::kUpdate : ChangeKind::kInsert, version.start, &version, {});
}

Result<bool> RowHistoryReader::EndByTruncate(base::Position end) {
  if (!current_) return true;
  const auto truncated = catalog_->FirstTruncateAfter(table_, current_->start);
  if (!truncated || truncated->position >= end) return true;
  return Show(ChangeKind::kTruncate, *truncated, nullptr, {});
}

Result<bool> RowHistoryReader::Show(ChangeKind kind, store::Place place, const RowVersion* after,
                                    std::string detail) {
  ASSIGN_OR_RETURN(const auto transaction, transactions_.At(place.position));
  const RelationPtr relation = catalog_->VersionAt(table_, Timeline::EndOf(place.position));
  if (!transaction || relation == nullptr) {
    return Fail(ErrorCode::kInternal,
                "the store lacks the transaction at " + base::FormatPosition(place.position));
  }
  ChangeView view;
  view.kind = kind;
  view.point = PointOf(place.position, transaction->record);
  view.seq = place.seq;
  view.relation = relation.get();
  view.detail = std::move(detail);
  ShownRow shown_before;
  ShownRow shown_after;
  if (current_) {
    RETURN_IF_ERROR(painter_.Paint(table_, relation, current_->version, current_->image,
                                   current_->start.position, &shown_before));
    view.before = &shown_before.row;
  }
  if (after != nullptr) {
    RETURN_IF_ERROR(
        painter_.Paint(table_, relation, after->version, after->image, after->start.position, &shown_after));
    view.after = &shown_after.row;
  }
  if (current_ && after != nullptr) view.changed = DifferentCells(shown_before, shown_after);
  ASSIGN_OR_RETURN(const bool more, callback_(view));
  current_.reset();
  if (after != nullptr) current_ = *after;
  return more;
}

}  // namespace

Status HistoryImpl::RowHistory(base::TableOid table, std::string_view key, base::Position from,
                               base::Position to, const ChangeCallback& callback) const {
  RETURN_IF_ERROR(visibility_.CheckReadable(from));
  RETURN_IF_ERROR(visibility_.CheckReadable(to));
  RETURN_IF_ERROR(catalog_.ViewAt(table, from));
  // What is known of the row is shown up to where the table's rows stopped being known, and that is said.
  const auto stop = catalog_.StopAt(table, to);
  const base::Position end = stop ? base::Position{stop->place.position.value - 1} : to;
  const auto snapshot = store_->TakeSnapshot();
  RowHistoryReader reader(store_.get(), snapshot.get(), &catalog_, *visibility_.first(), table, callback);
  ASSIGN_OR_RETURN(const bool more, reader.Walk(key, from, end));
  if (!more || !stop) return {};
  const TransactionReader transactions(store_.get(), snapshot.get());
  ASSIGN_OR_RETURN(const auto transaction, transactions.At(stop->place.position));
  if (!transaction) return {};
  const RelationPtr relation = catalog_.VersionAt(table, stop->place);
  ChangeView view;
  view.kind = ChangeKind::kSchema;
  view.point = PointOf(stop->place.position, transaction->record);
  view.seq = stop->place.seq;
  view.relation = relation.get();
  view.detail = DescribeStop(catalog_, table, *stop);
  RETURN_IF_ERROR(callback(view));
  return {};
}

}  // namespace varve::history
