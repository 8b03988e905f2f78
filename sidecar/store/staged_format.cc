// SPDX-License-Identifier: PostgreSQL
#include <fmt/format.h>

#include "sidecar/store/bytes.h"
#include "sidecar/store/record_format.h"

namespace varve::store {
namespace {

constexpr uint8_t kOldIsFull = 1;
constexpr uint8_t kCascade = 2;
constexpr uint8_t kRestartIdentity = 4;
constexpr uint8_t kTransactional = 8;
constexpr uint8_t kRewriteRows = 16;
constexpr uint8_t kFlags = 31;

tl::unexpected<base::Error> Damaged(std::string_view what) {
  return base::Fail(base::ErrorCode::kInternal, fmt::format("the store holds a damaged {}", what));
}

}  // namespace

std::string EncodeStagedChange(const StagedChange& record) {
  std::string out;
  out.reserve(32 + record.new_image.size() + record.old_image.size());
  ByteWriter writer(&out);
  writer.U8(static_cast<uint8_t>(record.op));
  writer.U8(static_cast<uint8_t>(
      (record.old_is_full ? kOldIsFull : 0) | (record.truncate_cascade ? kCascade : 0) |
      (record.truncate_restart_identity ? kRestartIdentity : 0) |
      (record.message_transactional ? kTransactional : 0) | (record.rewrite_rows ? kRewriteRows : 0)));
  writer.U32(record.subxid).U32(record.table.value);
  writer.U64(record.relation.version.value).U16(record.relation.definition);
  writer.String(record.old_image).Raw(record.new_image);
  return out;
}

base::Result<StagedChange> DecodeStagedChange(std::string_view bytes) {
  ByteReader reader(bytes);
  StagedChange record;
  const uint8_t op = reader.U8();
  const uint8_t flags = reader.U8();
  record.subxid = reader.U32();
  record.table.value = reader.U32();
  record.relation.version.value = reader.U64();
  record.relation.definition = reader.U16();
  record.old_image = reader.String();
  const bool whole = reader.ok();
  record.new_image = reader.Rest();
  if (!whole || op > static_cast<uint8_t>(model::Op::kRewriteRow) ||
      op == static_cast<uint8_t>(model::Op::kGid) || (flags & ~kFlags) != 0) {
    return Damaged("staged change");
  }
  record.op = static_cast<model::Op>(op);
  record.old_is_full = (flags & kOldIsFull) != 0;
  record.truncate_cascade = (flags & kCascade) != 0;
  record.truncate_restart_identity = (flags & kRestartIdentity) != 0;
  record.message_transactional = (flags & kTransactional) != 0;
  record.rewrite_rows = (flags & kRewriteRows) != 0;
  return record;
}

std::string EncodeStagedDefinition(const StagedDefinition& record) {
  std::string out;
  ByteWriter(&out).U32(record.subxid).U8(static_cast<uint8_t>(record.op)).U32(record.table.value);
  return out;
}

base::Result<StagedDefinition> DecodeStagedDefinition(std::string_view bytes) {
  ByteReader reader(bytes);
  StagedDefinition record;
  record.subxid = reader.U32();
  record.op = static_cast<model::Op>(reader.U8());
  record.table.value = reader.U32();
  if (!reader.AtEnd() || !model::IsDefinition(record.op)) return Damaged("staged definition");
  return record;
}

std::string EncodePrepared(const PreparedRecord& record) {
  std::string out;
  ByteWriter(&out)
      .U64(record.stage)
      .U64(record.xid.value)
      .U64(record.position.value)
      .I64(record.time.micros)
      .U64(record.changes)
      .U8(record.comes_again ? 1 : 0);
  return out;
}

base::Result<PreparedRecord> DecodePrepared(std::string_view bytes) {
  ByteReader reader(bytes);
  PreparedRecord record;
  record.stage = reader.U64();
  record.xid.value = reader.U64();
  record.position.value = reader.U64();
  record.time.micros = reader.I64();
  record.changes = reader.U64();
  const uint8_t comes_again = reader.U8();
  if (!reader.AtEnd() || comes_again > 1) return Damaged("prepared transaction");
  record.comes_again = comes_again == 1;
  return record;
}

}  // namespace varve::store
