// SPDX-License-Identifier: PostgreSQL
// Key bytes of the binary types. Persisted: never change. memcmp order is the type's btree order.
//
//   bool                                     00 or 01
//   int2 int4 int8                           as int8: ALTER TABLE that makes one another keeps the keys
//   date time timestamp(tz)                  big-endian, sign bit flipped
//   oid "char" uuid                          as sent (big-endian, unsigned)
//   float4 float8                            -0 as +0, one NaN above infinity; all bits of negatives
//   inverted,
//                                            the sign bit of others flipped
//   numeric                                  see AppendNumericKey: class, weight, digits + 1, 0000
//   text varchar name                        the bytes, 00 (PostgreSQL's texts hold no 00): order of "C"
//   bpchar                                   the same without blanks at the end
//   bytea                                    00 written as 00 FF, end 00 01
//   timetz                                   instant in UTC i64, zone i32, sign bits flipped
//   interval                                 span in microseconds i128 (months of 30 days), sign bit flipped
//   arrays                                   01 and the element's key or FF for NULL, each; 00; number of
//                                            dimensions u8; lengths, then lower bounds, i32 sign flipped
//   jsonb                                    canonical text as bytea's: identity only
//   text-form types (key.cc)                 the text, 00: identity only
//
// A key of several columns is their bytes one after the other. Identity columns are never NULL: PostgreSQL
// refuses a replica identity index over columns that may be.
#include <bit>
#include <cmath>
#include <limits>

#include "sidecar/types/array.h"
#include "sidecar/types/bytes.h"
#include "sidecar/types/json_text.h"
#include "sidecar/types/numeric.h"
#include "sidecar/types/oids.h"
#include "sidecar/types/scalar.h"

namespace varve::types {
namespace {

constexpr char kEnd = 0x00;
constexpr char kElement = 0x01;
constexpr char kNull = static_cast<char>(0xFF);

template <typename Integer>
void AppendSigned(Integer value, std::string* out) {
  using Bits = std::make_unsigned_t<Integer>;
  constexpr Bits kSign = Bits{1} << (sizeof(Integer) * 8 - 1);
  AppendBig(out, static_cast<Bits>(static_cast<Bits>(value) ^ kSign));
}

template <typename Float, typename Bits>
void AppendFloat(std::string_view bytes, std::string* out) {
  constexpr Bits kSign = Bits{1} << (sizeof(Bits) * 8 - 1);
  auto value = std::bit_cast<Float>(ReadBig<Bits>(bytes.data()));
  if (std::isnan(value)) value = std::numeric_limits<Float>::quiet_NaN();
  if (value == 0) value = 0;
  const auto bits = std::bit_cast<Bits>(value);
  AppendBig(out, (bits & kSign) != 0 ? static_cast<Bits>(~bits) : static_cast<Bits>(bits | kSign));
}

base::Status AppendTerminated(std::string_view text, std::string* out) {
  if (text.find('\0') != std::string_view::npos) return BadValue("a text that holds the character 0");
  out->append(text).push_back(kEnd);
  return {};
}

void AppendEscaped(std::string_view bytes, std::string* out) {
  for (const char byte : bytes) {
    out->push_back(byte);
    if (byte == '\0') out->push_back(kNull);
  }
  out->push_back(kEnd);
  out->push_back(kElement);
}

void AppendSpan(const Interval& value, std::string* out) {
  constexpr int64_t kDaysPerMonth = 30;
  const int64_t days = int64_t{value.months} * kDaysPerMonth + value.days;
  const __int128 span = static_cast<__int128>(days) * kMicrosPerDay + value.micros;
  AppendSigned(static_cast<int64_t>(span >> 64), out);
  AppendBig(out, static_cast<uint64_t>(span));
}

base::Status AppendArrayKey(uint32_t element_oid, std::string_view bytes, std::string* out) {
  ArrayValue array;
  RETURN_IF_ERROR(DecodeArray(bytes, &array));
  for (const auto& element : array.elements) {
    out->push_back(element ? kElement : kNull);
    if (element) RETURN_IF_ERROR(AppendBinaryKey(element_oid, *element, out));
  }
  out->push_back(kEnd);
  out->push_back(static_cast<char>(array.shape.dimensions));
  for (size_t i = 0; i < array.shape.dimensions; ++i) AppendSigned(array.shape.lengths[i], out);
  for (size_t i = 0; i < array.shape.dimensions; ++i) AppendSigned(array.shape.lower_bounds[i], out);
  return {};
}

}  // namespace

base::Status AppendBinaryKey(uint32_t oid, std::string_view bytes, std::string* out) {
  RETURN_IF_ERROR(CheckWidth(oid, bytes));
  const char* data = bytes.data();
  switch (oid) {
    case kBoolOid: out->push_back(*data != 0 ? 1 : 0); return {};
    case kInt2Oid: AppendSigned(int64_t{ReadBig<int16_t>(data)}, out); return {};
    case kInt4Oid: AppendSigned(int64_t{ReadBig<int32_t>(data)}, out); return {};
    case kDateOid: AppendSigned(ReadBig<int32_t>(data), out); return {};
    case kInt8Oid:
    case kTimeOid:
    case kTimestampOid:
    case kTimestamptzOid: AppendSigned(ReadBig<int64_t>(data), out); return {};
    case kOidOid:
    case kCharOid:
    case kUuidOid: out->append(bytes); return {};
    case kFloat4Oid: AppendFloat<float, uint32_t>(bytes, out); return {};
    case kFloat8Oid: AppendFloat<double, uint64_t>(bytes, out); return {};
    case kNumericOid: {
      Numeric numeric;
      RETURN_IF_ERROR(DecodeNumeric(bytes, &numeric));
      AppendNumericKey(numeric, out);
      return {};
    }
    case kByteaOid: AppendEscaped(bytes, out); return {};
    case kTimetzOid: {
      const Timetz value = ReadTimetz(bytes);
      if (value.micros < 0 || value.micros > kMicrosPerDay) return BadValue("time out of range");
      AppendSigned(value.micros + int64_t{value.zone} * kMicrosPerSecond, out);
      AppendSigned(value.zone, out);
      return {};
    }
    case kIntervalOid: AppendSpan(ReadInterval(bytes), out); return {};
    case kJsonOid: return BadValue("json has no equality; jsonb has");
    case kJsonbOid: {
      ASSIGN_OR_RETURN(const std::string_view text, JsonbText(bytes));
      std::string canonical;
      RETURN_IF_ERROR(AppendNormalJson(text, NumberForm::kCanonical, &canonical));
      AppendEscaped(canonical, out);
      return {};
    }
    case kBpcharOid: return AppendTerminated(bytes.substr(0, bytes.find_last_not_of(' ') + 1), out);
    default: break;
  }
  if (const BinaryType* element = FindElementOfArray(oid)) return AppendArrayKey(element->oid, bytes, out);
  return AppendTerminated(bytes, out);
}

}  // namespace varve::types
