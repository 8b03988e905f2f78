// SPDX-License-Identifier: PostgreSQL
#include "sidecar/types/json.h"

#include "sidecar/types/oids.h"
#include "tests/support/catch.h"
#include "tests/unit/types/sample_relation.h"

namespace varve::types {
namespace {

using model::Cell;
using model::CellKind;
constexpr uint32_t kUserOid = 20000;

std::string Row(const model::Relation& relation, const std::vector<Cell>& cells) {
  std::string out;
  const base::Status status = AppendRowJson(relation, cells, &out);
  return status ? out : "error: " + status.error().message;
}

model::Type MakeType(uint32_t oid, char kind, std::string name, uint32_t inner = 0) {
  model::Type type;
  type.oid = oid;
  type.kind = kind;
  type.name = std::move(name);
  type.inner_oid = inner;
  return type;
}

std::string TextValue(const model::Relation& relation, std::string_view text) {
  std::string out;
  const base::Status status = AppendValueJson(relation, relation.columns[0], text, &out);
  return status ? out : "error: " + status.error().message;
}

TEST_CASE("a row's keys stand in jsonb's order: by length, then by bytes") {
  const auto relation = MakeRelation({{"bb", kTextOid}, {"b", kTextOid}, {"a", kTextOid}, {"é", kTextOid}});
  CHECK(Row(relation, {Value("1"), Value("2"), {CellKind::kNull, {}}, Value("4")}) ==
        R"~({"a": null, "b": "2", "bb": "1", "é": "4"})~");
}

TEST_CASE("of columns with the same name the last one is shown") {
  const auto relation = MakeRelation({{"a", kTextOid}, {"a", kTextOid}});
  CHECK(Row(relation, {Value("1"), Value("2")}) == R"~({"a": "2"})~");
}

TEST_CASE("absent cells are left out and unchanged ones are an internal error") {
  const auto relation = MakeRelation({{"a", kTextOid}, {"b", kTextOid}});
  CHECK(Row(relation, {{CellKind::kAbsent, {}}, Value("2")}) == R"~({"b": "2"})~");
  CHECK(Row(relation, {Value("1")}) == R"~({"a": "1"})~");
  CHECK(Row(relation, {}) == "{}");
  std::string out;
  const auto status = AppendRowJson(relation, {Value("1"), {CellKind::kUnchanged, {}}}, &out);
  REQUIRE_FALSE(status.has_value());
  CHECK(status.error().code == base::ErrorCode::kInternal);
  CHECK(status.error().message.find("\"b\" of public.t") != std::string::npos);
}

TEST_CASE("a json value that jsonb cannot hold is an error naming the column") {
  const auto relation = MakeRelation({{"doc", kJsonOid}});
  for (const std::string_view text :
       {R"~("\u0000")~", R"~("\ud800")~", "1e200000", "{", "", "[1,]", "01", "nul"}) {
    INFO(text);
    CHECK(Row(relation, {Value(text)}).find("error: column \"doc\" of public.t (json): ") == 0);
  }
}

TEST_CASE("json text is printed as jsonb prints it") {
  const auto relation = MakeRelation({{"d", kJsonOid}});
  CHECK(Row(relation,
            {Value(R"~( {"bb" :1e2,"a":[ ],"b":{"x":1.50,"x":-0.0},"\u0061":"\u00e9\/\u001f"} )~")}) ==
        R"~({"d": {"a": "é/\u001f", "b": {"x": 0.0}, "bb": 100}})~");
}

TEST_CASE("deep json costs memory and no stack") {
  constexpr size_t kDepth = 200'000;
  const auto relation = MakeRelation({{"d", kJsonOid}});
  std::string arrays = std::string(kDepth, '[') + std::string(kDepth, ']');
  CHECK(Row(relation, {Value(arrays)}) == "{\"d\": " + arrays + "}");
  std::string objects;
  for (size_t i = 0; i < kDepth; ++i) objects += "{\"b\":1,\"a\":";
  objects += "0" + std::string(kDepth, '}');
  CHECK(Row(relation, {Value(objects)}).size() > objects.size());
}

TEST_CASE("text of composite types, arrays and domains is printed by the tree of types") {
  model::Relation relation = MakeRelation({{"v", kUserOid}});
  relation.types = {MakeType(kUserOid, 'A', "_pair", kUserOid + 1), MakeType(kUserOid + 1, 'c', "pair"),
                    MakeType(kUserOid + 2, 'd', "positive", kInt4Oid)};
  relation.types[1].fields = {
      {"long", kTextOid}, {"n", kUserOid + 2}, {"t", kTimestamptzOid}, {"f", kFloat8Oid}};
  CHECK(
      TextValue(relation, R"~([0:1]={"(\"a \"\"b\"\"\",1,\"2024-01-01 00:00:00+00\",1e+20)","(,,,NaN)"})~") ==
      R"~([{"f": 100000000000000000000, "n": 1, "t": "2024-01-01T00:00:00+00:00", "long": "a \"b\""}, )~"
      R"~({"f": "NaN", "n": null, "t": null, "long": null}])~");
  for (const std::string_view text :
       {"{(1,2)}", "{", "(1,2,3,4)", "{\"(1\"}", "{\"(1,2,3,4\"}", "{{},{1}}", ""}) {
    INFO(text);
    CHECK(TextValue(relation, text).find("error: column \"v\"") == 0);
  }
}

TEST_CASE("hstore prints as its cast to json, other types with such a cast as their text") {
  model::Relation relation = MakeRelation({{"v", kUserOid}});
  relation.types = {MakeType(kUserOid, 'b', "hstore")};
  relation.types[0].json_cast = true;
  CHECK(TextValue(relation, R"~("a"=>"1", "b\"\\"=>NULL)~") == R"~({"a": "1", "b\"\\": null})~");
  CHECK(TextValue(relation, "") == "{}");
  CHECK(TextValue(relation, "\"a\"=>").find("error: ") == 0);
  relation.types[0].name = "geometry";
  CHECK(TextValue(relation, "POINT") == "\"POINT\"");
}

TEST_CASE("types that contain themselves end with an error") {
  model::Relation relation = MakeRelation({{"v", kUserOid}});
  relation.types = {MakeType(kUserOid, 'd', "loop", kUserOid)};
  CHECK(TextValue(relation, "x").find("nested too deeply") != std::string::npos);
}

}  // namespace
}  // namespace varve::types
