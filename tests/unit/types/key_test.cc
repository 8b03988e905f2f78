// SPDX-License-Identifier: PostgreSQL
#include "sidecar/types/key.h"

#include "sidecar/types/oids.h"
#include "sidecar/types/text_key.h"
#include "tests/support/catch.h"
#include "tests/unit/types/sample_relation.h"

namespace varve::types {
namespace {

using model::CellKind;

std::string Parse(const model::Relation& relation, std::string_view text) {
  const auto key = ParseKey(relation, text);
  return key ? *key : "error: " + key.error().message;
}

model::Relation TwoColumns() {
  auto relation = MakeRelation({{"id", kInt4Oid}, {"name", kTextOid}});
  relation.columns[1].key_position = 2;
  return relation;
}

TEST_CASE("one column is written bare, in an array or in an object") {
  const auto relation = MakeRelation({{"id", kInt4Oid}});
  for (const std::string_view text : {"42", " 42 ", "\"42\"", "[42]", "{\"id\":42}", "[ \"42\" ]"}) {
    INFO(text);
    CHECK(Parse(relation, text) == FromHex("800000000000002a"));
  }
  for (const std::string_view text :
       {"x", "", "null", "[]", "[1,2]", "{}", "{\"x\":1}", "{\"id\":1,\"id\":1}", "4.2", "[[1]]",
        "{\"id\":{}}", "true", "99999999999"}) {
    INFO(text);
    CHECK(Parse(relation, text).find("error: ") == 0);
    CHECK(Parse(relation, text).find("public.t") != std::string::npos);
  }
}

TEST_CASE("text that is not JSON stands for itself where the key is one column") {
  const auto text = MakeRelation({{"name", kTextOid}});
  CHECK(Parse(text, "alice") == std::string("alice") + '\0');
  CHECK(Parse(text, "\"alice\"") == std::string("alice") + '\0');
  CHECK(Parse(text, "007") == std::string("007") + '\0');
  CHECK(Parse(text, "7") == std::string("7") + '\0');
  const auto day = MakeRelation({{"day", kDateOid}});
  CHECK(Parse(day, "2000-01-02") == FromHex("80000001"));
}

TEST_CASE("integers of all widths have one key") {
  for (const std::string_view text : {"-32768", "-1", "0", "7", "32767"}) {
    INFO(text);
    const std::string key = Parse(MakeRelation({{"id", kInt2Oid}}), text);
    CHECK(key == Parse(MakeRelation({{"id", kInt4Oid}}), text));
    CHECK(key == Parse(MakeRelation({{"id", kInt8Oid}}), text));
  }
}

TEST_CASE("several columns are written as an array in index order or as an object") {
  const auto relation = TwoColumns();
  const std::string key = FromHex("8000000000000001") + "x" + '\0';
  CHECK(Parse(relation, R"~([1,"x"])~") == key);
  CHECK(Parse(relation, R"~({"name":"x","id":1})~") == key);
  for (const std::string_view text :
       {"1", "[1]", R"~({"id":1})~", R"~([1,"x",2])~", "x", "[1 2]", "[1,", "[,1]"}) {
    INFO(text);
    CHECK(Parse(relation, text).find("error: ") == 0);
  }
}

TEST_CASE("a key prints as JSON that reads back") {
  const auto relation = TwoColumns();
  std::string json;
  REQUIRE(AppendKeyJson(relation, {Value(FromHex("ffffffff")), Value("a\"b")}, &json).has_value());
  CHECK(json == R"~([-1, "a\"b"])~");
  CHECK(Parse(relation, json) == *EncodeKey(relation, {Value(FromHex("ffffffff")), Value("a\"b")}));
}

TEST_CASE("rows without a whole key are refused") {
  const auto relation = TwoColumns();
  for (const CellKind kind : {CellKind::kAbsent, CellKind::kNull, CellKind::kUnchanged}) {
    const auto key = EncodeKey(relation, {Value(FromHex("00000001")), {kind, {}}});
    REQUIRE_FALSE(key.has_value());
    CHECK(key.error().message.find("\"name\"") != std::string::npos);
  }
  CHECK_FALSE(EncodeKey(relation, {Value(FromHex("00000001"))}).has_value());
  CHECK_FALSE(EncodeKey(relation, {Value("123"), Value("x")}).has_value());
  auto keyless = relation;
  keyless.columns[0].key_position = keyless.columns[1].key_position = 0;
  CHECK(EncodeKey(keyless, {}).error().message.find("has no key") != std::string::npos);
  CHECK_FALSE(ParseKey(keyless, "1").has_value());
}

TEST_CASE("values are equal where the type says so") {
  const auto equal = [](uint32_t oid, std::string_view a, std::string_view b) {
    const auto relation = MakeRelation({{"v", oid}});
    const model::Column& column = relation.columns[0];
    return ValuesEqual(relation, column, *ParseValue(relation, column, a), *ParseValue(relation, column, b))
        .value();
  };
  CHECK(equal(kNumericOid, "1.0", "1.00"));
  CHECK_FALSE(equal(kNumericOid, "1.0", "1.01"));
  CHECK(equal(kBpcharOid, "a", "a  "));
  CHECK_FALSE(equal(kTextOid, "a", "a  "));
  CHECK(equal(kIntervalOid, "1 mon", "30 days"));
  CHECK(equal(kFloat8Oid, "-0", "0"));
  CHECK(equal(kInetOid, "10.0.0.1/32", "10.0.0.1"));
  CHECK(equal(kJsonbOid, "{\"a\":[1.0]}", "{\"a\":[1.00]}"));
  const auto json = MakeRelation({{"v", kJsonOid}});
  CHECK_FALSE(ValuesEqual(json, json.columns[0], "1", "1").has_value());
}

TEST_CASE("only changes of type that print alike are the same representation") {
  const auto column = [](uint32_t oid, int32_t typmod) {
    auto made = MakeRelation({{"v", oid}}).columns[0];
    made.typmod = typmod;
    return made;
  };
  const int32_t numeric_10_2 = ((10 << 16) | 2) + 4;
  const int32_t numeric_12_2 = ((12 << 16) | 2) + 4;
  CHECK(SameRepresentation(column(kVarcharOid, 14), column(kTextOid, -1)));
  CHECK(SameRepresentation(column(kVarcharOid, 14), column(kVarcharOid, 24)));
  CHECK(SameRepresentation(column(kTextOid, -1), column(kVarcharOid, -1)));
  CHECK_FALSE(SameRepresentation(column(kVarcharOid, 24), column(kVarcharOid, 14)));
  CHECK_FALSE(SameRepresentation(column(kTextOid, -1), column(kVarcharOid, 14)));
  CHECK(SameRepresentation(column(kNumericOid, numeric_10_2), column(kNumericOid, numeric_12_2)));
  CHECK(SameRepresentation(column(kNumericOid, numeric_10_2), column(kNumericOid, -1)));
  CHECK_FALSE(SameRepresentation(column(kNumericOid, numeric_12_2), column(kNumericOid, numeric_10_2)));
  CHECK_FALSE(SameRepresentation(column(kTimestampOid, -1), column(kTimestamptzOid, -1)));
  CHECK(AreIntegers(column(kInt2Oid, -1), column(kInt8Oid, -1)));
  CHECK_FALSE(AreIntegers(column(kInt4Oid, -1), column(kOidOid, -1)));
  CHECK_FALSE(SameRepresentation(column(kInt4Oid, -1), column(kOidOid, -1)));
  CHECK_FALSE(SameRepresentation(column(kBpcharOid, 9), column(kBpcharOid, 14)));
  auto domain = column(kInt4Oid, -1);
  domain.type_oid = 20000;
  CHECK(SameRepresentation(column(kInt4Oid, -1), domain));
}

TEST_CASE("a text lasts unless it names an object, however deep inside") {
  constexpr uint32_t kRegclass = 2205;
  model::Relation relation;
  const auto add = [&](uint32_t oid, char kind, uint32_t inner, std::vector<model::TypeField> fields = {}) {
    model::Type type;
    type.oid = oid;
    type.kind = kind;
    type.inner_oid = inner;
    type.fields = std::move(fields);
    relation.types.push_back(std::move(type));
  };
  add(kRegclass, 'b', 0);
  add(2210, 'A', kRegclass);
  add(20000, 'c', 0, {{"plain", 23}, {"deep", 2210}});
  add(20001, 'c', 0, {{"plain", 23}});
  add(20002, 'd', 20000);
  add(20003, 'e', 0, {{"label", kRegclass}});  // an enum's labels have oids of their own
  for (const uint32_t oid : {kRegclass, 2210U, 20000U, 20002U}) CHECK_FALSE(CheckLastingText(relation, oid));
  for (const uint32_t oid : {23U, 20001U, 20003U}) CHECK(CheckLastingText(relation, oid));
}

}  // namespace
}  // namespace varve::types
