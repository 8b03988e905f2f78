// SPDX-License-Identifier: PostgreSQL
#include "sidecar/store/key_format.h"

#include "sidecar/base/check.h"
#include "sidecar/store/bytes.h"

namespace varve::store {
namespace {

constexpr size_t kTableBytes = 4;
constexpr size_t kPositionBytes = 8;

}  // namespace

std::string_view FamilyName(Family family) {
  switch (family) {
    case Family::kCatalog: return "default";  // RocksDB always has a family of this name
    case Family::kTransaction: return "transaction";
    case Family::kTimeIndex: return "time";
    case Family::kXidIndex: return "xid";
    case Family::kLog: return "log";
    case Family::kHead: return "head";
    case Family::kRewind: return "rewind";
    case Family::kKeyframe: return "keyframe";
    case Family::kStaging: return "staging";
    case Family::kStaged: return "staged";
  }
  CHECK(false);
}

std::string PrefixEnd(std::string_view prefix) {
  std::string end(prefix);
  while (!end.empty() && end.back() == '\xFF') end.pop_back();
  if (!end.empty()) end.back() = static_cast<char>(static_cast<uint8_t>(end.back()) + 1);
  return end;
}

std::string RowKey(base::TableOid table, std::string_view key) {
  std::string out;
  out.reserve(kTableBytes + key.size());
  ByteWriter(&out).U32(table.value).Raw(key);
  return out;
}

std::string_view RowKeyBytes(std::string_view row_key) {
  CHECK(row_key.size() >= kTableBytes);
  return row_key.substr(kTableBytes);
}

std::optional<base::TableOid> RowKeyTable(std::string_view row_key) {
  ByteReader reader(row_key);
  const base::TableOid table{reader.U32()};
  if (!reader.ok()) return std::nullopt;
  return table;
}

std::string RewindKey(std::string_view row_key, base::Position end) {
  std::string out;
  out.reserve(row_key.size() + kPositionBytes);
  ByteWriter(&out).Raw(row_key).U64(end.value);
  return out;
}

std::optional<base::Position> RewindKeyEnd(std::string_view rewind_key) {
  if (rewind_key.size() < kTableBytes + kPositionBytes) return std::nullopt;
  return base::Position{ByteReader(rewind_key.substr(rewind_key.size() - kPositionBytes)).U64()};
}

std::string KeyframePrefix(base::TableOid table, base::Position position) {
  std::string out;
  ByteWriter(&out).U32(table.value).U64(position.value);
  return out;
}

std::string KeyframeKey(base::TableOid table, base::Position position, std::string_view first_key) {
  std::string out = KeyframePrefix(table, position);
  out.append(first_key);
  return out;
}

std::string PositionKey(base::Position position) {
  std::string out;
  ByteWriter(&out).U64(position.value);
  return out;
}

std::optional<base::Position> ParsePositionKey(std::string_view key) {
  ByteReader reader(key);
  const base::Position position{reader.U64()};
  if (!reader.AtEnd()) return std::nullopt;
  return position;
}

std::string LogKey(Place place) {
  std::string out;
  ByteWriter(&out).U64(place.position.value).U32(place.seq.value);
  return out;
}

std::optional<Place> ParseLogKey(std::string_view key) {
  ByteReader reader(key);
  Place place;
  place.position.value = reader.U64();
  place.seq.value = reader.U32();
  if (!reader.AtEnd()) return std::nullopt;
  return place;
}

std::string TimeKey(base::Timestamp running_max, base::Position position) {
  std::string out;
  ByteWriter(&out).I64(running_max.micros).U64(position.value);
  return out;
}

std::optional<base::Position> TimeKeyPosition(std::string_view key) {
  ByteReader reader(key);
  reader.I64();
  const base::Position position{reader.U64()};
  if (!reader.AtEnd()) return std::nullopt;
  return position;
}

std::string XidKey(base::FullXid xid, base::Position position) {
  std::string out;
  ByteWriter(&out).U32(xid.xid()).U32(xid.epoch()).U64(position.value);
  return out;
}

std::string XidPrefix(uint32_t xid) {
  std::string out;
  ByteWriter(&out).U32(xid);
  return out;
}

std::optional<XidEntry> ParseXidKey(std::string_view key) {
  ByteReader reader(key);
  const uint32_t xid = reader.U32();
  const uint32_t epoch = reader.U32();
  const base::Position position{reader.U64()};
  if (!reader.AtEnd()) return std::nullopt;
  return XidEntry{base::FullXid{(uint64_t{epoch} << 32) | xid}, position};
}

std::string CatalogKey(CatalogTag tag) { return std::string(1, static_cast<char>(tag)); }

std::string RelationKey(base::RelationVersion version, uint16_t definition) {
  std::string out = CatalogKey(CatalogTag::kRelation);
  ByteWriter(&out).U64(version.value).U16(definition);
  return out;
}

std::optional<RelationId> ParseRelationKey(std::string_view key) {
  ByteReader reader(key);
  const uint8_t tag = reader.U8();
  RelationId id;
  id.version.value = reader.U64();
  id.definition = reader.U16();
  if (!reader.AtEnd() || static_cast<char>(tag) != static_cast<char>(CatalogTag::kRelation)) {
    return std::nullopt;
  }
  return id;
}

std::string ChangesKey(base::TableOid table) {
  std::string out = CatalogKey(CatalogTag::kChanges);
  ByteWriter(&out).U32(table.value);
  return out;
}

std::string TagKey(std::string_view name) {
  std::string out = CatalogKey(CatalogTag::kTag);
  out.append(name);
  return out;
}

std::string EventKey(base::TableOid table, Place place, EventKind kind) {
  std::string out = CatalogKey(CatalogTag::kEvent);
  ByteWriter(&out)
      .U32(table.value)
      .U64(place.position.value)
      .U32(place.seq.value)
      .U8(static_cast<uint8_t>(kind));
  return out;
}

std::optional<EventId> ParseEventKey(std::string_view key) {
  ByteReader reader(key);
  const uint8_t tag = reader.U8();
  EventId id;
  id.table.value = reader.U32();
  id.place.position.value = reader.U64();
  id.place.seq.value = reader.U32();
  const uint8_t kind = reader.U8();
  if (!reader.AtEnd() || static_cast<char>(tag) != static_cast<char>(CatalogTag::kEvent)) return std::nullopt;
  if (kind < static_cast<uint8_t>(EventKind::kVersion) ||
      kind > static_cast<uint8_t>(EventKind::kContradiction)) {
    return std::nullopt;
  }
  id.kind = static_cast<EventKind>(kind);
  return id;
}

std::string StagedKey(StagedTag tag) { return std::string(1, static_cast<char>(tag)); }

std::string StageKey(uint64_t stage) {
  std::string out = StagedKey(StagedTag::kStage);
  ByteWriter(&out).U64(stage);
  return out;
}

std::string StageKey(uint64_t stage, StagePart part) {
  std::string out = StageKey(stage);
  ByteWriter(&out).U8(static_cast<uint8_t>(part));
  return out;
}

std::string StageKey(uint64_t stage, StagePart part, uint32_t number) {
  std::string out = StageKey(stage, part);
  ByteWriter(&out).U32(number);
  return out;
}

std::optional<StageId> ParseStageKey(std::string_view key) {
  ByteReader reader(key);
  const uint8_t tag = reader.U8();
  StageId id;
  id.stage = reader.U64();
  const uint8_t part = reader.U8();
  id.number = reader.U32();
  if (!reader.AtEnd() || static_cast<char>(tag) != static_cast<char>(StagedTag::kStage)) return std::nullopt;
  if (part < static_cast<uint8_t>(StagePart::kChange) || part > static_cast<uint8_t>(StagePart::kVoid)) {
    return std::nullopt;
  }
  id.part = static_cast<StagePart>(part);
  return id;
}

std::string PreparedKey(uint32_t xid, std::string_view gid) {
  std::string out = StagedKey(StagedTag::kPrepared);
  ByteWriter(&out).U32(xid).Raw(gid);
  return out;
}

std::optional<PreparedId> ParsePreparedKey(std::string_view key) {
  ByteReader reader(key);
  const uint8_t tag = reader.U8();
  PreparedId id;
  id.xid = reader.U32();
  if (!reader.ok() || static_cast<char>(tag) != static_cast<char>(StagedTag::kPrepared)) return std::nullopt;
  id.gid = reader.Rest();
  return id;
}

}  // namespace varve::store
