// SPDX-License-Identifier: PostgreSQL
#include <array>
#include <bit>
#include <charconv>
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

constexpr size_t kNameMax = 63;  // NAMEDATALEN - 1
constexpr char kJsonbVersion = 1;

tl::unexpected<base::Error> Unreadable(std::string_view text, std::string_view type) {
  return BadValue("\"" + std::string(text.substr(0, 100)) + "\" is no " + std::string(type));
}

template <typename Integer>
base::Status ParseInteger(std::string_view text, std::string_view type, std::string* out) {
  std::string_view digits = TrimSpace(text);
  if (!digits.empty() && digits.front() == '+') {
    digits.remove_prefix(1);
    if (!digits.empty() && digits.front() == '-') return Unreadable(text, type);
  }
  Integer value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error == std::errc::result_out_of_range) return Unreadable(text, std::string(type) + ": out of range");
  if (error != std::errc() || end != digits.data() + digits.size()) return Unreadable(text, type);
  AppendBig(out, value);
  return {};
}

template <typename Float, typename Bits>
base::Status ParseFloat(std::string_view text, std::string_view type, std::string* out) {
  std::string_view digits = TrimSpace(text);
  bool negative = false;
  if (!digits.empty() && (digits.front() == '+' || digits.front() == '-')) {
    negative = digits.front() == '-';
    digits.remove_prefix(1);
  }
  Float value = 0;
  if (EqualsIgnoringCase(digits, "nan")) {
    value = std::numeric_limits<Float>::quiet_NaN();
    negative = false;
  } else if (EqualsIgnoringCase(digits, "infinity") || EqualsIgnoringCase(digits, "inf")) {
    value = std::numeric_limits<Float>::infinity();
  } else {
    if (digits.empty() || (!IsDigit(digits.front()) && digits.front() != '.')) return Unreadable(text, type);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error == std::errc::result_out_of_range)
      return Unreadable(text, std::string(type) + ": out of range");
    if (error != std::errc() || end != digits.data() + digits.size()) return Unreadable(text, type);
  }
  AppendBig(out, std::bit_cast<Bits>(negative ? -value : value));
  return {};
}

// Every spelling of parse_bool in src/backend/utils/adt/bool.c: unique prefixes, any case.
base::Status ParseBool(std::string_view text, std::string* out) {
  std::string lower;
  for (const char c : TrimSpace(text)) lower.push_back(LowerAscii(c));
  constexpr std::array<std::string_view, 4> kTrue = {"true", "yes", "on", "1"};
  constexpr std::array<std::string_view, 4> kFalse = {"false", "no", "off", "0"};
  const auto matches = [&](std::string_view word) {
    return !lower.empty() && lower != "o" && word.substr(0, lower.size()) == lower;
  };
  for (size_t i = 0; i < kTrue.size(); ++i) {
    if (!matches(kTrue[i]) && !matches(kFalse[i])) continue;
    out->push_back(matches(kTrue[i]) ? 1 : 0);
    return {};
  }
  return Unreadable(text, "bool");
}

int HexDigit(char c) {
  if (IsDigit(c)) return c - '0';
  const char lower = LowerAscii(c);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// Braces may stand around it and a hyphen behind any four digits (string_to_uuid in uuid.c).
base::Status ParseUuid(std::string_view text, std::string* out) {
  constexpr size_t kBytes = 16;
  std::string_view rest = text;
  const bool braces = !rest.empty() && rest.front() == '{';
  if (braces) rest.remove_prefix(1);
  std::array<char, kBytes> bytes{};
  for (size_t i = 0; i < kBytes; ++i) {
    if (rest.size() < 2 || HexDigit(rest[0]) < 0 || HexDigit(rest[1]) < 0) return Unreadable(text, "uuid");
    bytes[i] = static_cast<char>(HexDigit(rest[0]) * 16 + HexDigit(rest[1]));
    rest.remove_prefix(2);
    if (!rest.empty() && rest.front() == '-' && i % 2 == 1 && i < kBytes - 1) rest.remove_prefix(1);
  }
  if (rest != (braces ? "}" : "")) return Unreadable(text, "uuid");
  out->append(bytes.data(), bytes.size());
  return {};
}

base::Status ParseBytea(std::string_view text, std::string* out) {
  if (text.substr(0, 2) != "\\x") return BadValue("a bytea is written in hexadecimal, e.g. \\x00ff");
  std::string_view rest = text.substr(2);
  while (!rest.empty()) {
    if (IsSpace(rest.front())) {
      rest.remove_prefix(1);
      continue;
    }
    if (rest.size() < 2 || HexDigit(rest[0]) < 0 || HexDigit(rest[1]) < 0) return Unreadable(text, "bytea");
    out->push_back(static_cast<char>(HexDigit(rest[0]) * 16 + HexDigit(rest[1])));
    rest.remove_prefix(2);
  }
  return {};
}

// charin: one byte, or a backslash and three octal digits for one that is no character of its own.
base::Status ParseChar(std::string_view text, std::string* out) {
  const auto octal = [](char c) { return c >= '0' && c <= '7'; };
  if (text.size() == 4 && text[0] == '\\' && text[1] <= '3' && octal(text[1]) && octal(text[2]) &&
      octal(text[3])) {
    out->push_back(static_cast<char>((text[1] - '0') * 64 + (text[2] - '0') * 8 + (text[3] - '0')));
    return {};
  }
  if (text.size() > 1) return Unreadable(text, "\"char\": it is a single byte");
  out->push_back(text.empty() ? '\0' : text.front());
  return {};
}

base::Status ParseText(uint32_t oid, std::string_view text, std::string* out) {
  if (text.find('\0') != std::string_view::npos) return BadValue("a text cannot hold the character 0");
  if (oid == kNameOid && text.size() > kNameMax) return BadValue("a name has at most 63 bytes");
  out->append(text);
  return {};
}

base::Status ParseOid(std::string_view text, std::string* out) {
  // oidin takes negative numbers as their two's complement.
  std::string bytes;
  RETURN_IF_ERROR(ParseInteger<int64_t>(text, "oid", &bytes));
  const auto value = ReadBig<int64_t>(bytes.data());
  if (value < std::numeric_limits<int32_t>::min() || value > std::numeric_limits<uint32_t>::max()) {
    return Unreadable(text, "oid: out of range");
  }
  AppendBig(out, static_cast<uint32_t>(value));
  return {};
}

base::Status ParseArray(uint32_t element_oid, std::string_view text, std::string* out) {
  ArrayValue array;
  std::string texts;
  RETURN_IF_ERROR(ParseArrayLiteral(text, ',', &array, &texts));
  std::vector<std::string> values(array.elements.size());
  for (size_t i = 0; i < values.size(); ++i) {
    if (!array.elements[i]) continue;
    RETURN_IF_ERROR(ParseBinary(element_oid, *array.elements[i], &values[i]));
    array.elements[i] = values[i];
  }
  AppendArrayBinary(array, element_oid, out);
  return {};
}

// Appends a parsed number, or hands its error on.
template <typename Integer>
base::Status Put(const base::Result<Integer>& value, std::string* out) {
  if (!value) return base::Fail(value.error());
  AppendBig(out, *value);
  return {};
}

base::Status ParseClock(uint32_t oid, std::string_view text, std::string* out) {
  switch (oid) {
    case kDateOid: return Put(ParseDate(text), out);
    case kTimeOid: return Put(ParseTime(text), out);
    case kTimestampOid: return Put(ParseTimestamp(text), out);
    case kTimestamptzOid: return Put(ParseTimestamptz(text), out);
    case kTimetzOid: {
      ASSIGN_OR_RETURN(const Timetz value, ParseTimetz(text));
      AppendBig(out, value.micros);
      AppendBig(out, value.zone);
      return {};
    }
    default: {
      ASSIGN_OR_RETURN(const Interval value, ParseInterval(text));
      AppendBig(out, value.micros);
      AppendBig(out, value.days);
      AppendBig(out, value.months);
      return {};
    }
  }
}

}  // namespace

base::Status ParseBinary(uint32_t oid, std::string_view text, std::string* out) {
  switch (oid) {
    case kBoolOid: return ParseBool(text, out);
    case kCharOid: return ParseChar(text, out);
    case kInt2Oid: return ParseInteger<int16_t>(text, "int2", out);
    case kInt4Oid: return ParseInteger<int32_t>(text, "int4", out);
    case kInt8Oid: return ParseInteger<int64_t>(text, "int8", out);
    case kOidOid: return ParseOid(text, out);
    case kFloat4Oid: return ParseFloat<float, uint32_t>(text, "float4", out);
    case kFloat8Oid: return ParseFloat<double, uint64_t>(text, "float8", out);
    case kNumericOid: {
      Numeric numeric;
      RETURN_IF_ERROR(ParseNumeric(text, &numeric));
      AppendNumericBinary(numeric, out);
      return {};
    }
    case kUuidOid: return ParseUuid(text, out);
    case kByteaOid: return ParseBytea(text, out);
    case kJsonOid: {
      std::string checked;
      RETURN_IF_ERROR(AppendNormalJson(text, NumberForm::kJsonb, &checked));
      out->append(text);
      return {};
    }
    case kJsonbOid: out->push_back(kJsonbVersion); return AppendNormalJson(text, NumberForm::kJsonb, out);
    case kDateOid:
    case kTimeOid:
    case kTimestampOid:
    case kTimestamptzOid:
    case kTimetzOid:
    case kIntervalOid: return ParseClock(oid, text, out);
    default: break;
  }
  if (const BinaryType* element = FindElementOfArray(oid)) return ParseArray(element->oid, text, out);
  return ParseText(oid, text, out);
}

}  // namespace varve::types
