// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <cstdint>
#include <string_view>

namespace varve::types {

// OIDs of built-in types, as in src/include/catalog/pg_type.dat: they never change.
inline constexpr uint32_t kBoolOid = 16;
inline constexpr uint32_t kByteaOid = 17;
inline constexpr uint32_t kCharOid = 18;  // "char"
inline constexpr uint32_t kNameOid = 19;
inline constexpr uint32_t kInt8Oid = 20;
inline constexpr uint32_t kInt2Oid = 21;
inline constexpr uint32_t kInt2VectorOid = 22;
inline constexpr uint32_t kInt4Oid = 23;
inline constexpr uint32_t kTextOid = 25;
inline constexpr uint32_t kOidOid = 26;
inline constexpr uint32_t kTidOid = 27;
inline constexpr uint32_t kXidOid = 28;
inline constexpr uint32_t kOidVectorOid = 30;
inline constexpr uint32_t kJsonOid = 114;
inline constexpr uint32_t kCidrOid = 650;
inline constexpr uint32_t kFloat4Oid = 700;
inline constexpr uint32_t kFloat8Oid = 701;
inline constexpr uint32_t kMacaddr8Oid = 774;
inline constexpr uint32_t kMoneyOid = 790;
inline constexpr uint32_t kMacaddrOid = 829;
inline constexpr uint32_t kInetOid = 869;
inline constexpr uint32_t kBpcharOid = 1042;
inline constexpr uint32_t kVarcharOid = 1043;
inline constexpr uint32_t kDateOid = 1082;
inline constexpr uint32_t kTimeOid = 1083;
inline constexpr uint32_t kTimestampOid = 1114;
inline constexpr uint32_t kTimestamptzOid = 1184;
inline constexpr uint32_t kIntervalOid = 1186;
inline constexpr uint32_t kTimetzOid = 1266;
inline constexpr uint32_t kBitOid = 1560;
inline constexpr uint32_t kVarbitOid = 1562;
inline constexpr uint32_t kNumericOid = 1700;
inline constexpr uint32_t kUuidOid = 2950;
inline constexpr uint32_t kPgLsnOid = 3220;
inline constexpr uint32_t kJsonbOid = 3802;
inline constexpr uint32_t kInt4RangeOid = 3904;
inline constexpr uint32_t kTsRangeOid = 3908;
inline constexpr uint32_t kTstzRangeOid = 3910;
inline constexpr uint32_t kDateRangeOid = 3912;
inline constexpr uint32_t kInt8RangeOid = 3926;
inline constexpr uint32_t kInt4MultirangeOid = 4451;
inline constexpr uint32_t kTsMultirangeOid = 4533;
inline constexpr uint32_t kTstzMultirangeOid = 4534;
inline constexpr uint32_t kDateMultirangeOid = 4535;
inline constexpr uint32_t kInt8MultirangeOid = 4536;
inline constexpr uint32_t kXid8Oid = 5069;

// A type whose values travel in binary form.
struct BinaryType {
  uint32_t oid = 0;
  uint32_t array_oid = 0;
  uint16_t width = 0;
  std::string_view name;
};

// nullptr when `oid` is not one of them (or, in the second, not an array of one of them).
const BinaryType* FindBinaryType(uint32_t oid);
const BinaryType* FindElementOfArray(uint32_t array_oid);

}  // namespace varve::types
