// SPDX-License-Identifier: PostgreSQL
#include "sidecar/store/record_format.h"

#include <fmt/format.h>

#include "sidecar/store/bytes.h"

namespace varve::store {
namespace {

constexpr uint8_t kTombstone = 1;
constexpr uint8_t kMoved = 2;
constexpr uint8_t kPreviousKey = 4;

constexpr uint8_t kBeforeMask = 3;
constexpr uint8_t kKeyChanged = 4;
constexpr uint8_t kTransactional = 8;
constexpr uint8_t kCascade = 16;
constexpr uint8_t kRestartIdentity = 32;

constexpr uint8_t kInLog = 1;
constexpr uint8_t kNonTransactional = 2;
constexpr uint8_t kHasOrigin = 4;

tl::unexpected<base::Error> Damaged(std::string_view what) {
  return base::Fail(base::ErrorCode::kInternal, fmt::format("the store holds a damaged {}", what));
}

}  // namespace

std::string EncodeVersion(const VersionRecord& record) {
  std::string out;
  out.reserve(32 + record.previous_key.size() + record.image.size());
  ByteWriter writer(&out);
  writer.U8(static_cast<uint8_t>((record.tombstone ? kTombstone : 0) | (record.moved ? kMoved : 0) |
                                 (record.previous_key.empty() ? 0 : kPreviousKey)));
  writer.U64(record.start.position.value).U32(record.start.seq.value).U64(record.version.value);
  if (!record.previous_key.empty()) writer.String(record.previous_key);
  writer.Raw(record.image);
  return out;
}

base::Result<VersionRecord> DecodeVersion(std::string_view bytes) {
  ByteReader reader(bytes);
  VersionRecord record;
  const uint8_t flags = reader.U8();
  record.tombstone = (flags & kTombstone) != 0;
  record.moved = (flags & kMoved) != 0;
  record.start.position.value = reader.U64();
  record.start.seq.value = reader.U32();
  record.version.value = reader.U64();
  if ((flags & kPreviousKey) != 0) record.previous_key = reader.String();
  const bool whole = reader.ok();
  record.image = reader.Rest();
  if (!whole || (flags & ~(kTombstone | kMoved | kPreviousKey)) != 0 ||
      record.tombstone != record.image.empty()) {
    return Damaged("row version");
  }
  return record;
}

std::string EncodeLog(const LogRecord& record) {
  std::string out;
  out.reserve(32 + record.key.size() + record.previous_key.size() + record.before_image.size() +
              record.image.size());
  ByteWriter writer(&out);
  writer.U8(static_cast<uint8_t>(record.op));
  writer.U8(static_cast<uint8_t>(
      static_cast<uint8_t>(record.before) | (record.previous_key.empty() ? 0 : kKeyChanged) |
      (record.transactional ? kTransactional : 0) | (record.cascade ? kCascade : 0) |
      (record.restart_identity ? kRestartIdentity : 0)));
  writer.U32(record.table.value).U64(record.version.value).String(record.key);
  if (!record.previous_key.empty()) writer.String(record.previous_key);
  if (record.before == BeforeAt::kInline) {
    writer.U64(record.before_version.value).String(record.before_image);
  }
  writer.Raw(record.image);
  return out;
}

base::Result<LogRecord> DecodeLog(std::string_view bytes) {
  ByteReader reader(bytes);
  LogRecord record;
  const uint8_t op = reader.U8();
  const uint8_t flags = reader.U8();
  record.table.value = reader.U32();
  record.version.value = reader.U64();
  record.key = reader.String();
  if ((flags & kKeyChanged) != 0) record.previous_key = reader.String();
  const uint8_t before = flags & kBeforeMask;
  if (before == static_cast<uint8_t>(BeforeAt::kInline)) {
    record.before_version.value = reader.U64();
    record.before_image = reader.String();
  }
  const bool whole = reader.ok();
  record.image = reader.Rest();
  if (!whole || op > static_cast<uint8_t>(model::Op::kRewrite) ||
      before > static_cast<uint8_t>(BeforeAt::kInline) || (flags & 0xC0) != 0) {
    return Damaged("log entry");
  }
  record.op = static_cast<model::Op>(op);
  record.before = static_cast<BeforeAt>(before);
  record.transactional = (flags & kTransactional) != 0;
  record.cascade = (flags & kCascade) != 0;
  record.restart_identity = (flags & kRestartIdentity) != 0;
  return record;
}

std::string EncodeTransaction(const TransactionRecord& record) {
  std::string out;
  ByteWriter writer(&out);
  writer.U8(static_cast<uint8_t>((record.in_log ? kInLog : 0) |
                                 (record.non_transactional ? kNonTransactional : 0) |
                                 (record.origin ? kHasOrigin : 0)));
  writer.U64(record.xid.value).I64(record.commit_time.micros).I64(record.running_max.micros);
  writer.Varint(record.messages).Varint(record.tables.size());
  for (const auto& [table, counts] : record.tables) {
    writer.U32(table.value).Varint(counts.inserts).Varint(counts.updates);
    writer.Varint(counts.deletes).Varint(counts.truncates).Varint(counts.definitions);
  }
  if (record.origin) writer.U32(record.origin->id).String(record.origin->name).U64(record.origin->lsn.value);
  return out;
}

base::Result<TransactionRecord> DecodeTransaction(std::string_view bytes) {
  ByteReader reader(bytes);
  TransactionRecord record;
  const uint8_t flags = reader.U8();
  record.in_log = (flags & kInLog) != 0;
  record.non_transactional = (flags & kNonTransactional) != 0;
  record.xid.value = reader.U64();
  record.commit_time.micros = reader.I64();
  record.running_max.micros = reader.I64();
  record.messages = reader.Varint();
  const uint64_t tables = reader.Varint();
  for (uint64_t i = 0; i < tables && reader.ok(); ++i) {
    const base::TableOid table{reader.U32()};
    TableCountsRecord& counts = record.tables[table];
    counts.inserts = reader.Varint();
    counts.updates = reader.Varint();
    counts.deletes = reader.Varint();
    counts.truncates = reader.Varint();
    counts.definitions = reader.Varint();
  }
  if ((flags & kHasOrigin) != 0) {
    record.origin.emplace();
    record.origin->id = reader.U32();
    record.origin->name = reader.String();
    record.origin->lsn.value = reader.U64();
  }
  if (!reader.AtEnd() || (flags & ~(kInLog | kNonTransactional | kHasOrigin)) != 0) {
    return Damaged("transaction");
  }
  return record;
}

namespace {

void WriteReadPoint(ByteWriter* writer, const ReadPointRecord& record) {
  writer->U64(record.position.value).I64(record.commit_time.micros);
  writer->U8(record.xid ? 1 : 0);
  if (record.xid) writer->U64(record.xid->value);
}

bool TakeReadPoint(ByteReader* reader, ReadPointRecord* record) {
  record->position.value = reader->U64();
  record->commit_time.micros = reader->I64();
  const uint8_t has_xid = reader->U8();
  if (has_xid == 1) record->xid = base::FullXid{reader->U64()};
  return reader->ok() && has_xid <= 1;
}

}  // namespace

std::string EncodeReadPoint(const ReadPointRecord& record) {
  std::string out;
  ByteWriter writer(&out);
  WriteReadPoint(&writer, record);
  return out;
}

base::Result<ReadPointRecord> DecodeReadPoint(std::string_view bytes) {
  ByteReader reader(bytes);
  ReadPointRecord record;
  if (!TakeReadPoint(&reader, &record) || !reader.AtEnd()) return Damaged("read point");
  return record;
}

std::string EncodePublished(const PublishedRecord& record) {
  std::string out;
  ByteWriter writer(&out);
  writer.U64(record.through.value).I64(record.running_max.micros);
  WriteReadPoint(&writer, record.last);
  return out;
}

base::Result<PublishedRecord> DecodePublished(std::string_view bytes) {
  ByteReader reader(bytes);
  PublishedRecord record;
  record.through.value = reader.U64();
  record.running_max.micros = reader.I64();
  if (!TakeReadPoint(&reader, &record.last) || !reader.AtEnd()) return Damaged("published position");
  return record;
}

std::string EncodeIdentity(const IdentityRecord& record) {
  std::string out;
  ByteWriter writer(&out);
  writer.U64(record.system_identifier).U32(record.timeline).U32(record.database_oid);
  writer.String(record.database).String(record.slot).String(record.publication).String(record.encoding);
  return out;
}

base::Result<IdentityRecord> DecodeIdentity(std::string_view bytes) {
  ByteReader reader(bytes);
  IdentityRecord record;
  record.system_identifier = reader.U64();
  record.timeline = reader.U32();
  record.database_oid = reader.U32();
  record.database = reader.String();
  record.slot = reader.String();
  record.publication = reader.String();
  record.encoding = reader.String();
  if (!reader.AtEnd()) return Damaged("identity");
  return record;
}

std::string EncodeEvent(const EventRecord& record) {
  std::string out;
  ByteWriter(&out).U64(record.version.value).U16(record.definition).String(record.text);
  return out;
}

base::Result<EventRecord> DecodeEvent(std::string_view bytes) {
  ByteReader reader(bytes);
  EventRecord record;
  record.version.value = reader.U64();
  record.definition = reader.U16();
  record.text = reader.String();
  if (!reader.AtEnd()) return Damaged("table event");
  return record;
}

std::string EncodeNumber(uint64_t value) {
  std::string out;
  ByteWriter(&out).U64(value);
  return out;
}

base::Result<uint64_t> DecodeNumber(std::string_view bytes) {
  ByteReader reader(bytes);
  const uint64_t value = reader.U64();
  if (!reader.AtEnd()) return Damaged("number");
  return value;
}

}  // namespace varve::store
