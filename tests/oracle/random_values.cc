// SPDX-License-Identifier: PostgreSQL
#include "tests/oracle/random_values.h"

#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "tests/oracle/corpus.h"
#include "tests/oracle/oracle.h"

namespace varve::oracle {
namespace {

// Quotes everything: PostgreSQL prints it again in its own way.
std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted.push_back('\\');
    quoted.push_back(c);
  }
  return quoted + "\"";
}

}  // namespace

void Prepare() {
  static const bool done = [] {
    for (const std::string& statement : SetupStatements()) Server::Get().Execute(statement);
    return true;
  }();
  (void)done;
}

const std::vector<std::string>& RandomTypes() {
  static const std::vector<std::string> types = {
      "bool",          "int2",        "int4",       "int8",        "oid",       "numeric",   "float4",
      "float8",        "date",        "timestamp",  "timestamptz", "time",      "timetz",    "interval",
      "text",          "varchar(99)", "bpchar(6)",  "name",        "\"char\"",  "bytea",     "uuid",
      "json",          "jsonb",       "int4[]",     "text[]",      "numeric[]", "float8[]",  "bool[]",
      "timestamptz[]", "jsonb[]",     "interval[]", "bytea[]",     "mood",      "pair",      "pair[]",
      "inet",          "cidr",        "macaddr",    "varbit",      "int4range", "tstzrange", "hstore",
      "money",         "xid8",        "tid",        "pg_lsn",      "mood[]",    "hstore[]",  "json[]"};
  return types;
}

int64_t RandomValues::Between(int64_t low, int64_t high) {
  return static_cast<int64_t>(static_cast<uint64_t>(low) +
                              engine_() % (static_cast<uint64_t>(high) - static_cast<uint64_t>(low) + 1));
}

std::string RandomValues::Integer(int bits) {
  const int64_t high = static_cast<int64_t>((uint64_t{1} << (bits - 1)) - 1);
  switch (Below(4)) {
    case 0: return std::to_string(Between(-3, 3));
    case 1: return std::to_string(OneIn(2) ? high : -high - 1);
    case 2: return std::to_string(Between(-1000, 1000));
    default: {
      // The whole range of 64 bits has no size that fits.
      const auto value = static_cast<int64_t>(engine_());
      return std::to_string(value >> (64 - bits));
    }
  }
}

std::string RandomValues::Numeric() {
  if (OneIn(12)) return Pick({"NaN", "Infinity", "-Infinity", "0", "-0.00", "0.0"});
  std::string text = OneIn(2) ? "-" : "";
  if (OneIn(3))
    return text + Pick({"1", "1.0", "1.00", "10", "9999", "10000", "0.1", "0.10", "0.0001", "1e4", "1e-4"});
  const uint64_t whole = Below(30);
  for (uint64_t i = 0; i <= whole; ++i) text.push_back(static_cast<char>('0' + (OneIn(2) ? 0 : Below(10))));
  if (OneIn(2)) {
    text.push_back('.');
    for (uint64_t i = Below(20); i > 0; --i)
      text.push_back(static_cast<char>('0' + (OneIn(2) ? 0 : Below(10))));
  }
  if (OneIn(4)) text += "e" + std::to_string(Between(-40, 40));
  return text;
}

std::string RandomValues::Float(bool is_double) {
  if (OneIn(12)) return Pick({"NaN", "Infinity", "-Infinity", "0", "-0", "1", "1.5"});
  if (OneIn(4)) return fmt::format("{}e{}", Between(-9999, 9999), Between(-25, 25));
  if (is_double) {
    const auto value = std::bit_cast<double>(engine_());
    return std::isfinite(value) ? fmt::format("{:.17g}", value) : "2";
  }
  const auto value = std::bit_cast<float>(static_cast<uint32_t>(engine_()));
  return std::isfinite(value) ? fmt::format("{:.9g}", value) : "2";
}

std::string RandomValues::Day(int64_t year_max) {
  const int64_t year = OneIn(3) ? Between(1, year_max) : Between(1990, 2030);
  return fmt::format("{:04}-{:02}-{:02}", year, Between(1, 12), Between(1, 28));
}

std::string RandomValues::Clock() {
  if (OneIn(4)) return Pick({"00:00:00", "23:59:59.999999", "12:00:00", "00:00:00.000001"});
  return fmt::format("{:02}:{:02}:{:02}.{}", Between(0, 23), Between(0, 59), Between(0, 59),
                     Between(0, 999999));
}

std::string RandomValues::Zone() {
  if (OneIn(2)) return Pick({"+00", "+05:30", "-08", "-00:30", "+15:59:59", "-15:59:59"});
  return fmt::format("{}{:02}:{:02}:{:02}", OneIn(2) ? '+' : '-', Between(0, 15), Between(0, 59),
                     Between(0, 59));
}

std::string RandomValues::Interval() {
  if (OneIn(3)) {
    return Pick({"1 mon", "30 days", "720:00:00", "1 mon -30 days", "0", "24:00:00", "1 day", "-1 day",
                 "1 year", "360 days", "-1 mon +30 days"});
  }
  return fmt::format("{} mons {} days {} microseconds", Between(-200, 200), Between(-400, 400),
                     OneIn(2) ? Between(-10, 10) : Between(-4'000'000'000'000, 4'000'000'000'000));
}

std::string RandomValues::String() {
  static const std::vector<std::string> pieces = {"a",    "b",    "A",  " ",  ",",    "\"", "\\",   "{",
                                                  "}",    "(",    ")",  "\n", "\x01", "é",  "🙂", "/",
                                                  "NULL", "\x7f", "\t", "ab", "'",    ":",  ";",    "\x1f"};
  std::string text;
  for (uint64_t i = Below(6); i > 0; --i) text += Pick(pieces);
  return text;
}

std::string RandomValues::Bytes() {
  std::string text = "\\x";
  for (uint64_t i = Below(5); i > 0; --i) text += Pick({"00", "01", "ff", "5c", "22", "61"});
  return text;
}

std::string RandomValues::JsonString() {
  static const std::vector<std::string> pieces = {
      "a", "b", "\\\"",           "\\\\",    "\\/",  "\\n", "\\u0041", "\\u00e9",
      "é", " ", "\\ud83d\\ude00", "\\u001f", "\x7f", "\\b", "{",       ":"};
  std::string text = "\"";
  for (uint64_t i = Below(4); i > 0; --i) text += Pick(pieces);
  return text + "\"";
}

std::string RandomValues::Json(int depth) {
  const std::string space = Pick({"", "", " ", "\n\t"});
  const uint64_t kind = Below(depth == 0 ? 4 : 7);
  if (kind == 0) return space + Pick({"null", "true", "false"});
  if (kind == 1) return space + JsonString() + space;
  if (kind <= 3) {
    return space +
           Pick({"0", "-0", "-0.0", "1e2", "1.50", "1E-5", "10", "-12.340", "1.0", "1.00", "1e40", "7"});
  }
  const bool object = kind >= 5;
  std::string text = object ? "{" : "[";
  const uint64_t count = Below(5);
  for (uint64_t i = 0; i < count; ++i) {
    if (i != 0) text += ",";
    if (object) text += space + JsonString() + space + ":";
    text += Json(depth - 1);
  }
  return space + text + (object ? "}" : "]") + space;
}

std::string RandomValues::BrokenJson() {
  std::string text = Json(3);
  static const std::vector<std::string> pieces = {",",    "\"",  "{", "}",  "[",   "]", ":",       "e",
                                                  "0",    ".",   "-", "\\", "\\u", "a", "\\ud800", "\\u0000",
                                                  "\x01", "tru", " ", "1",  "\r",  "\f"};
  const uint64_t at = Below(text.size() + 1);
  // Cutting inside of a character would make it invalid text, which the connection refuses.
  const auto inside = [&](size_t place) {
    return place < text.size() && (static_cast<uint8_t>(text[place]) & 0xC0U) == 0x80;
  };
  if (inside(at)) return text;
  if (OneIn(3)) return text.substr(0, at);
  text.insert(at, Pick(pieces));
  return text;
}

std::string RandomValues::Array(std::string_view element) {
  if (OneIn(10)) return "{}";
  const uint64_t outer = OneIn(3) ? 1 + Below(2) : 0;
  const uint64_t inner = 1 + Below(3);
  std::string text;
  const int64_t low = Between(-1, 3);
  if (OneIn(4)) {
    if (outer != 0) text += fmt::format("[{}:{}]", low, low + static_cast<int64_t>(outer) - 1);
    text += fmt::format("[{}:{}]=", low, low + static_cast<int64_t>(inner) - 1);
  }
  const auto row = [&] {
    std::string items = "{";
    for (uint64_t i = 0; i < inner; ++i) {
      if (i != 0) items += ",";
      items += OneIn(5) ? "NULL" : Quoted(Text(element));
    }
    return items + "}";
  };
  if (outer == 0) return text + row();
  text += "{";
  for (uint64_t i = 0; i < outer; ++i) text += (i != 0 ? "," : "") + row();
  return text + "}";
}

std::string RandomValues::Record(const std::vector<std::string>& types) {
  std::string text = "(";
  for (size_t i = 0; i < types.size(); ++i) {
    if (i != 0) text += ",";
    if (!OneIn(5)) text += Quoted(Text(types[i]));
  }
  return text + ")";
}

std::string RandomValues::Network(bool cidr) {
  if (OneIn(3))
    return fmt::format("2001:db8:{:x}::{}/{}", Below(3), cidr ? "" : "1", 48 + (cidr ? 0 : Below(81)));
  if (cidr) return fmt::format("10.{}.0.0/{}", Below(4), 16 + Below(17));
  return fmt::format("10.{}.0.{}/{}", Below(3), Below(3), Below(33));
}

std::string RandomValues::Hstore() {
  std::string text;
  for (uint64_t i = Below(4); i > 0; --i) {
    if (!text.empty()) text += ",";
    text += Quoted(String()) + "=>" + (OneIn(4) ? "NULL" : Quoted(String()));
  }
  return text;
}

std::string RandomValues::Scalar(std::string_view type) {
  if (type == "json" || type == "jsonb") return Json(3);
  if (type == "bytea") return Bytes();
  if (type == "interval") return Interval();
  if (type == "uuid") return fmt::format("{:016x}{:016x}", OneIn(2) ? Below(3) : engine_(), Below(3));
  if (type == "inet" || type == "cidr") return Network(type == "cidr");
  if (type == "macaddr") return fmt::format("08:00:2b:01:{:02x}:{:02x}", Below(3), Below(256));
  if (type == "varbit") return fmt::format("{:b}", Below(64)).substr(1);
  if (type == "mood") return Pick({"sad", "very happy", "\"quoted\""});
  if (type == "pair") return Record({"int4", "text"});
  if (type == "hstore") return Hstore();
  if (type == "money") return fmt::format("{}.{:02}", Between(-100'000'000, 100'000'000), Below(100));
  if (type == "xid8") return std::to_string(engine_() >> Below(64));
  if (type == "tid") return fmt::format("({},{})", Below(5), Below(5));
  if (type == "pg_lsn") return fmt::format("{:X}/{:X}", Below(3), engine_() >> 40);
  if (type == "int4range") {
    const int64_t low = Between(-5, 5);
    return fmt::format("{}{},{}{}", OneIn(2) ? '[' : '(', low, low + Between(0, 4), OneIn(2) ? ']' : ')');
  }
  if (type == "tstzrange")
    return "[\"" + Day(2000) + " " + Clock() + "+00\"," + (OneIn(2) ? "infinity" : "") + ")";
  std::string text = String();
  if (type == "\"char\"") return OneIn(5) ? "" : std::string(1, static_cast<char>(1 + Below(127)));
  return text;
}

std::string RandomValues::Text(std::string_view type) {
  if (type.size() > 2 && type.substr(type.size() - 2) == "[]") return Array(type.substr(0, type.size() - 2));
  if (type == "bool") return OneIn(2) ? "t" : "f";
  if (type == "int2") return Integer(16);
  if (type == "int4") return Integer(32);
  if (type == "int8") return Integer(64);
  if (type == "oid") return std::to_string(OneIn(2) ? Below(5) : engine_() >> 32);
  if (type == "numeric") return Numeric();
  if (type == "float4") return Float(false);
  if (type == "float8") return Float(true);
  const bool zoned = type == "timestamptz";
  if (type == "date" || type == "timestamp" || zoned) {
    if (OneIn(10)) return OneIn(2) ? "infinity" : "-infinity";
    const std::string era = OneIn(6) ? " BC" : "";
    const std::string day = Day(!era.empty() ? 4700 : type == "date" ? 5'000'000 : 290'000);
    return day + (type == "date" ? "" : " " + Clock() + (zoned ? Zone() : "")) + era;
  }
  if (type == "time") return Clock();
  if (type == "timetz") return Clock() + Zone();
  return Scalar(type);
}

}  // namespace varve::oracle
