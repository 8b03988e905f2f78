// SPDX-License-Identifier: PostgreSQL
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "sidecar/base/check.h"
#include "sidecar/base/log.h"
#include "sidecar/history/applier.h"
#include "sidecar/types/key.h"

namespace varve::history {

using base::Error;
using base::ErrorCode;
using base::Fail;
using base::Result;
using base::Status;
using model::CellKind;
using store::Family;
using store::VersionRecord;

namespace {

// The code of a Contradiction inside the applier, which tells it from a failure of the store.
constexpr ErrorCode kContradicts = ErrorCode::kConflict;

bool IsRow(model::Op op) { return model::IsRowChange(op) && op != model::Op::kTruncate; }

// Leaves only the values of columns that both versions have with values that read alike.
void ForgetOtherTypes(const model::Relation& from, const model::Relation& to,
                      std::vector<model::Cell>* cells) {
  for (size_t i = 0; i < cells->size(); ++i) {
    const auto attnum = static_cast<uint16_t>(i + 1);
    const model::Column* before = from.FindAttnum(attnum);
    const model::Column* after = to.FindAttnum(attnum);
    const bool alike = before != nullptr && after != nullptr && before->form == after->form &&
                       before->width == after->width && types::SameRepresentation(*before, *after);
    if (!alike) (*cells)[i] = model::Cell{};
  }
}

}  // namespace

bool HasUnchanged(const std::vector<model::Cell>& cells) {
  return std::any_of(cells.begin(), cells.end(),
                     [](const model::Cell& cell) { return cell.kind == CellKind::kUnchanged; });
}

bool TakeUnchanged(const std::vector<model::Cell>& old_cells, std::vector<model::Cell>* cells) {
  bool complete = true;
  for (size_t i = 0; i < cells->size(); ++i) {
    if ((*cells)[i].kind != CellKind::kUnchanged) continue;
    if (i < old_cells.size() && old_cells[i].kind == CellKind::kValue) {
      (*cells)[i] = old_cells[i];
    } else {
      complete = false;
    }
  }
  return complete;
}

// The words for a change that does not fit what is stored. The key is shown as a person would write it.
Error Applier::Contradiction(const model::Change& change, Place place, std::string_view what) {
  std::string key;
  std::vector<model::Cell> cells;
  const std::string_view image = change.op == model::Op::kDelete ? change.old_image : change.new_image;
  if (change.relation->KeyColumns().empty()) {
    key = "(none)";
  } else if (!model::DecodeImageInto(*change.relation, image, &cells) ||
             !types::AppendKeyJson(*change.relation, cells, &key)) {
    key = "(unreadable)";
  }
  return Error{kContradicts, fmt::format("{} of {} key {} at {} change {}: {}", model::OpName(change.op),
                                         change.relation->QualifiedName(), key,
                                         base::FormatPosition(place.position), place.seq.value, what)};
}

// Keys first, for all changes of the piece, so that their heads are read together. What fails here fails
// again, with a message, when its turn comes.
Status Applier::Prefetch(const model::Batch& batch, const model::TransactionPiece& piece,
                         std::vector<RowKeys>* keys) {
  std::vector<std::string_view> row_keys;
  row_keys.reserve(piece.count);
  for (size_t i = 0; i < piece.count; ++i) {
    const model::Change& change = batch.changes[piece.first_change + i];
    if (!IsRow(change.op)) continue;
    const Table* table = FindTable(change.table);
    if (!table->applies || table->bag != nullptr) continue;
    RowKeys& row = (*keys)[i];
    if (!MakeKeys(change, &row)) continue;
    row_keys.push_back(row.now);
    if (!row.before.empty()) row_keys.push_back(row.before);
  }
  return heads_.Prefetch(row_keys);
}

Status Applier::MakeKeys(const model::Change& change, RowKeys* keys) {
  const model::Relation& relation = *change.relation;
  if (!change.old_image.empty()) {
    RETURN_IF_ERROR(model::DecodeImageInto(relation, change.old_image, &old_cells_));
  } else if (change.op == model::Op::kDelete) {
    return Fail(ErrorCode::kInternal,
                fmt::format("a delete of {} came without the old key: its replica identity is not usable",
                            relation.QualifiedName()));
  }
  if (change.op == model::Op::kDelete) {
    ASSIGN_OR_RETURN(const std::string key, types::EncodeKey(relation, old_cells_));
    keys->now = store::RowKey(change.table, key);
    keys->ready = true;
    return {};
  }
  RETURN_IF_ERROR(model::DecodeImageInto(relation, change.new_image, &cells_));
  keys->unchanged_cells = HasUnchanged(cells_);
  if (keys->unchanged_cells && !change.old_image.empty()) TakeUnchanged(old_cells_, &cells_);
  ASSIGN_OR_RETURN(const std::string key, types::EncodeKey(relation, cells_));
  keys->now = store::RowKey(change.table, key);
  if (change.op == model::Op::kUpdate && !change.old_image.empty()) {
    ASSIGN_OR_RETURN(const std::string old_key, types::EncodeKey(relation, old_cells_));
    if (old_key != key) keys->before = store::RowKey(change.table, old_key);
  }
  keys->ready = true;
  return {};
}

// A change that does not fit ends what is known of its table, not of the others: their changes go on, and the
// slot with them.
Status Applier::ApplyRow(const model::Change& change, Place place, RowKeys* keys, const Table& table) {
  const auto apply = [&]() -> Status {
    if (table.bag != nullptr) {
      RETURN_IF_ERROR(MakeBagKeys(change, place, table, keys));
    } else if (!keys->ready) {
      const Status made = MakeKeys(change, keys);
      if (!made) return Fail(Contradiction(change, place, made.error().message));
    }
    switch (change.op) {
      case model::Op::kInsert: return ApplyInsert(change, place, *keys, table);
      case model::Op::kUpdate: return ApplyUpdate(change, place, *keys, table);
      case model::Op::kDelete: return ApplyDelete(change, place, *keys, table);
      default: break;
    }
    CHECK(false);
  };
  const Status applied = apply();
  if (applied) {
    store::TableCountsRecord& counts = open_->record.tables[change.table];
    ++(change.op == model::Op::kInsert   ? counts.inserts
       : change.op == model::Op::kUpdate ? counts.updates
                                         : counts.deletes);
    return {};
  }
  if (applied.error().code != kContradicts) return applied;
  base::LogError("{}; the table is not followed any further", applied.error().message);
  AddEvent(change.table, FindTable(change.table),
           TableEvent{place, EventKind::kContradiction, {}, 0, applied.error().message});
  return {};
}

Result<std::optional<VersionRecord>> Applier::LiveRow(const HeadCache::Head& head, const Table& table) {
  if (!head.exists()) return std::optional<VersionRecord>();
  ASSIGN_OR_RETURN(const VersionRecord record, store::DecodeVersion(head.record));
  if (record.tombstone || (table.last_truncate && record.start < *table.last_truncate)) {
    return std::optional<VersionRecord>();
  }
  return std::optional<VersionRecord>(record);
}

// Only the first change of a row in a transaction ends a version that readers can see.
void Applier::FileRewind(const HeadCache::Head& head, std::string_view row_key, Place place) {
  if (!head.exists()) return;
  const auto record = store::DecodeVersion(head.record);
  CHECK(record.has_value());  // LiveRow has decoded it
  if (record->start.position == place.position) return;
  pending_.Put(Family::kRewind, store::RewindKey(row_key, place.position), head.record);
}

Status Applier::ApplyInsert(const model::Change& change, Place place, const RowKeys& keys,
                            const Table& table) {
  if (keys.unchanged_cells) return Fail(Contradiction(change, place, "an inserted row lacks a value"));
  ASSIGN_OR_RETURN(HeadCache::Head* const head, heads_.Find(keys.now));
  ASSIGN_OR_RETURN(const auto live, LiveRow(*head, table));
  if (live) return Fail(Contradiction(change, place, "there is a row with this key already"));
  FileRewind(*head, keys.now, place);
  LogRow(change, place, keys, std::nullopt, change.new_image);
  VersionRecord record;
  record.start = place;
  record.version = change.relation->version;
  record.image = change.new_image;
  heads_.Set(head, keys.now, store::EncodeVersion(record));
  return {};
}

Status Applier::ApplyUpdate(const model::Change& change, Place place, const RowKeys& keys,
                            const Table& table) {
  const bool key_changed = !keys.before.empty();
  const std::string& old_row_key = key_changed ? keys.before : keys.now;
  ASSIGN_OR_RETURN(HeadCache::Head* const old_head, heads_.Find(old_row_key));
  ASSIGN_OR_RETURN(const auto before, LiveRow(*old_head, table));
  if (!before) return Fail(Contradiction(change, place, "there is no such row"));
  HeadCache::Head* new_head = old_head;
  if (key_changed) {
    ASSIGN_OR_RETURN(new_head, heads_.Find(keys.now));
    ASSIGN_OR_RETURN(const auto occupied, LiveRow(*new_head, table));
    if (occupied) return Fail(Contradiction(change, place, "there is a row with its new key already"));
  }
  std::string filled;
  if (keys.unchanged_cells) {
    ASSIGN_OR_RETURN(filled, FillUnchanged(change, *before, place));
  }
  // The key that the row had before this transaction, so that its history can be followed.
  std::string previous_key;
  if (before->start.position == place.position) previous_key = before->previous_key;
  if (key_changed && previous_key.empty()) previous_key = store::RowKeyBytes(keys.before);
  if (previous_key == store::RowKeyBytes(keys.now)) previous_key.clear();

  VersionRecord record;
  record.start = place;
  record.version = change.relation->version;
  record.previous_key = previous_key;
  record.image = keys.unchanged_cells ? std::string_view(filled) : change.new_image;
  const std::string encoded = store::EncodeVersion(record);
  LogRow(change, place, keys, before, record.image);
  FileRewind(*old_head, old_row_key, place);
  if (!key_changed) {
    heads_.Set(old_head, old_row_key, encoded);
    return {};
  }
  FileRewind(*new_head, keys.now, place);
  VersionRecord gone;
  gone.start = place;
  gone.tombstone = true;
  gone.moved = true;
  gone.version = change.relation->version;
  heads_.Set(old_head, old_row_key, store::EncodeVersion(gone));
  heads_.Set(new_head, keys.now, encoded);
  return {};
}

Status Applier::ApplyDelete(const model::Change& change, Place place, const RowKeys& keys,
                            const Table& table) {
  ASSIGN_OR_RETURN(HeadCache::Head* const head, heads_.Find(keys.now));
  ASSIGN_OR_RETURN(const auto before, LiveRow(*head, table));
  if (!before) return Fail(Contradiction(change, place, "there is no such row"));
  LogRow(change, place, keys, before, {});
  FileRewind(*head, keys.now, place);
  VersionRecord gone;
  gone.start = place;
  gone.tombstone = true;
  gone.version = change.relation->version;
  heads_.Set(head, keys.now, store::EncodeVersion(gone));
  return {};
}

// Values that PostgreSQL did not log because they are stored out of line and did not change. When the row
// before cannot be shown whole under the new version, these columns still can where they read alike.
Result<std::string> Applier::FillUnchanged(const model::Change& change, const VersionRecord& before,
                                           Place place) {
  const model::Relation& relation = *change.relation;
  RETURN_IF_ERROR(model::DecodeImageInto(relation, change.new_image, &cells_));
  if (!change.old_image.empty()) {
    RETURN_IF_ERROR(model::DecodeImageInto(relation, change.old_image, &old_cells_));
    TakeUnchanged(old_cells_, &cells_);
  }
  ASSIGN_OR_RETURN(const RelationPtr target, catalog_->FindRelation(relation.version));
  const auto projection = catalog_->Project(change.table, before.version, target);
  std::vector<model::Cell> stored;
  if (projection) {
    RETURN_IF_ERROR((*projection)->Decode(before.image, &stored));
  } else {
    ASSIGN_OR_RETURN(const RelationPtr source, catalog_->FindRelation(before.version));
    RETURN_IF_ERROR(model::DecodeImageInto(*source, before.image, &stored));
    ForgetOtherTypes(*source, relation, &stored);
  }
  if (!TakeUnchanged(stored, &cells_)) {
    const auto left = std::find_if(cells_.begin(), cells_.end(),
                                   [](const model::Cell& cell) { return cell.kind == CellKind::kUnchanged; });
    const model::Column* column = relation.FindAttnum(static_cast<uint16_t>(left - cells_.begin() + 1));
    CHECK(column != nullptr);
    return Fail(Contradiction(
        change, place,
        fmt::format("column {} is unchanged, but the row before has no value for it", column->name)));
  }
  std::string image;
  model::EncodeImage(relation, cells_, &image);
  return image;
}

void Applier::LogRow(const model::Change& change, Place place, const RowKeys& keys,
                     const std::optional<VersionRecord>& before, std::string_view image) {
  store::LogRecord record;
  record.op = change.op;
  record.table = change.table;
  record.version = change.relation->version;
  record.key = store::RowKeyBytes(keys.now);
  if (!keys.before.empty()) record.previous_key = store::RowKeyBytes(keys.before);
  if (before) {
    const bool same_transaction = before->start.position == place.position;
    record.before = same_transaction ? store::BeforeAt::kInline : store::BeforeAt::kRewind;
    if (same_transaction) {
      record.before_version = before->version;
      record.before_image = before->image;
    }
  }
  record.image = image;
  pending_.Put(Family::kLog, store::LogKey(place), store::EncodeLog(record));
}

}  // namespace varve::history
