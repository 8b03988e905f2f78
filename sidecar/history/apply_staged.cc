// SPDX-License-Identifier: PostgreSQL
#include <utility>

#include <fmt/format.h>

#include "sidecar/base/check.h"
#include "sidecar/history/applier.h"
#include "sidecar/history/stage_reader.h"

// Transactions that come before they commit. Their changes wait in a stage; at the commit they are applied
// from there as if they had come whole.
namespace varve::history {

using base::ErrorCode;
using base::Fail;
using base::Result;
using base::Status;
using model::Staged;

namespace {

// Of a stage, in memory at once.
constexpr size_t kApplyBytes = size_t{1} << 20;

std::string_view GidOf(const model::Batch& batch, const model::TransactionPiece& piece) {
  CHECK(piece.count > 0);  // the order of pieces says so
  const model::Change& last = batch.changes[piece.first_change + piece.count - 1];
  CHECK(last.op == model::Op::kGid);
  return last.new_image;
}

}  // namespace

Status Applier::AppendStaged(const model::Batch& batch, const model::TransactionPiece& piece) {
  if (open_) return OutOfOrder(PositionOf(piece), "a transaction goes on within another one");
  switch (piece.staged) {
    case Staged::kNone: break;
    case Staged::kStreamed: return StageChanges(batch, piece);
    case Staged::kStreamAbort: return AbortStaged(piece);
    case Staged::kStreamCommit: return CommitStreamed(piece);
    case Staged::kPrepared:
      preparing_ = !piece.commit;
      RETURN_IF_ERROR(StageChanges(batch, piece));
      return piece.commit ? Prepare(piece, GidOf(batch, piece)) : Status();
    case Staged::kStreamPrepare: return Prepare(piece, GidOf(batch, piece));
    case Staged::kCommitPrepared:
    case Staged::kRollbackPrepared: return EndPrepared(piece, GidOf(batch, piece));
  }
  CHECK(false);
}

Status Applier::StageChanges(const model::Batch& batch, const model::TransactionPiece& piece) {
  Staging::Stage* stage = staging_.Find(piece.xid);
  if (piece.begin != (stage == nullptr)) {
    return OutOfOrder(PositionOf(piece), fmt::format("transaction {} does not follow itself", piece.xid));
  }
  if (stage == nullptr) stage = staging_.Begin(piece.xid);
  for (size_t i = piece.first_change; i < piece.first_change + piece.count; ++i) {
    const model::Change& change = batch.changes[i];
    if (change.op == model::Op::kGid) continue;
    store::StagedChange staged;
    staged.subxid = piece.staged == Staged::kStreamed ? piece.subxid : piece.xid;
    staged.op = change.op;
    staged.table = change.table;
    ASSIGN_OR_RETURN(staged.relation, StageRelation(change));
    staged.new_image = change.new_image;
    staged.old_image = change.old_image;
    staged.old_is_full = change.old_is_full;
    staged.truncate_cascade = change.truncate_cascade;
    staged.truncate_restart_identity = change.truncate_restart_identity;
    staged.message_transactional = change.message_transactional;
    staged.rewrite_rows = change.rewrite_rows;
    Staging::Add(stage, change.seq, staged, &pending_);
    if (pending_.bytes() + heads_.dirty_bytes() > pending_bytes_max_) {
      RETURN_IF_ERROR(WritePending(store::Durability::kBuffered));
    }
  }
  return {};
}

// Kept with the staged rows: the session that described it may be over when they commit.
Result<store::RelationId> Applier::StageRelation(const model::Change& change) {
  if (change.relation == nullptr) return store::RelationId{};
  const auto [id, is_new] = staged_relations_.try_emplace(change.relation);
  if (!is_new) return id->second;
  const model::Relation& relation = *change.relation;
  if (relation.oid != change.table || model::ComputeVersion(relation) != relation.version) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("the relation message of {} does not match its version {:016x}",
                            relation.QualifiedName(), relation.version.value));
  }
  id->second.version = relation.version;
  ASSIGN_OR_RETURN(id->second.definition, KeepRelation(std::make_shared<const model::Relation>(relation)));
  return id->second;
}

Status Applier::AbortStaged(const model::TransactionPiece& piece) {
  Staging::Stage* stage = staging_.Find(piece.xid);
  if (stage == nullptr) {
    return OutOfOrder(published_.through,
                      fmt::format("transaction {}, of which nothing came, rolls back", piece.xid));
  }
  if (piece.subxid == piece.xid) {
    staging_.Drop(piece.xid, &pending_);
  } else {
    Staging::Void(stage, piece.subxid, &pending_);
  }
  return {};
}

Status Applier::CommitStreamed(const model::TransactionPiece& piece) {
  const Staging::Stage* stage = staging_.Find(piece.xid);
  const base::Position position = PositionOf(piece);
  if (stage == nullptr) {
    return OutOfOrder(position, fmt::format("transaction {}, of which nothing came, commits", piece.xid));
  }
  if (position <= published_.through) {
    RETURN_IF_ERROR(CheckKnown(piece, position, stage->rows > 0));
  } else {
    RETURN_IF_ERROR(ApplyStage(stage->number, piece));
  }
  staging_.Drop(piece.xid, &pending_);
  return {};
}

// Never skipped by its position. It comes below what is published when it came before (then its end may be
// published as well, and comes again too), or when it was prepared before the slot kept transactions in two
// phases: then the server sends it with its end, whenever that is not published. Either way it must not
// outlive the session, unless it waits here already.
Status Applier::Prepare(const model::TransactionPiece& piece, std::string_view gid) {
  const base::Position position = PositionOf(piece);
  if (staging_.Find(piece.xid) == nullptr) {
    return OutOfOrder(position, fmt::format("transaction {}, of which nothing came, is prepared", piece.xid));
  }
  store::PreparedRecord record;
  record.xid = Widen(piece.xid);
  record.position = position;
  record.time = piece.commit_time;
  record.comes_again = position <= published_.through;
  staging_.Prepare({piece.xid, std::string(gid)}, record, &pending_);
  // All commits before it have come. So it is synced before anything at or above it is published.
  return Advance(position);
}

Status Applier::EndPrepared(const model::TransactionPiece& piece, std::string_view gid) {
  const base::Position position = PositionOf(piece);
  const store::PreparedId id{piece.xid, std::string(gid)};
  const store::PreparedRecord* prepared = staging_.FindPrepared(id);
  const bool commits = piece.staged == Staged::kCommitPrepared;
  if (position <= published_.through) {
    if (prepared == nullptr) return {};
    if (commits) RETURN_IF_ERROR(CheckKnown(piece, position, prepared->changes > 0));
    staging_.Forget(id, &pending_);
    return {};
  }
  if (prepared == nullptr) {
    if (!commits) return Advance(position);
    return Fail(
        ErrorCode::kHistoryGap,
        fmt::format("transaction {}, prepared as '{}', was committed at {}, but what it changed never "
                    "came: somebody else has read the slot when it was prepared. What is here can be "
                    "read; to go on, begin a new history (varve detach, another [store] data_dir)",
                    piece.xid, gid, base::FormatPosition(position)));
  }
  if (commits) RETURN_IF_ERROR(ApplyStage(prepared->stage, piece));
  staging_.End(id);
  return Advance(position);
}

// Without anything left it is no transaction, as one without changes that comes whole is none.
Status Applier::ApplyStage(uint64_t stage, const model::TransactionPiece& end) {
  // What waits in memory the reader does not see.
  RETURN_IF_ERROR(WritePending(store::Durability::kBuffered));
  StageReader reader(store_, catalog_, stage);
  RETURN_IF_ERROR(reader.Open());
  if (!reader.Valid()) return Advance(PositionOf(end));
  model::TransactionPiece piece = end;
  piece.staged = Staged::kNone;
  piece.first_change = 0;
  piece.begin = true;
  do {
    ASSIGN_OR_RETURN(const model::Batch batch, reader.Read(kApplyBytes));
    for (auto& [oid, table] : tables_) table.seen = nullptr;
    piece.count = batch.changes.size();
    piece.commit = !reader.Valid();
    RETURN_IF_ERROR(AppendWhole(batch, piece));
    piece.begin = false;
  } while (reader.Valid());
  return {};
}

}  // namespace varve::history
