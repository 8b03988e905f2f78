// SPDX-License-Identifier: PostgreSQL
#include "sidecar/wire/decoder.h"

#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "sidecar/base/check.h"
#include "sidecar/wire/relation_reader.h"
#include "stream_generated.h"

namespace varve::wire {
namespace {

using base::ErrorCode;
using base::Fail;
using base::Result;
using base::Status;

constexpr size_t kPrefixBytes = 4;
constexpr uint16_t kNoRelation = 0xFFFF;
// Begin, Commit and NonTransactional: what comes without the options streaming and two_phase.
constexpr uint32_t kFlagsMax = 7;
constexpr int kVerifierDepthMax = 16;
constexpr int kVerifierTablesMax = 1'000'000;

tl::unexpected<base::Error> Malformed(std::string what) {
  return Fail(ErrorCode::kInvalidArgument, "malformed message of the stream: " + std::move(what));
}

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
      !IsAligned(batch->changes())) {
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
    case model::Op::kInsert: good = has_new && !has_old; break;
    case model::Op::kUpdate: good = has_new; break;
    case model::Op::kDelete: good = !has_new; break;
    case model::Op::kTruncate:
    case model::Op::kRelation:
    case model::Op::kRewrite:
    case model::Op::kDrop:
    case model::Op::kUntrack: good = !has_new && !has_old; break;
    case model::Op::kMessage: good = true; break;
    case model::Op::kGid: return Malformed("a prepared transaction, which was not asked for");
  }
  if (good) return {};
  return Malformed(fmt::format("{} with a new image of {} bytes and an old image of {}",
                               model::OpName(change.op), change.new_image.size(), change.old_image.size()));
}

Result<model::Change> ReadChange(const stream::Change& wire, const stream::Batch& batch, const Refs& refs) {
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
  RETURN_IF_ERROR(CheckShape(change));
  if (change.op == model::Op::kMessage) {
    if (wire.relation() != kNoRelation) return Malformed("a message that names a relation");
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

Result<model::TransactionPiece> ReadPiece(const stream::Transaction& wire, size_t change_count) {
  if (uint64_t{wire.first_change()} + wire.count() > change_count) {
    return Malformed(fmt::format("changes {}+{} of {}", wire.first_change(), wire.count(), change_count));
  }
  if ((wire.position() & ~base::Position::kLsnMask) != 0 || wire.position() == 0) {
    return Malformed(fmt::format("the impossible LSN {}", base::FormatLsn(base::Lsn{wire.position()})));
  }
  if (wire.flags() > kFlagsMax) {
    return Malformed(fmt::format("a transaction of a kind that was not asked for (flags {})", wire.flags()));
  }
  model::TransactionPiece piece;
  piece.end_lsn = base::Lsn{wire.position()};
  piece.commit_time = base::Timestamp{wire.commit_time()};
  piece.xid = wire.xid();
  piece.first_change = wire.first_change();
  piece.count = wire.count();
  piece.begin = Has(wire.flags(), stream::TransactionFlag::Begin);
  piece.commit = Has(wire.flags(), stream::TransactionFlag::Commit);
  piece.non_transactional = Has(wire.flags(), stream::TransactionFlag::NonTransactional);
  return piece;
}

}  // namespace

std::string FormatSession(SessionId session) {
  return fmt::format("{:016x}{:016x}", session.high, session.low);
}

Status Decoder::CheckPieces(const model::Batch& batch) {
  size_t next_change = 0;
  for (const model::TransactionPiece& piece : batch.pieces) {
    if (piece.first_change != next_change)
      return Malformed("changes that belong to no transaction, or to two");
    next_change += piece.count;
    if (piece.begin == transaction_open_) {
      return Malformed(fmt::format("transaction {} {} another is {}", piece.xid,
                                   piece.begin ? "begins while" : "goes on where",
                                   piece.begin ? "open" : "missing"));
    }
    if (piece.begin) {
      if (piece.end_lsn <= last_end_lsn_) {
        return Malformed(fmt::format("transaction {} ends at {}, not after the one before, which ends at {}",
                                     piece.xid, base::FormatLsn(piece.end_lsn),
                                     base::FormatLsn(last_end_lsn_)));
      }
      last_end_lsn_ = piece.end_lsn;
      open_xid_ = piece.xid;
      next_seq_ = 0;
    } else if (piece.end_lsn != last_end_lsn_ || piece.xid != open_xid_) {
      return Malformed(fmt::format("a piece of transaction {} inside transaction {}", piece.xid, open_xid_));
    }
    if (piece.non_transactional &&
        (piece.count != 1 || !piece.commit || batch.changes[piece.first_change].op != model::Op::kMessage)) {
      return Malformed("something other than one message outside any transaction");
    }
    for (size_t i = piece.first_change; i < piece.first_change + piece.count; ++i) {
      if (batch.changes[i].seq.value != next_seq_) {
        return Malformed(fmt::format("change {} of transaction {} where {} was expected",
                                     batch.changes[i].seq.value, piece.xid, next_seq_));
      }
      ++next_seq_;
    }
    transaction_open_ = !piece.commit;
  }
  if (next_change != batch.changes.size()) return Malformed("changes that belong to no transaction");
  return {};
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
    ASSIGN_OR_RETURN(model::Change change, ReadChange(*wire->changes()->Get(i), *wire, batch.keep_alive));
    batch.changes.push_back(change);
  }
  if (wire->transactions() != nullptr) {
    for (const stream::Transaction* wire_piece : *wire->transactions()) {
      ASSIGN_OR_RETURN(model::TransactionPiece piece, ReadPiece(*wire_piece, change_count));
      batch.pieces.push_back(piece);
    }
  }
  RETURN_IF_ERROR(CheckPieces(batch));
  ++next_sequence_;
  return batch;
}

}  // namespace varve::wire
