// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sidecar/base/ids.h"

// Keys of the store. Persisted: never renumber, never change; another layout takes another kStoreVersion.
// Integers are big-endian, so keys sort by table, then by key bytes (which are prefix-free), then by
// position.
namespace varve::store {

inline constexpr uint32_t kStoreVersion = 4;

// Column families; their names in the store are FamilyName.
enum class Family : uint8_t {
  kCatalog,      // tag, ... -> records
  kTransaction,  // position -> TransactionRecord
  kTimeIndex,    // running maximum of commit times, position -> nothing
  kXidIndex,     // xid, epoch, position -> nothing
  kLog,          // position, seq -> LogRecord
  kHead,         // table, key -> VersionRecord: the newest version of a row changed since the first copy
  kRewind,       // table, key, end position -> VersionRecord: the version that ended there
  kKeyframe,     // table, position, first key -> page
  kStaging,      // table, key -> row image: a first copy that is not finished
  kStaged,       // StagedTag, ... -> what came of transactions that have not committed
};
inline constexpr size_t kFamilyCount = 10;
std::string_view FamilyName(Family family);

// First byte of every key of the catalog.
enum class CatalogTag : char {
  kStoreVersion = 'v',
  kIdentity = 'i',
  kBaseline = 'b',   // present iff the first copy is complete
  kPublished = 'p',  // what readers see
  kRelation = 'r',   // relation version, definition -> Relation
  kEvent = 'e',      // table, position, seq, kind -> EventRecord's payload
  kChanges = 'c',    // table -> changes since the first copy
  kTag = 'g',        // name -> ReadPointRecord
};

// First byte of every key of the family staged.
enum class StagedTag : char {
  kPrepared = 'p',  // xid, identifier -> PreparedRecord
  kStage = 's',     // stage, StagePart, ... -> what that part says
};

// What there is of one stage: what came of one transaction. Persisted: never renumber.
enum class StagePart : uint8_t {
  kChange = 1,      // seq -> StagedChange
  kDefinition = 2,  // seq -> StagedDefinition: which of the changes say what becomes of a table
  kVoid = 3,        // xid of a subtransaction that rolled back -> nothing
};

// What happened to a table as a whole. Persisted: never renumber.
enum class EventKind : uint8_t {
  kVersion = 1,        // it has this relation version from here on
  kTruncate = 2,       //
  kRewrite = 3,        // ALTER TABLE rewrote the rows
  kKeyChange = 4,      // another key, or none
  kDrop = 5,           //
  kUntrack = 6,        // taken out of the publication
  kLate = 7,           // first seen after the first copy
  kExcluded = 8,       // left out of the first copy
  kContradiction = 9,  // a change did not fit what is stored
};

// A place in the order of all changes.
struct Place {
  base::Position position;
  base::Seq seq;
  auto operator<=>(const Place&) const = default;
};

// The smallest key behind every key that starts with `prefix`.
std::string PrefixEnd(std::string_view prefix);

// Head and staging; with an empty key the prefix of the table.
std::string RowKey(base::TableOid table, std::string_view key);
// The key bytes behind the table. REQUIRES: at least a table.
std::string_view RowKeyBytes(std::string_view row_key);
std::optional<base::TableOid> RowKeyTable(std::string_view row_key);

// `row_key` as RowKey makes it.
std::string RewindKey(std::string_view row_key, base::Position end);
// The end position of a rewind key; nothing when it is too short.
std::optional<base::Position> RewindKeyEnd(std::string_view rewind_key);

std::string KeyframePrefix(base::TableOid table, base::Position position);
std::string KeyframeKey(base::TableOid table, base::Position position, std::string_view first_key);
inline constexpr size_t kKeyframePrefixBytes = 12;

std::string PositionKey(base::Position position);
std::optional<base::Position> ParsePositionKey(std::string_view key);

std::string LogKey(Place place);
std::optional<Place> ParseLogKey(std::string_view key);

std::string TimeKey(base::Timestamp running_max, base::Position position);
std::optional<base::Position> TimeKeyPosition(std::string_view key);

// The 32 bits first, so that all transactions with one number lie together, the latest last.
std::string XidKey(base::FullXid xid, base::Position position);
std::string XidPrefix(uint32_t xid);
struct XidEntry {
  base::FullXid xid;
  base::Position position;
};
std::optional<XidEntry> ParseXidKey(std::string_view key);

std::string CatalogKey(CatalogTag tag);
// One relation version may be defined more than once: types and defaults are not part of its hash.
std::string RelationKey(base::RelationVersion version, uint16_t definition);
struct RelationId {
  base::RelationVersion version;
  uint16_t definition = 0;
  auto operator<=>(const RelationId&) const = default;
};
std::optional<RelationId> ParseRelationKey(std::string_view key);
std::string ChangesKey(base::TableOid table);
std::string TagKey(std::string_view name);
std::string EventKey(base::TableOid table, Place place, EventKind kind);
struct EventId {
  base::TableOid table;
  Place place;
  EventKind kind = EventKind::kVersion;
};
std::optional<EventId> ParseEventKey(std::string_view key);

// Every transaction that is staged has a stage of its own.
std::string StageKey(uint64_t stage);
std::string StageKey(uint64_t stage, StagePart part);
// `number`: the seq, or the xid of kVoid.
std::string StageKey(uint64_t stage, StagePart part, uint32_t number);
struct StageId {
  uint64_t stage = 0;
  StagePart part = StagePart::kChange;
  uint32_t number = 0;
};
std::optional<StageId> ParseStageKey(std::string_view key);
std::string StagedKey(StagedTag tag);
std::string PreparedKey(uint32_t xid, std::string_view gid);
struct PreparedId {
  uint32_t xid = 0;
  std::string gid;
  auto operator<=>(const PreparedId&) const = default;
};
std::optional<PreparedId> ParsePreparedKey(std::string_view key);

}  // namespace varve::store
