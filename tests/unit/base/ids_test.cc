// SPDX-License-Identifier: PostgreSQL
#include "sidecar/base/ids.h"

#include "tests/support/catch.h"

namespace varve::base {

TEST_CASE("an LSN is printed and read as pg_lsn does") {
  CHECK(FormatLsn(Lsn{0x16B374D848}) == "16/B374D848");
  CHECK(FormatLsn(Lsn{0}) == "0/0");
  CHECK(ParseLsn("16/b374d848") == Lsn{0x16B374D848});
  CHECK(ParseLsn("FFFFFFFF/FFFFFFFF") == Lsn{UINT64_MAX});
  for (const char* bad : {"", "/", "1/", "/1", "1", "1/2/3", "1/123456789", "g/1", "1/ 2", "-1/2"}) {
    CHECK_FALSE(ParseLsn(bad).has_value());
  }
}

TEST_CASE("a position orders by era, then by LSN") {
  CHECK(Position::Make(1, Lsn{1}) > Position::Make(0, Lsn{UINT64_MAX}));
  CHECK(FormatPosition(Position::Make(0, Lsn{0x16B3748})) == "0/16B3748");
  CHECK(FormatPosition(Position::Make(2, Lsn{0x16B3748})) == "2:0/16B3748");
  CHECK(Position::Make(3, Lsn{7}).era() == 3);
  CHECK(Position::Make(3, Lsn{7}).lsn() == Lsn{7});
}

TEST_CASE("a time is read in any zone and printed in UTC") {
  const auto round_trip = [](const char* text) { return FormatTimestamp(ParseTimestamp(text).value()); };
  CHECK(round_trip("2000-01-01T00:00:00Z") == "2000-01-01T00:00:00Z");
  CHECK(ParseTimestamp("2000-01-01T00:00:00Z") == Timestamp{0});
  CHECK(round_trip("2026-11-30T12:00:00+01:00") == "2026-11-30T11:00:00Z");
  CHECK(round_trip("2026-11-30 12:00:00.123456-0330") == "2026-11-30T15:30:00.123456Z");
  CHECK(round_trip("1999-12-31T23:59:59.5Z") == "1999-12-31T23:59:59.5Z");
  CHECK(round_trip("2026-11-30") == "2026-11-30T00:00:00Z");
  CHECK(round_trip("2026-11-30T12:00") == "2026-11-30T12:00:00Z");
  for (const char* bad : {"2026-02-30", "2026-13-01", "2026-11-30T25:00", "2026-11-30T12:00+", "20261130", "",
                          "2026-11-30T12:00:00.Z", "2026-11-30T12:00:00Zx"}) {
    CHECK_FALSE(ParseTimestamp(bad).has_value());
  }
}

}  // namespace varve::base
