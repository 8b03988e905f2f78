// SPDX-License-Identifier: PostgreSQL
// Values whose text and send form were taken from PostgreSQL once; tests/oracle asks a live one.
#include "sidecar/types/scalar.h"

#include "sidecar/types/builtin.h"
#include "sidecar/types/oids.h"
#include "tests/support/catch.h"
#include "tests/unit/types/sample_relation.h"

namespace varve::types {
namespace {

constexpr uint32_t kInt4ArrayOid = 1007;
constexpr uint32_t kTextArrayOid = 1009;

struct Golden {
  uint32_t oid;
  std::string_view input;
  std::string_view text;
  std::string_view hex;
};

constexpr Golden kGolden[] = {
    {kDateOid, "infinity", "infinity", "7fffffff"},
    {kDateOid, "-infinity", "-infinity", "80000000"},
    {kDateOid, "4713-01-01 BC", "4713-01-01 BC", "ffda97cd"},
    {kDateOid, "2000-01-01", "2000-01-01", "00000000"},
    {kDateOid, "5874897-12-31", "5874897-12-31", "7fda970c"},
    {kTimestampOid, "infinity", "infinity", "7fffffffffffffff"},
    {kTimestampOid, "-infinity", "-infinity", "8000000000000000"},
    {kTimestampOid, "4713-01-01 00:00:00 BC", "4713-01-01 00:00:00 BC", "fd0f7fbdaf17e000"},
    {kTimestampOid, "0001-01-01", "0001-01-01 00:00:00", "ff1fe2ffc59c6000"},
    {kTimestampOid, "1900-01-01 00:00:00.000001", "1900-01-01 00:00:00.000001", "fff4c9ee7c0b8001"},
    {kTimestampOid, "294276-12-31 23:59:59.999999", "294276-12-31 23:59:59.999999", "7fffff5bb3b29fff"},
    {kTimestamptzOid, "2024-07-01 12:00:00.123456+05:30", "2024-07-01 06:30:00.123456+00",
     "0002bf287ec90c40"},
    {kTimeOid, "24:00:00", "24:00:00", "000000141dd76000"},
    {kTimeOid, "23:59:59.999999", "23:59:59.999999", "000000141dd75fff"},
    {kTimetzOid, "12:00:00+05:30", "12:00:00+05:30", "0000000a0eebb000ffffb2a8"},
    {kIntervalOid, "1 year 2 mons -3 days 04:05:06.789", "1 year 2 mons -3 days +04:05:06.789",
     "000000036c97ca88fffffffd0000000e"},
    // Infinite intervals are PostgreSQL 17's.
    {kIntervalOid, "infinity", "infinity", "7fffffffffffffff7fffffff7fffffff"},
    {kIntervalOid, "-infinity", "-infinity", "80000000000000008000000080000000"},
    {kNumericOid, "NaN", "NaN", "00000000c0000000"},
    {kNumericOid, "Infinity", "Infinity", "00000000d0000020"},
    {kNumericOid, "-Infinity", "-Infinity", "00000000f0000020"},
    {kNumericOid, "0", "0", "0000000000000000"},
    {kNumericOid, "-0.00", "0.00", "0000000000000002"},
    {kNumericOid, "12345678901234567890.0100", "12345678901234567890.0100",
     "000600040000000404d2162e23340d801ed20064"},
    {kNumericOid, "1e-20", "0.00000000000000000001", "0001fffb000000140001"},
    {kNumericOid, "1.50", "1.50", "000200000000000200011388"},
    {kFloat8Oid, "NaN", "NaN", "7ff8000000000000"},
    {kFloat8Oid, "-Infinity", "-Infinity", "fff0000000000000"},
    {kFloat8Oid, "-0", "-0", "8000000000000000"},
    {kFloat8Oid, "0.1", "0.1", "3fb999999999999a"},
    {kFloat4Oid, "1.1", "1.1", "3f8ccccd"},
    {kBoolOid, "t", "t", "01"},
    {kInt2Oid, "-32768", "-32768", "8000"},
    {kInt4Oid, "-2147483648", "-2147483648", "80000000"},
    {kInt8Oid, "9223372036854775807", "9223372036854775807", "7fffffffffffffff"},
    {kOidOid, "4294967295", "4294967295", "ffffffff"},
    {kUuidOid, "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
     "a0eebc999c0b4ef8bb6d6bb9bd380a11"},
    {kByteaOid, "\\x00ff5c", "\\x00ff5c", "00ff5c"},
    {kByteaOid, "\\x", "\\x", ""},
    {kTextOid, "", "", ""},
    {kBpcharOid, "ab   ", "ab   ", "6162202020"},
    {kCharOid, "q", "q", "71"},
    {kCharOid, "\\377", "\\377", "ff"},
    {kNameOid, "nm", "nm", "6e6d"},
    {kInt4ArrayOid, "{1,NULL,3}", "{1,NULL,3}",
     "00000001000000010000001700000003000000010000000400000001ffffffff0000000400000003"},
    {kInt4ArrayOid, "[2:3]={7,8}", "[2:3]={7,8}",
     "000000010000000000000017000000020000000200000004000000070000000400000008"},
    {kInt4ArrayOid, "{}", "{}", "000000000000000000000017"},
    {kTextArrayOid, R"~({{a,"b c"},{NULL,"NULL"}})~", R"~({{a,"b c"},{NULL,"NULL"}})~",
     "00000002000000010000001900000002000000010000000200000001000000016100000003622063ffffffff000000044e554c4"
     "c"},
    {kTextArrayOid, R"~({"","a\"b","c\\d","{x}"})~", R"~({"","a\"b","c\\d","{x}"})~",
     "0000000100000000000000190000000400000001000000000000000361226200000003635c64000000037b787d"},
    {kJsonOid, R"~({ "a" :1, "a":2})~", R"~({ "a" :1, "a":2})~", "7b20226122203a312c202261223a327d"},
    {kJsonbOid, R"~({"a":1, "a":2, "n":1.00})~", R"~({"a": 2, "n": 1.00})~",
     "017b2261223a20322c20226e223a20312e30307d"},
    {kJsonbOid, "null", "null", "016e756c6c"},
    {kJsonbOid, "\"FIRST\"", "\"FIRST\"", "0122464952535422"},
};

TEST_CASE("values read and print as PostgreSQL's do") {
  for (const Golden& golden : kGolden) {
    INFO(golden.oid << " " << golden.input);
    std::string bytes;
    REQUIRE(ParseBinary(golden.oid, golden.input, &bytes).has_value());
    CHECK(bytes == FromHex(golden.hex));
    std::string text;
    REQUIRE(AppendBinaryText(golden.oid, FromHex(golden.hex), &text).has_value());
    CHECK(text == golden.text);
  }
}

// select '294276-12-31 23:59:59.999999'::timestamp(3)
TEST_CASE("a timestamp that rounding lifted above the greatest input is printed") {
  std::string out;
  REQUIRE(AppendBinaryText(kTimestampOid, FromHex("7fffff5bb3b2a000"), &out));
  CHECK(out == "294277-01-01 00:00:00");
}

TEST_CASE("bytes that are no value of the type are refused") {
  const std::pair<uint32_t, std::string_view> bad[] = {
      {kInt4Oid, "000000"},
      {kInt4Oid, ""},
      {kBoolOid, ""},
      {kUuidOid, "00"},
      {kDateOid, "7ffffffe"},
      {kTimestampOid, "8000000000000001"},
      {kTimeOid, "ffffffffffffffff"},
      {kTimetzOid, "00000000000000007fffffff"},
      {kNumericOid, "0001000000000000"},      // a digit is missing
      {kNumericOid, "000100000000000027ff"},  // above 9999
      {kNumericOid, "00000000ffff0000"},      // no such sign
      {kNumericOid, "0000000000004000"},      // scale
      {kNumericOid, "00"},
      {kJsonbOid, ""},
      {kJsonbOid, "027b7d"},
      {kInt4ArrayOid, "00000007000000000000001700000000"},                          // dimensions
      {kInt4ArrayOid, "00000001000000000000001700000002000000010000000400000001"},  // an element is missing
      {kInt4ArrayOid, "0000000100000000000000177fffffff00000001"},                  // length
      {kInt4ArrayOid, "000000010000000000000017000000010000000100000008000000010000"},
      {kInt4ArrayOid, "00000001000000000000001700000001000000010000000400000001ff"},  // more behind it
      {kInt4ArrayOid, "00000001000000000000001700000001000000010000000200000001"},
  };
  for (const auto& [oid, hex] : bad) {
    INFO(oid << " " << hex);
    std::string out;
    CHECK_FALSE(AppendBinaryText(oid, FromHex(hex), &out).has_value());
    CHECK_FALSE(AppendBinaryJson(oid, FromHex(hex), &out).has_value());
  }
}

TEST_CASE("key bytes stay what they are on disk") {
  const std::pair<std::pair<uint32_t, std::string_view>, std::string_view> golden[] = {
      {{kBoolOid, "t"}, "01"},
      {{kInt2Oid, "-1"}, "7fffffffffffffff"},
      {{kInt4Oid, "1"}, "8000000000000001"},
      {{kInt8Oid, "-9223372036854775808"}, "0000000000000000"},
      {{kOidOid, "1"}, "00000001"},
      {{kFloat8Oid, "-0"}, "8000000000000000"},
      {{kFloat8Oid, "-1"}, "400fffffffffffff"},
      {{kFloat4Oid, "NaN"}, "ffc00000"},
      {{kNumericOid, "0.00"}, "30"},
      {{kNumericOid, "1.50"},
       "4080000002"
       "13890000"},
      {{kNumericOid, "-1.5"},
       "207ffffffd"
       "ec76ffff"},
      {{kNumericOid, "NaN"}, "60"},
      {{kTextOid, "ab"}, "616200"},
      {{kBpcharOid, "ab  "}, "616200"},
      {{kByteaOid, "\\x6100"}, "6100ff0001"},
      {{kTimetzOid, "00:00:00+01"},
       "7fffffff296c5c00"
       "7ffff1f0"},
      {{kIntervalOid, "1 mon"},
       "8000000000000000"
       "0000025b7f3d4000"},
      {{kInt4ArrayOid, "{1,NULL}"},
       "018000000000000001"
       "ff"
       "00"
       "01"
       "80000002"
       "80000001"},
      {{kJsonbOid, "{\"a\": 1.0}"}, "7b2261223a20317d0001"},
  };
  for (const auto& [value, hex] : golden) {
    INFO(value.first << " " << value.second);
    std::string bytes;
    REQUIRE(ParseBinary(value.first, value.second, &bytes).has_value());
    std::string key;
    REQUIRE(AppendBinaryKey(value.first, bytes, &key).has_value());
    CHECK(key == FromHex(hex));
  }
}

TEST_CASE("every binary type has its array, width and form") {
  size_t count = 0;
  for (uint32_t oid = 0; oid < 10'000; ++oid) {
    const BinaryType* type = FindBinaryType(oid);
    if (type == nullptr) continue;
    ++count;
    CHECK(RepresentationOf(oid).form == model::Form::kBinary);
    CHECK(RepresentationOf(oid).width == type->width);
    CHECK(RepresentationOf(type->array_oid).form == model::Form::kBinary);
    CHECK(RepresentationOf(type->array_oid).width == 0);
    CHECK(FindElementOfArray(type->array_oid) == type);
  }
  CHECK(count == 23);
  CHECK(RepresentationOf(kInetOid).form == model::Form::kText);
  CHECK(RepresentationOf(0).form == model::Form::kText);
}

}  // namespace
}  // namespace varve::types
