// SPDX-License-Identifier: PostgreSQL
#include "sidecar/types/text_key.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "sidecar/base/ids.h"
#include "sidecar/types/bytes.h"
#include "sidecar/types/oids.h"

namespace varve::types {
namespace {

constexpr int kDepthMax = 256;

bool IsIdentityOid(uint32_t oid) {
  switch (oid) {
    case kInt2VectorOid:
    case kTidOid:
    case kXidOid:
    case kOidVectorOid:
    case kCidrOid:
    case kMacaddr8Oid:
    case kMoneyOid:
    case kMacaddrOid:
    case kInetOid:
    case kBitOid:
    case kVarbitOid:
    case kPgLsnOid:
    case kXid8Oid:
    // Discrete ranges are canonical, and a timestamp has one text.
    case kInt4RangeOid:
    case kInt8RangeOid:
    case kDateRangeOid:
    case kTsRangeOid:
    case kTstzRangeOid:
    case kInt4MultirangeOid:
    case kInt8MultirangeOid:
    case kDateMultirangeOid:
    case kTsMultirangeOid:
    case kTstzMultirangeOid: return true;
    default: return false;
  }
}

// Binary types whose text does the same, as elements of a text-form array (their domains).
bool IsIdentityBinary(uint32_t oid) {
  switch (oid) {
    case kNumericOid:
    case kFloat4Oid:
    case kFloat8Oid:
    case kBpcharOid:
    case kIntervalOid:
    case kJsonOid:
    case kJsonbOid: return false;
    default: return FindBinaryType(oid) != nullptr;
  }
}

bool IsIdentity(const model::Relation& relation, uint32_t oid, int depth) {
  if (depth == 0) return false;
  if (IsIdentityOid(oid) || IsIdentityBinary(oid)) return true;
  const model::Type* type = relation.FindType(oid);
  if (type == nullptr) return false;
  if (type->kind == 'e') return true;
  return (type->kind == 'd' || type->kind == 'A') && IsIdentity(relation, type->inner_oid, depth - 1);
}

// pg_type.dat: regproc, regprocedure, regoper, regoperator, regclass, regtype, aclitem, regconfig,
// regdictionary, regnamespace, regrole, regcollation, regdatabase.
constexpr std::array<uint32_t, 13> kNamingOids = {24,   2202, 2203, 2204, 2205, 2206, 1033,
                                                  3734, 3769, 4089, 4096, 4191, 8326};

bool NamesObjects(const model::Relation& relation, uint32_t oid, int depth) {
  if (std::find(kNamingOids.begin(), kNamingOids.end(), oid) != kNamingOids.end()) return true;
  const model::Type* type = relation.FindType(oid);
  if (type == nullptr || depth == 0) return false;
  if (type->inner_oid != 0 && NamesObjects(relation, type->inner_oid, depth - 1)) return true;
  return type->kind == 'c' &&
         std::any_of(type->fields.begin(), type->fields.end(), [&](const model::TypeField& field) {
           return NamesObjects(relation, field.type_oid, depth - 1);
         });
}

tl::unexpected<base::Error> Unreadable(std::string_view text, std::string_view form) {
  return BadValue("\"" + std::string(text.substr(0, 100)) + "\" is no value of its type; write it like " +
                  std::string(form));
}

// An address with its prefix length; inet leaves out a full one, cidr prints it and has no bits behind it.
base::Result<std::string> ParseNetwork(std::string_view text, bool cidr) {
  const auto unreadable = [&] {
    return cidr ? Unreadable(text, "10.1.0.0/16") : Unreadable(text, "10.1.2.3 or 10.1.2.3/16");
  };
  const size_t slash = std::min(text.find('/'), text.size());
  const std::string address(text.substr(0, slash));
  const int family = address.find(':') == std::string::npos ? AF_INET : AF_INET6;
  const int bits_max = family == AF_INET ? 32 : 128;
  std::array<uint8_t, 16> bytes{};
  if (inet_pton(family, address.c_str(), bytes.data()) != 1) return unreadable();
  int bits = bits_max;
  if (slash < text.size()) {
    const std::string_view length = text.substr(slash + 1);
    const auto [end, error] = std::from_chars(length.data(), length.data() + length.size(), bits);
    if (error != std::errc() || end != length.data() + length.size() || bits < 0 || bits > bits_max) {
      return unreadable();
    }
  }
  for (int bit = bits; cidr && bit < bits_max; ++bit) {
    if ((bytes[static_cast<size_t>(bit) / 8] & (0x80 >> (bit % 8))) != 0) return unreadable();
  }
  std::array<char, INET6_ADDRSTRLEN> printed{};
  inet_ntop(family, bytes.data(), printed.data(), printed.size());
  std::string result = printed.data();
  if (cidr || bits != bits_max) result += "/" + std::to_string(bits);
  return result;
}

// Pairs of hexadecimal digits, alone or in groups, as macaddr's input takes them.
base::Result<std::string> ParseHardwareAddress(std::string_view text, size_t pairs) {
  std::string digits;
  for (const char c : TrimSpace(text)) {
    if (c == ':' || c == '-' || c == '.') continue;
    const char lower = LowerAscii(c);
    if (!IsDigit(c) && (lower < 'a' || lower > 'f')) return Unreadable(text, "08:00:2b:01:02:03");
    digits.push_back(lower);
  }
  if (pairs == 8 && digits.size() == 12) digits.insert(6, "fffe");  // macaddr8 widens a macaddr
  if (digits.size() != pairs * 2) return Unreadable(text, "08:00:2b:01:02:03");
  std::string result;
  for (size_t i = 0; i < digits.size(); i += 2) {
    if (i != 0) result.push_back(':');
    result.append(digits, i, 2);
  }
  return result;
}

// "-$1,234.50" from that or a plain number, under lc_monetary C.
base::Result<std::string> ParseMoney(std::string_view text) {
  std::string digits;
  bool negative = false;
  size_t cents = 0;
  bool point = false;
  for (const char c : TrimSpace(text)) {
    if (IsDigit(c)) {
      digits.push_back(c);
      if (point) ++cents;
    } else if (c == '-' && digits.empty() && !negative) {
      negative = true;
    } else if (c == '.' && !point) {
      point = true;
    } else if (!(c == '$' && digits.empty()) && !(c == ',' && !point)) {
      return Unreadable(text, "$1234.50");
    }
  }
  if (digits.empty() || cents > 2) return Unreadable(text, "$1234.50");
  digits.append(2 - cents, '0');
  int64_t value = 0;
  const std::string number = (negative ? "-" : "") + digits;
  if (std::from_chars(number.data(), number.data() + number.size(), value).ec != std::errc()) {
    return Unreadable(text, "$1234.50, within its range");
  }
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size()));
  if (digits.size() < 3) digits.insert(0, 3 - digits.size(), '0');
  if (digits == "000") negative = false;
  std::string result = negative ? "-$" : "$";
  const size_t whole = digits.size() - 2;
  for (size_t i = 0; i < whole; ++i) {
    if (i != 0 && (whole - i) % 3 == 0) result.push_back(',');
    result.push_back(digits[i]);
  }
  return result + "." + digits.substr(whole);
}

template <typename Integer>
base::Result<std::string> ParseDecimal(std::string_view text) {
  const std::string_view digits = TrimSpace(text);
  Integer value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size()) return Unreadable(text, "42");
  return std::to_string(value);
}

base::Result<std::string> ParseTid(std::string_view text) {
  const size_t comma = text.find(',');
  if (comma == std::string_view::npos || text.find(' ') != std::string_view::npos || text.front() != '(' ||
      text.back() != ')') {
    return Unreadable(text, "(42,7)");
  }
  ASSIGN_OR_RETURN(const std::string block, ParseDecimal<uint32_t>(text.substr(1, comma - 1)));
  ASSIGN_OR_RETURN(const std::string offset,
                   ParseDecimal<uint16_t>(text.substr(comma + 1, text.size() - comma - 2)));
  return "(" + block + "," + offset + ")";
}

// Only what range_out itself prints: PostgreSQL would turn [1,5] into [1,6).
base::Result<std::string> ParseDiscreteRange(std::string_view text) {
  const bool shape = text.size() >= 3 && (text.front() == '[' || text.substr(0, 2) == "(,") &&
                     text.back() == ')' && text.find(' ') == std::string_view::npos;
  if (text != "empty" && !shape) return Unreadable(text, "[1,6), as PostgreSQL prints it");
  return std::string(text);
}

base::Result<std::string> ParseBits(std::string_view text) {
  if (text.find_first_not_of("01") != std::string_view::npos) return Unreadable(text, "10101");
  return std::string(text);
}

}  // namespace

base::Status CheckTextIdentity(const model::Relation& relation, uint32_t type_oid) {
  if (IsIdentity(relation, type_oid, kDepthMax)) return {};
  return BadValue(
      "values of this type cannot be compared here: equal ones may have different texts, or it has no "
      "equality");
}

base::Status CheckLastingText(const model::Relation& relation, uint32_t type_oid) {
  if (!NamesObjects(relation, type_oid, kDepthMax)) return {};
  return BadValue("values of this type are printed by the name of an object, which may change");
}

base::Result<std::string> ParseTextForm(uint32_t type_oid, std::string_view text) {
  if (text.find('\0') != std::string_view::npos) return BadValue("a text cannot hold the character 0");
  switch (type_oid) {
    case kInetOid: return ParseNetwork(text, false);
    case kCidrOid: return ParseNetwork(text, true);
    case kMacaddrOid: return ParseHardwareAddress(text, 6);
    case kMacaddr8Oid: return ParseHardwareAddress(text, 8);
    case kMoneyOid: return ParseMoney(text);
    case kBitOid:
    case kVarbitOid: return ParseBits(text);
    case kXidOid: return ParseDecimal<uint32_t>(text);
    case kXid8Oid: return ParseDecimal<uint64_t>(text);
    case kTidOid: return ParseTid(text);
    case kInt4RangeOid:
    case kInt8RangeOid:
    case kDateRangeOid: return ParseDiscreteRange(text);
    case kPgLsnOid: {
      const auto lsn = base::ParseLsn(text);
      if (!lsn) return Unreadable(text, "16/B374D848");
      return base::FormatLsn(*lsn);
    }
    default: return std::string(text);
  }
}

}  // namespace varve::types
