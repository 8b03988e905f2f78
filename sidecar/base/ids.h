// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace varve::base {

// A place in the WAL, as in pg_lsn.
struct Lsn {
  uint64_t value = 0;
  auto operator<=>(const Lsn&) const = default;
};

// The time axis: era (high byte) and commit end LSN (low 7 bytes). Era 0 is the server's timeline at the
// first copy.
struct Position {
  uint64_t value = 0;
  auto operator<=>(const Position&) const = default;

  static constexpr int kEraShift = 56;
  static constexpr uint64_t kLsnMask = (uint64_t{1} << kEraShift) - 1;
  static Position Make(uint8_t era, Lsn lsn) {
    return Position{(uint64_t{era} << kEraShift) | (lsn.value & kLsnMask)};
  }
  uint8_t era() const { return static_cast<uint8_t>(value >> kEraShift); }
  Lsn lsn() const { return Lsn{value & kLsnMask}; }
};

// A change's place among the emitted changes of its transaction, from 0.
struct Seq {
  uint32_t value = 0;
  auto operator<=>(const Seq&) const = default;
};

// 64-bit transaction id: epoch (high half) and the 32 bits that psql shows.
struct FullXid {
  uint64_t value = 0;
  auto operator<=>(const FullXid&) const = default;
  uint32_t xid() const { return static_cast<uint32_t>(value); }
  uint32_t epoch() const { return static_cast<uint32_t>(value >> 32); }
};

// pg_class.oid of a table.
struct TableOid {
  uint32_t value = 0;
  auto operator<=>(const TableOid&) const = default;
};

// One schema of a table: the hash that schemas/README.md defines.
struct RelationVersion {
  uint64_t value = 0;
  auto operator<=>(const RelationVersion&) const = default;
};

// Microseconds since 2000-01-01 00:00 UTC, PostgreSQL's own epoch.
struct Timestamp {
  int64_t micros = 0;
  auto operator<=>(const Timestamp&) const = default;
};

// "16/B374D848".
std::string FormatLsn(Lsn lsn);
// Era 0 is omitted: "16/B374D848", else "1:16/B374D848".
std::string FormatPosition(Position position);
// "16/B374D848"; nothing else.
std::optional<Lsn> ParseLsn(std::string_view text);
// RFC 3339 in UTC with microseconds where they are not 0: "2026-11-30T12:00:00.5Z".
std::string FormatTimestamp(Timestamp timestamp);
// RFC 3339, with a zone ("Z", "+01:00") or without (taken as UTC); a blank may stand for the T.
std::optional<Timestamp> ParseTimestamp(std::string_view text);

}  // namespace varve::base

template <>
struct std::hash<varve::base::TableOid> {
  size_t operator()(varve::base::TableOid oid) const noexcept { return std::hash<uint32_t>()(oid.value); }
};
template <>
struct std::hash<varve::base::RelationVersion> {
  size_t operator()(varve::base::RelationVersion version) const noexcept {
    return std::hash<uint64_t>()(version.value);
  }
};
