// SPDX-License-Identifier: PostgreSQL
#include <algorithm>

#include <fmt/format.h>

#include "sidecar/base/check.h"
#include "sidecar/history/applier.h"
#include "sidecar/history/transaction_reader.h"

namespace varve::history {

using base::ErrorCode;
using base::Fail;
using base::Status;
using store::Family;

namespace {

bool HasRows(const model::Batch& batch, const model::TransactionPiece& piece) {
  const auto begin = batch.changes.begin() + static_cast<std::ptrdiff_t>(piece.first_change);
  return std::any_of(begin, begin + static_cast<std::ptrdiff_t>(piece.count),
                     [](const model::Change& change) { return model::IsRowChange(change.op); });
}

// A function in USING may change other tables between the rows; a streamed transaction tells of its tables.
bool EndsRewrite(model::Op op) {
  return op == model::Op::kRewrite || (model::IsRowChange(op) && op != model::Op::kRewriteRow);
}

}  // namespace

base::Position PositionOf(const model::TransactionPiece& piece) {
  constexpr uint8_t kEra = 0;
  return base::Position::Make(kEra, piece.end_lsn);
}

tl::unexpected<base::Error> OutOfOrder(base::Position position, std::string_view what) {
  return Fail(ErrorCode::kInternal,
              fmt::format("the stream contradicts itself at {}: {}", base::FormatPosition(position), what));
}

Applier::Applier(store::Store* store, Catalog* catalog, Visibility* visibility, const ReadPoint& first,
                 const Published& published, uint64_t pending_bytes_max, uint64_t head_cache_bytes_max)
    : store_(store),
      catalog_(catalog),
      visibility_(visibility),
      first_(first),
      pending_bytes_max_(pending_bytes_max),
      heads_(store, first.position, head_cache_bytes_max),
      pending_(store),
      staging_(store),
      published_(published),
      appended_(published) {}

Status Applier::Append(const model::Batch& batch) {
  if (failed_) return Fail(*failed_);
  // The batch before may be gone.
  for (auto& [oid, table] : tables_) table.seen = nullptr;
  staged_relations_.clear();
  for (const model::TransactionPiece& piece : batch.pieces) {
    const Status status =
        piece.staged == model::Staged::kNone ? AppendWhole(batch, piece) : AppendStaged(batch, piece);
    if (!status) {
      failed_ = status.error();
      return status;
    }
  }
  return {};
}

// A position at or below the published one was received before, or holds nothing for us: the server said so
// when it confirmed the position by a keepalive.
Status Applier::AppendWhole(const model::Batch& batch, const model::TransactionPiece& piece) {
  const base::Position position = PositionOf(piece);
  if (position <= published_.through) return CheckKnown(piece, position, HasRows(batch, piece));
  if (piece.first_change > batch.changes.size() || piece.count > batch.changes.size() - piece.first_change) {
    return OutOfOrder(position, "a transaction reaches beyond the changes of its batch");
  }
  RETURN_IF_ERROR(BeginPiece(piece, position));
  std::vector<RowKeys> keys(piece.count);
  RETURN_IF_ERROR(Prefetch(batch, piece, &keys));
  for (size_t i = 0; i < piece.count; ++i) {
    RETURN_IF_ERROR(ApplyChange(batch.changes[piece.first_change + i], &keys[i]));
    if (pending_.bytes() + heads_.dirty_bytes() > pending_bytes_max_) {
      RETURN_IF_ERROR(WritePending(store::Durability::kBuffered));
    }
  }
  if (!piece.commit && !piece.non_transactional) return {};
  open_->record.origin = piece.origin;
  return Commit();
}

// What comes again must be what came before. It is not when the server was restored from a backup of its
// files and went on in another way: system and timeline are the same then. Only changes of rows count, for
// tables may be described again to a new session.
Status Applier::CheckKnown(const model::TransactionPiece& piece, base::Position position,
                           bool has_rows) const {
  if (piece.non_transactional || position <= first_.position || !has_rows) return {};
  const TransactionReader transactions(store_, nullptr);
  ASSIGN_OR_RETURN(const auto known, transactions.At(position));
  if (known && known->record.xid.xid() == piece.xid && known->record.commit_time == piece.commit_time)
    return {};
  return Fail(
      ErrorCode::kConflict,
      fmt::format(
          "the server sends transaction {} of {} at {}, where this history {}: it was restored from a "
          "backup of its files, or another server answers in its place. What is here can be read; to go "
          "on, begin a new history (varve detach, another [store] data_dir)",
          piece.xid, base::FormatTimestamp(piece.commit_time), base::FormatPosition(position),
          known ? fmt::format("has transaction {} of {}", known->record.xid.xid(),
                              base::FormatTimestamp(known->record.commit_time))
                : "has none"));
}

Status Applier::BeginPiece(const model::TransactionPiece& piece, base::Position position) {
  if (piece.begin || piece.non_transactional) {
    if (open_) return OutOfOrder(position, "a transaction begins within another one");
    if (position <= appended_.through) return OutOfOrder(position, "a commit lies before an earlier one");
    open_.emplace();
    open_->position = position;
    open_->xid = piece.xid;
    open_->record.non_transactional = piece.non_transactional;
    open_->record.commit_time = piece.commit_time;
    return {};
  }
  if (!open_ || open_->position != position) {
    return OutOfOrder(position, "a transaction goes on that did not begin");
  }
  return {};
}

Status Applier::ApplyChange(const model::Change& change, RowKeys* keys) {
  const Place place{open_->position, change.seq};
  if (change.seq.value < open_->next_seq) {
    return OutOfOrder(place.position,
                      fmt::format("change {} comes after change {}", change.seq.value, open_->next_seq - 1));
  }
  if (!open_->rewrites.empty() && EndsRewrite(change.op)) RETURN_IF_ERROR(EndRewrite(change.table));
  open_->next_seq = change.seq.value + 1;
  changes_applied_.fetch_add(1, std::memory_order_relaxed);
  switch (change.op) {
    case model::Op::kMessage: return ApplyMessage(change, place);
    case model::Op::kInsert:
    case model::Op::kUpdate:
    case model::Op::kDelete: {
      Table* table = FindTable(change.table);
      RETURN_IF_ERROR(NoteVersion(change, place, table));
      ++open_->changes[change.table];
      if (!table->applies) return {};
      return ApplyRow(change, place, keys, *table);
    }
    case model::Op::kRewriteRow: {
      Table* table = FindTable(change.table);
      RETURN_IF_ERROR(NoteVersion(change, place, table));
      return table->applies ? ApplyRewriteRow(change, place, keys, table) : Status();
    }
    case model::Op::kTruncate:
    case model::Op::kRelation:
    case model::Op::kDrop:
    case model::Op::kUntrack:
    case model::Op::kRewrite: return ApplyTableChange(change, place);
    case model::Op::kGid: return OutOfOrder(place.position, "a prepared transaction that nobody staged");
  }
  CHECK(false);
}

Status Applier::ApplyMessage(const model::Change& change, Place place) {
  store::LogRecord record;
  record.op = model::Op::kMessage;
  record.key = change.old_image;
  record.image = change.new_image;
  record.transactional = change.message_transactional;
  pending_.Put(Family::kLog, store::LogKey(place), store::EncodeLog(record));
  ++open_->record.messages;
  return {};
}

Status Applier::ApplyTableChange(const model::Change& change, Place place) {
  if (change.relation == nullptr) {
    CHECK(change.op == model::Op::kDrop || change.op == model::Op::kUntrack);
    if (!catalog_->HasTable(change.table)) return {};
    const EventKind kind = change.op == model::Op::kDrop ? EventKind::kDrop : EventKind::kUntrack;
    AddEvent(change.table, FindTable(change.table),
             TableEvent{place, kind, {}, 0, std::string(change.new_image)});
    return {};
  }
  Table* table = FindTable(change.table);
  RETURN_IF_ERROR(NoteVersion(change, place, table));
  if (change.op == model::Op::kTruncate) return ApplyTruncate(change, place, table);
  return change.op == model::Op::kRewrite && table->applies ? BeginRewrite(change, place, table) : Status();
}

Status Applier::Commit() {
  RETURN_IF_ERROR(EndRewrites());
  store::TransactionRecord& record = open_->record;
  ReadPoint point{open_->position, record.commit_time, std::nullopt};
  appended_.through = open_->position;
  if (record.non_transactional) {
    // It changes no state and has no commit: nothing resolves to it.
    record.running_max = appended_.running_max;
    if (record.commit_time.micros == 0) record.commit_time = appended_.running_max;
  } else {
    record.xid = Widen(open_->xid);
    record.in_log = record.messages != 0 || !record.tables.empty();
    record.running_max = std::max(appended_.running_max, record.commit_time);
    point.xid = record.xid;
    appended_.running_max = record.running_max;
    // What the log does not list changed nothing: no reference but its own xid leads to it.
    if (record.in_log) {
      appended_.last = point;
      pending_.Put(Family::kTimeIndex, store::TimeKey(record.running_max, open_->position), {});
    }
    pending_.Put(Family::kXidIndex, store::XidKey(record.xid, open_->position), {});
    transactions_applied_.fetch_add(1, std::memory_order_relaxed);
  }
  pending_.Put(Family::kTransaction, store::PositionKey(open_->position), store::EncodeTransaction(record));
  for (const auto& [table, changes] : open_->changes) appended_changes_[table] += changes;
  open_.reset();
  return {};
}

// The 64-bit number nearest to the last one seen: the server never has two xids in use that are further apart
// than half the range.
base::FullXid Applier::Widen(uint32_t xid) {
  const auto distance = static_cast<int32_t>(xid - xid_near_.xid());
  const auto full = static_cast<int64_t>(xid_near_.value) + distance;
  const base::FullXid widened{full < 0 ? xid : static_cast<uint64_t>(full)};
  xid_near_ = std::max(xid_near_, widened);
  return widened;
}

}  // namespace varve::history
