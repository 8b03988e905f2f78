// SPDX-License-Identifier: PostgreSQL
#include "sidecar/wire/decoder.h"

#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "sidecar/base/check.h"
#include "sidecar/wire/malformed.h"
#include "sidecar/wire/relation_reader.h"
#include "stream_generated.h"

namespace varve::wire {
namespace {

using base::Result;
using base::Status;

constexpr size_t kPrefixBytes = 4;
constexpr uint16_t kNoRelation = 0xFFFF;
// Begin, Commit and NonTransactional: what comes without the options streaming and two_phase.
constexpr uint32_t kFlagsMax = 7;
// Of PREPARE TRANSACTION: GIDSIZE without the zero at its end.
constexpr size_t kGidBytesMax = 199;
constexpr int kVerifierDepthMax = 16;
constexpr int kVerifierTablesMax = 1'000'000;

std::string ReadBytes(const flatbuffers::Vector<uint8_t>* bytes) {
  if (bytes == nullptr) return {};
  return std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size());
}

// The verifier takes structs with 64-bit fields at any multiple of 4; to read them there is undefined.
template <typename Struct>
bool IsAligned(const Struct* place) {
  return reinterpret_cast<uintptr_t>(place) % alignof(Struct) == 0;
}
template <typename Struct>
bool IsAligned(const flatbuffers::Vector<const Struct*>* structs) {
  return structs == nullptr || reinterpret_cast<uintptr_t>(structs->Data()) % alignof(Struct) == 0;
}

// The verified table in `bytes`. FlatBuffers 2.0.8 takes no byte less or more than the prefix says, and reads
// 64-bit fields without regard to alignment: `bytes` is a heap string, aligned to 16.
Result<const stream::Batch*> Verify(const std::string& bytes) {
  if (bytes.size() <= 2 * kPrefixBytes) return Malformed(fmt::format("{} bytes", bytes.size()));
  CHECK(reinterpret_cast<uintptr_t>(bytes.data()) % alignof(uint64_t) == 0);
  const auto* data = reinterpret_cast<const uint8_t*>(bytes.data());
  const uint64_t framed = uint64_t{flatbuffers::ReadScalar<uint32_t>(data)} + kPrefixBytes;
  if (framed != bytes.size()) {
    return Malformed(fmt::format("{} bytes where its size prefix says {}", bytes.size(), framed));
  }
  flatbuffers::Verifier verifier(data, bytes.size(), kVerifierDepthMax, kVerifierTablesMax);
  if (!stream::VerifySizePrefixedBatchBuffer(verifier)) return Malformed("not a valid Batch buffer (VRV1)");
  const stream::Batch* batch = stream::GetSizePrefixedBatch(data);
  if (!IsAligned(batch->session()) || !IsAligned(batch->refs()) || !IsAligned(batch->transactions()) ||
      !IsAligned(batch->changes()) || !IsAligned(batch->origins())) {
    return Malformed("structs at a place that is not aligned");
  }
  return batch;
}

model::Handshake ReadHandshake(const stream::Handshake& wire) {
  model::Handshake handshake;
  handshake.plugin_version = ReadBytes(wire.plugin_version());
  handshake.server_version_num = wire.server_version_num();
  handshake.system_identifier = wire.system_identifier();
  handshake.timeline = wire.timeline();
  handshake.database_oid = wire.database_oid();
  handshake.database = ReadBytes(wire.database());
  handshake.slot = ReadBytes(wire.slot());
  handshake.encoding = ReadBytes(wire.encoding());
  handshake.next_full_xid = wire.next_full_xid();
  return handshake;
}

Result<std::string_view> HeapPart(const flatbuffers::Vector<uint8_t>* heap, uint32_t offset,
                                  uint32_t length) {
  const uint64_t size = heap == nullptr ? 0 : heap->size();
  if (uint64_t{offset} + length > size) {
    return Malformed(fmt::format("bytes {}+{} of a heap of {}", offset, length, size));
  }
  if (length == 0) return std::string_view();
  return std::string_view(reinterpret_cast<const char*>(heap->data()) + offset, length);
}

bool Has(uint8_t flags, stream::ChangeFlag flag) { return (flags & static_cast<uint8_t>(flag)) != 0; }
bool Has(uint32_t flags, stream::TransactionFlag flag) { return (flags & static_cast<uint32_t>(flag)) != 0; }

// The relation that each ref names; null where the ref has version 0.
using Refs = std::vector<std::shared_ptr<const model::Relation>>;

// Whether a change of this kind carries what it must.
Status CheckShape(const model::Change& change) {
  const bool has_new = !change.new_image.empty();
  const bool has_old = !change.old_image.empty();
  bool good = false;
  switch (change.op) {
    case model::Op::kRewriteRow:
    case model::Op::kInsert: good = has_new && !has_old; break;
    case model::Op::kUpdate: good = has_new; break;
    case model::Op::kDelete: good = !has_new; break;
    case model::Op::kTruncate:
    case model::Op::kRelation:
    case model::Op::kRewrite:
    case model::Op::kDrop: good = !has_new && !has_old; break;
    case model::Op::kUntrack: good = !has_old; break;
    case model::Op::kMessage: good = true; break;
    case model::Op::kGid: good = !has_old && change.new_image.size() <= kGidBytesMax; break;
  }
  if (good) return {};
  return Malformed(fmt::format("{} with a new image of {} bytes and an old image of {}",
                               model::OpName(change.op), change.new_image.size(), change.old_image.size()));
}

Result<model::Change> ReadChange(const stream::Change& wire, const stream::Batch& batch, const Refs& refs,
                                 bool allow_staged) {
  if (wire.op() > static_cast<uint8_t>(stream::Op::MAX)) {
    return Malformed(fmt::format("a change of the unknown kind {}", wire.op()));
  }
  model::Change change;
  change.op = static_cast<model::Op>(wire.op());
  change.seq = base::Seq{wire.seq()};
  ASSIGN_OR_RETURN(change.new_image, HeapPart(batch.heap(), wire.new_off(), wire.new_len()));
  ASSIGN_OR_RETURN(change.old_image, HeapPart(batch.heap(), wire.old_off(), wire.old_len()));
  change.old_is_full = Has(wire.flags(), stream::ChangeFlag::OldIsFull);
  change.truncate_cascade = Has(wire.flags(), stream::ChangeFlag::TruncateCascade);
  change.truncate_restart_identity = Has(wire.flags(), stream::ChangeFlag::TruncateRestart);
  change.message_transactional = Has(wire.flags(), stream::ChangeFlag::MessageTransactional);
  change.rewrite_rows = Has(wire.flags(), stream::ChangeFlag::RewriteRows);
  if (change.op == model::Op::kGid && !allow_staged) {
    return Malformed("a prepared transaction, which was not asked for");
  }
  RETURN_IF_ERROR(CheckShape(change));
  if (change.op == model::Op::kMessage || change.op == model::Op::kGid) {
    if (wire.relation() != kNoRelation) {
      return Malformed(fmt::format("a {} that names a relation", model::OpName(change.op)));
    }
    return change;
  }
  if (wire.relation() >= refs.size()) {
    return Malformed(fmt::format("relation index {} of {}", wire.relation(), refs.size()));
  }
  change.relation = refs[wire.relation()].get();
  change.table = base::TableOid{batch.refs()->Get(wire.relation())->oid()};
  const bool needs_version = change.op != model::Op::kDrop && change.op != model::Op::kUntrack;
  if (needs_version != (change.relation != nullptr)) {
    return Malformed(
        fmt::format("{} with{} a relation version", model::OpName(change.op), needs_version ? "out" : ""));
  }
  return change;
}

// What the flags beside Begin and Commit say, and whether those two go with it.
Result<model::Staged> ReadStaged(uint32_t flags) {
  using Flag = stream::TransactionFlag;
  const bool begin = Has(flags, Flag::Begin);
  const bool commit = Has(flags, Flag::Commit);
  model::Staged staged = model::Staged::kNone;
  bool good = true;
  switch (flags & ~3u) {
    case 0:
    case static_cast<uint32_t>(Flag::NonTransactional): break;
    case static_cast<uint32_t>(Flag::Streamed):
      staged = commit ? model::Staged::kStreamCommit : model::Staged::kStreamed;
      good = !(begin && commit);
      break;
    case static_cast<uint32_t>(Flag::Streamed) | static_cast<uint32_t>(Flag::Abort):
      staged = model::Staged::kStreamAbort;
      good = !begin && !commit;
      break;
    case static_cast<uint32_t>(Flag::Streamed) | static_cast<uint32_t>(Flag::Prepared):
      staged = model::Staged::kStreamPrepare;
      good = !begin && commit;
      break;
    case static_cast<uint32_t>(Flag::Prepared): staged = model::Staged::kPrepared; break;
    case static_cast<uint32_t>(Flag::CommitPrepared):
      staged = model::Staged::kCommitPrepared;
      good = begin && commit;
      break;
    case static_cast<uint32_t>(Flag::RollbackPrepared):
      staged = model::Staged::kRollbackPrepared;
      good = begin && commit;
      break;
    default: good = false;
  }
  if (!good) return Malformed(fmt::format("a transaction of an unknown kind (flags {})", flags));
  return staged;
}

Result<model::TransactionPiece> ReadPiece(const stream::Transaction& wire, size_t change_count,
                                          bool allow_staged) {
  if (uint64_t{wire.first_change()} + wire.count() > change_count) {
    return Malformed(fmt::format("changes {}+{} of {}", wire.first_change(), wire.count(), change_count));
  }
  if (!allow_staged && wire.flags() > kFlagsMax) {
    return Malformed(fmt::format("a transaction of a kind that was not asked for (flags {})", wire.flags()));
  }
  model::TransactionPiece piece;
  ASSIGN_OR_RETURN(piece.staged, ReadStaged(wire.flags()));
  if (piece.staged == model::Staged::kStreamed || piece.staged == model::Staged::kStreamAbort) {
    if (wire.position() > UINT32_MAX || wire.position() == 0) {
      return Malformed(fmt::format("the impossible subtransaction {}", wire.position()));
    }
    piece.subxid = static_cast<uint32_t>(wire.position());
  } else {
    if ((wire.position() & ~base::Position::kLsnMask) != 0 || wire.position() == 0) {
      return Malformed(fmt::format("the impossible LSN {}", base::FormatLsn(base::Lsn{wire.position()})));
    }
    piece.subxid = wire.xid();
    piece.end_lsn = base::Lsn{wire.position()};
  }
  piece.commit_time = base::Timestamp{wire.commit_time()};
  piece.xid = wire.xid();
  piece.first_change = wire.first_change();
  piece.count = wire.count();
  piece.begin = Has(wire.flags(), stream::TransactionFlag::Begin);
  piece.commit = Has(wire.flags(), stream::TransactionFlag::Commit);
  piece.non_transactional = Has(wire.flags(), stream::TransactionFlag::NonTransactional);
  return piece;
}

Status ReadOrigins(const stream::Batch& wire, model::Batch* batch) {
  if (wire.origins() == nullptr) return {};
  for (const stream::Origin* origin : *wire.origins()) {
    if (origin->transaction() >= batch->pieces.size()) {
      return Malformed(
          fmt::format("the origin of transaction {} of {}", origin->transaction(), batch->pieces.size()));
    }
    model::TransactionPiece& piece = batch->pieces[origin->transaction()];
    if (origin->id() == 0 || !piece.commit || piece.non_transactional || piece.origin.has_value()) {
      return Malformed(fmt::format("an origin in the wrong place of transaction {}", piece.xid));
    }
    ASSIGN_OR_RETURN(const std::string_view name,
                     HeapPart(wire.heap(), origin->name_off(), origin->name_len()));
    piece.origin = model::Origin{origin->id(), std::string(name), base::Lsn{origin->lsn()}};
  }
  return {};
}

}  // namespace

std::string FormatSession(SessionId session) {
  return fmt::format("{:016x}{:016x}", session.high, session.low);
}

Result<model::Batch> Decoder::Decode(std::string_view message) {
  if (message.size() > kMessageBytesMax) {
    return Malformed(fmt::format("{} bytes (at most {})", message.size(), kMessageBytesMax));
  }
  model::Batch batch;
  batch.bytes.assign(message);
  ASSIGN_OR_RETURN(const stream::Batch* wire, Verify(batch.bytes));
  const SessionId session =
      wire->session() == nullptr ? SessionId{} : SessionId{wire->session()->high(), wire->session()->low()};
  if (session != session_) {
    return Malformed(
        fmt::format("session {} where {} was asked for", FormatSession(session), FormatSession(session_)));
  }
  if (wire->sequence() != next_sequence_) {
    return Malformed(fmt::format("sequence {} where {} was expected: messages are missing", wire->sequence(),
                                 next_sequence_));
  }
  if ((wire->handshake() != nullptr) != (next_sequence_ == 0)) {
    return Malformed("the handshake belongs in the first message of a session and in no other");
  }
  if (wire->handshake() != nullptr) batch.handshake = ReadHandshake(*wire->handshake());
  if (wire->relations() != nullptr) {
    for (const stream::Relation* wire_relation : *wire->relations()) {
      ASSIGN_OR_RETURN(auto relation, ReadRelation(*wire_relation));
      relations_[relation->version] = relation;
      batch.relations.push_back(std::move(relation));
    }
  }
  if (wire->refs() != nullptr) {
    for (const stream::RelationRef* ref : *wire->refs()) {
      std::shared_ptr<const model::Relation> relation;
      if (ref->version() != 0) {
        const auto found = relations_.find(base::RelationVersion{ref->version()});
        if (found == relations_.end() || found->second->oid.value != ref->oid()) {
          return Malformed(fmt::format("relation version {:016x} of table {} was never described",
                                       ref->version(), ref->oid()));
        }
        relation = found->second;
      }
      batch.keep_alive.push_back(std::move(relation));
    }
  }
  const size_t change_count = wire->changes() == nullptr ? 0 : wire->changes()->size();
  batch.changes.reserve(change_count);
  for (size_t i = 0; i < change_count; ++i) {
    ASSIGN_OR_RETURN(model::Change change,
                     ReadChange(*wire->changes()->Get(i), *wire, batch.keep_alive, allow_staged_));
    batch.changes.push_back(change);
  }
  if (wire->transactions() != nullptr) {
    for (const stream::Transaction* wire_piece : *wire->transactions()) {
      ASSIGN_OR_RETURN(model::TransactionPiece piece, ReadPiece(*wire_piece, change_count, allow_staged_));
      batch.pieces.push_back(piece);
    }
  }
  RETURN_IF_ERROR(ReadOrigins(*wire, &batch));
  RETURN_IF_ERROR(order_.Check(batch));
  ++next_sequence_;
  return batch;
}

}  // namespace varve::wire
