// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sidecar/base/result.h"

namespace varve::types {

struct Timetz {
  int64_t micros = 0;
  int32_t zone = 0;  // seconds west of UTC
};

struct Interval {
  int64_t micros = 0;
  int32_t days = 0;
  int32_t months = 0;
};

// What stands between date and time, and how a zone is written: as the output functions under DateStyle ISO,
// or as JsonEncodeDateTime in src/backend/utils/adt/json.c.
enum class DateForm : uint8_t { kText, kJson };

// Each appends what the type's output function prints under TimeZone UTC and IntervalStyle postgres. Errors:
// kInvalidArgument for a value outside of the type's range.
base::Status AppendDate(int32_t days, std::string* out);
base::Status AppendTimestamp(int64_t micros, DateForm form, std::string* out);
base::Status AppendTimestamptz(int64_t micros, DateForm form, std::string* out);
base::Status AppendTime(int64_t micros, std::string* out);
base::Status AppendTimetz(Timetz value, std::string* out);
base::Status AppendInterval(Interval value, std::string* out);

// Each reads the ISO forms of the type, infinity and -infinity where the type has them, and what the output
// function prints. A zone in a timestamp is skipped and a timestamptz without zone is UTC, as PostgreSQL does
// under TimeZone UTC. Errors: kInvalidArgument.
base::Result<int32_t> ParseDate(std::string_view text);
base::Result<int64_t> ParseTimestamp(std::string_view text);
base::Result<int64_t> ParseTimestamptz(std::string_view text);
base::Result<int64_t> ParseTime(std::string_view text);
base::Result<Timetz> ParseTimetz(std::string_view text);
base::Result<Interval> ParseInterval(std::string_view text);

// Ranges, from src/include/datatype/timestamp.h.
inline constexpr int64_t kMicrosPerSecond = 1'000'000;
inline constexpr int64_t kMicrosPerMinute = 60 * kMicrosPerSecond;
inline constexpr int64_t kMicrosPerHour = 60 * kMicrosPerMinute;
inline constexpr int64_t kMicrosPerDay = 24 * kMicrosPerHour;
inline constexpr int64_t kTimestampMin = -211'813'488'000'000'000;
inline constexpr int64_t kTimestampEnd = 9'223'371'331'200'000'000;
inline constexpr int64_t kDateMin = -2'451'545;
inline constexpr int64_t kDateEnd = 2'145'031'949;
inline constexpr int32_t kZoneLimit = 16 * 3600;
inline constexpr int64_t kEpochJulian = 2'451'545;  // 2000-01-01

}  // namespace varve::types
