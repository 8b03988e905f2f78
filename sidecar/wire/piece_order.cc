// SPDX-License-Identifier: PostgreSQL
#include "sidecar/wire/piece_order.h"

#include <fmt/format.h>

#include "sidecar/wire/malformed.h"

namespace varve::wire {
namespace {

using base::Status;
using model::Op;
using model::Staged;

// The last change of a prepared transaction, and the only one of its end, names it; no other change may.
bool NeedsGid(const model::TransactionPiece& piece) {
  return piece.commit && piece.staged != Staged::kNone && piece.staged != Staged::kStreamCommit;
}

bool HasChanges(const model::TransactionPiece& piece) {
  return piece.staged == Staged::kNone || piece.staged == Staged::kPrepared ||
         piece.staged == Staged::kStreamed;
}

Status CheckContents(const model::Batch& batch, const model::TransactionPiece& piece) {
  const size_t end = piece.first_change + piece.count;
  const bool needs_gid = NeedsGid(piece);
  if (needs_gid && (piece.count == 0 || batch.changes[end - 1].op != Op::kGid)) {
    return Malformed(fmt::format("transaction {} is prepared without an identifier", piece.xid));
  }
  for (size_t i = piece.first_change; i < end; ++i) {
    if (batch.changes[i].op == Op::kGid && !(needs_gid && i == end - 1)) {
      return Malformed(fmt::format("an identifier in the middle of transaction {}", piece.xid));
    }
  }
  if (!HasChanges(piece) && piece.count != (needs_gid ? 1 : 0)) {
    return Malformed(fmt::format("{} changes in the end of transaction {}", piece.count, piece.xid));
  }
  if (piece.staged == Staged::kStreamed && piece.count == 0) {
    return Malformed(fmt::format("a block without changes of transaction {}", piece.xid));
  }
  if (piece.non_transactional &&
      (piece.count != 1 || !piece.commit || batch.changes[piece.first_change].op != Op::kMessage)) {
    return Malformed("something other than one message outside any transaction");
  }
  return {};
}

}  // namespace

Status PieceOrder::TakeChanges(const model::Batch& batch, const model::TransactionPiece& piece,
                               uint32_t* next_seq) {
  for (size_t i = piece.first_change; i < piece.first_change + piece.count; ++i) {
    if (batch.changes[i].seq.value != *next_seq) {
      return Malformed(fmt::format("change {} of transaction {} where {} was expected",
                                   batch.changes[i].seq.value, piece.xid, *next_seq));
    }
    ++*next_seq;
  }
  return {};
}

// Commits come in their order. A PREPARE is not one, and may come late or again.
Status PieceOrder::TakeEnd(const model::TransactionPiece& piece) {
  if (piece.staged == Staged::kPrepared || piece.staged == Staged::kStreamPrepare) return {};
  if (piece.end_lsn <= last_end_lsn_) {
    return Malformed(fmt::format("transaction {} ends at {}, not after the one before, which ends at {}",
                                 piece.xid, base::FormatLsn(piece.end_lsn), base::FormatLsn(last_end_lsn_)));
  }
  last_end_lsn_ = piece.end_lsn;
  return {};
}

Status PieceOrder::CheckWhole(const model::TransactionPiece& piece) {
  if (piece.begin) {
    RETURN_IF_ERROR(TakeEnd(piece));
    open_ = piece;
    next_seq_ = 0;
  } else if (piece.end_lsn != open_.end_lsn || piece.xid != open_.xid || piece.staged != open_.staged) {
    return Malformed(fmt::format("a piece of transaction {} inside transaction {}", piece.xid, open_.xid));
  }
  transaction_open_ = !piece.commit;
  return {};
}

Status PieceOrder::CheckStreamed(const model::TransactionPiece& piece) {
  if (piece.begin != !streams_.contains(piece.xid)) {
    return Malformed(fmt::format("streamed transaction {} {}", piece.xid,
                                 piece.begin ? "begins again" : "goes on without its beginning"));
  }
  bool& rolled_back = streams_[piece.xid].subtransactions[piece.subxid];
  if (rolled_back) {
    return Malformed(
        fmt::format("a change of subtransaction {} of {}, which rolled back", piece.subxid, piece.xid));
  }
  return {};
}

Status PieceOrder::CheckStreamEnd(const model::TransactionPiece& piece) {
  const auto stream = streams_.find(piece.xid);
  if (stream == streams_.end()) {
    return Malformed(fmt::format("the end of streamed transaction {}, which never began", piece.xid));
  }
  if (piece.staged != Staged::kStreamAbort) return TakeEnd(piece);
  if (piece.subxid == piece.xid) return {};
  const auto subtransaction = stream->second.subtransactions.find(piece.subxid);
  if (subtransaction == stream->second.subtransactions.end() || subtransaction->second) {
    return Malformed(fmt::format("a rollback of subtransaction {} of {}, of which nothing is left",
                                 piece.subxid, piece.xid));
  }
  subtransaction->second = true;
  return {};
}

Status PieceOrder::CheckPiece(const model::Batch& batch, const model::TransactionPiece& piece) {
  const bool whole = piece.staged == Staged::kNone || piece.staged == Staged::kPrepared ||
                     piece.staged == Staged::kCommitPrepared || piece.staged == Staged::kRollbackPrepared;
  if (whole ? piece.begin == transaction_open_ : transaction_open_) {
    return Malformed(fmt::format("transaction {} {} another is {}", piece.xid,
                                 piece.begin ? "begins while" : "goes on where",
                                 transaction_open_ ? "open" : "missing"));
  }
  RETURN_IF_ERROR(CheckContents(batch, piece));
  if (whole) {
    RETURN_IF_ERROR(CheckWhole(piece));
    return TakeChanges(batch, piece, &next_seq_);
  }
  if (piece.staged == Staged::kStreamed) {
    RETURN_IF_ERROR(CheckStreamed(piece));
  } else {
    RETURN_IF_ERROR(CheckStreamEnd(piece));
  }
  RETURN_IF_ERROR(TakeChanges(batch, piece, &streams_[piece.xid].next_seq));
  const bool ends = piece.commit || (piece.staged == Staged::kStreamAbort && piece.subxid == piece.xid);
  if (ends) streams_.erase(piece.xid);
  return {};
}

Status PieceOrder::Check(const model::Batch& batch) {
  size_t next_change = 0;
  for (const model::TransactionPiece& piece : batch.pieces) {
    if (piece.first_change != next_change)
      return Malformed("changes that belong to no transaction, or to two");
    next_change += piece.count;
    RETURN_IF_ERROR(CheckPiece(batch, piece));
  }
  if (next_change != batch.changes.size()) return Malformed("changes that belong to no transaction");
  return {};
}

}  // namespace varve::wire
