// SPDX-License-Identifier: PostgreSQL
// Key bytes against PostgreSQL's own comparisons, and keys and values as people write them against its input
// functions.
#include "sidecar/types/key.h"

#include <algorithm>

#include "tests/oracle/corpus.h"
#include "tests/oracle/oracle.h"
#include "tests/oracle/random_values.h"
#include "tests/oracle/spellings.h"
#include "tests/support/catch.h"

namespace varve::oracle {
namespace {

enum class Keys { kOrdered, kIdentity };
struct KeyType {
  std::string type;
  Keys keys;
};

const std::vector<KeyType>& KeyTypes() {
  static const std::vector<KeyType> types = [] {
    std::vector<KeyType> all;
    for (const char* type :
         {"bool",     "int2",     "int4",          "int8",        "oid",         "numeric",
          "float4",   "float8",   "date",          "timestamp",   "timestamptz", "time",
          "timetz",   "interval", "text",          "varchar(99)", "bpchar(6)",   "name",
          "\"char\"", "bytea",    "uuid",          "int4[]",      "text[]",      "numeric[]",
          "float8[]", "bool[]",   "timestamptz[]", "interval[]",  "bytea[]"}) {
      all.push_back(KeyType{type, Keys::kOrdered});
    }
    for (const char* type : {"jsonb", "jsonb[]", "mood", "mood[]", "inet", "cidr", "macaddr", "varbit",
                             "int4range", "tstzrange", "money", "xid8", "tid", "pg_lsn"}) {
      all.push_back(KeyType{type, Keys::kIdentity});
    }
    return all;
  }();
  return types;
}

bool IsCollatable(const std::string& type) {
  return type == "text" || type == "text[]" || type == "varchar(99)" || type == "bpchar(6)" || type == "name";
}

// 101 values make more than 10^4 pairs.
constexpr int kValues = 101;

model::Relation MakeKeyTable(const std::string& type) {
  Server::Get().MakeTable("sample", "id int4, v " + type);
  RandomValues random(Seed());
  std::string values;
  for (int i = 0; i < kValues; ++i) {
    values += std::string(i == 0 ? "" : ", ") + "(" + std::to_string(i) + ", " + Quote(random.Text(type)) +
              "::text::" + type + ")";
  }
  Server::Get().Execute("insert into pg_temp.sample values " + values);
  model::Relation relation = Server::Get().LoadRelation("sample");
  relation.columns[1].key_position = 1;
  return relation;
}

std::string Key(const model::Relation& relation, const Sample& sample) {
  const auto key = types::EncodeKey(relation, sample.Cells(relation));
  if (!key) FAIL(key.error().message);
  return *key;
}

void CheckPairs(const KeyType& type) {
  INFO(type.type);
  const model::Relation relation = MakeKeyTable(type.type);
  std::vector<std::string> keys;
  for (const Sample& sample : Server::Get().Fetch(relation)) keys.push_back(Key(relation, sample));
  const std::string collate = IsCollatable(type.type) ? " collate \"C\"" : "";
  const auto pairs = Server::Get().Query(
      "select (a.v" + collate + " < b.v" + collate + ")::text, (a.v" + collate + " = b.v" + collate +
      ")::text, a.v::text, b.v::text from " + "pg_temp.sample a, pg_temp.sample b order by a.id, b.id");
  REQUIRE(pairs.size() == keys.size() * keys.size());
  size_t wrong = 0;
  for (size_t i = 0; i < pairs.size(); ++i) {
    const std::string& left = keys[i / keys.size()];
    const std::string& right = keys[i % keys.size()];
    const bool less = *pairs[i][0] == "true";
    const bool equal = *pairs[i][1] == "true";
    const bool prefix = left != right && right.substr(0, left.size()) == left;
    const bool right_order = type.keys == Keys::kIdentity || (left < right) == less;
    if (right_order && (left == right) == equal && !prefix) continue;
    if (++wrong <= 3)
      FAIL_CHECK(*pairs[i][2] << " and " << *pairs[i][3] << ": less " << less << " equal " << equal);
  }
  CHECK(wrong == 0);
}

TEST_CASE("key bytes compare as PostgreSQL compares values") {
  Prepare();
  for (const KeyType& type : KeyTypes()) CheckPairs(type);
}

TEST_CASE("keys written as JSON read back to the same bytes") {
  Prepare();
  for (const KeyType& type : KeyTypes()) {
    INFO(type.type);
    const model::Relation relation = MakeKeyTable(type.type);
    for (const Sample& sample : Server::Get().Fetch(relation)) {
      std::string json;
      REQUIRE(types::AppendKeyJson(relation, sample.Cells(relation), &json).has_value());
      INFO(json);
      const auto back = types::ParseKey(relation, json);
      if (!back) FAIL(back.error().message);
      CHECK(*back == Key(relation, sample));
      const auto object = types::ParseKey(relation, "{\"v\": " + json + "}");
      CHECK(object.value_or("") == *back);
      const model::Column& column = relation.columns[1];
      const auto value = types::ParseValue(relation, column, *sample.texts[1]);
      if (!value) FAIL(value.error().message);
      CHECK(types::ValuesEqual(relation, column, *value, *sample.values[1]).value_or(false));
    }
  }
}

TEST_CASE("keys of several columns sort by their columns") {
  Prepare();
  Server::Get().MakeTable("sample", "id int4, a text, b int2, c numeric, d bytea");
  RandomValues random(Seed());
  std::string values;
  for (int i = 0; i < kValues; ++i) {
    values += std::string(i == 0 ? "" : ", ") + "(" + std::to_string(i) + ", " +
              Quote(random.Text("text").substr(0, 0)) + " || " + std::to_string(i % 2) + ", " +
              std::to_string(i % 3) + ", " + Quote(random.Text("numeric")) + "::numeric, " +
              Quote(random.Text("bytea")) + "::bytea)";
  }
  Server::Get().Execute("insert into pg_temp.sample values " + values);
  model::Relation relation = Server::Get().LoadRelation("sample");
  relation.columns[1].key_position = 2;
  relation.columns[2].key_position = 1;
  relation.columns[3].key_position = 3;
  relation.columns[4].key_position = 4;
  std::vector<std::string> keys;
  for (const Sample& sample : Server::Get().Fetch(relation)) {
    keys.push_back(Key(relation, sample));
    std::string json;
    REQUIRE(types::AppendKeyJson(relation, sample.Cells(relation), &json).has_value());
    CHECK(types::ParseKey(relation, json).value_or("") == keys.back());
  }
  const auto order =
      Server::Get().Query("select id::text from pg_temp.sample order by b, a collate \"C\", c, d, id");
  for (size_t i = 1; i < order.size(); ++i) {
    CHECK(keys[std::stoul(*order[i - 1][0])] <= keys[std::stoul(*order[i][0])]);
  }
}

TEST_CASE("types whose text does not tell equal values apart are refused as keys") {
  Prepare();
  for (const char* type :
       {"json", "xml", "point", "citext", "numrange", "tsvector", "hstore", "pair", "citext[]"}) {
    INFO(type);
    model::Relation relation = Server::Get().MakeTable("sample", "id int4, v " + std::string(type));
    relation.columns[1].key_position = 1;
    const std::vector<model::Cell> cells(2, model::Cell{model::CellKind::kValue, "x"});
    CHECK_FALSE(types::EncodeKey(relation, cells).has_value());
    CHECK_FALSE(types::ValuesEqual(relation, relation.columns[1], "x", "x").has_value());
  }
}

TEST_CASE("written values mean what PostgreSQL takes them for") {
  Prepare();
  for (const Spelling& spelling : AllSpellings()) {
    const model::Relation relation = Server::Get().MakeTable("sample", "id int4, v " + spelling.type);
    const model::Column& column = relation.columns[1];
    for (const std::string& text : spelling.texts) {
      INFO(spelling.type << " [" << text << "]");
      std::string error;
      const std::string sql = column.form == model::Form::kBinary
                                  ? "select $1::" + spelling.type
                                  : "select format('%s', $1::" + spelling.type + ")";
      const auto expected = Server::Get().TryValue(sql, {text}, &error);
      const auto value = types::ParseValue(relation, column, text);
      if (!value) {
        const bool stricter =
            std::find(spelling.stricter.begin(), spelling.stricter.end(), text) != spelling.stricter.end();
        if (stricter == !expected) FAIL_CHECK(value.error().message << " " << error);
        continue;
      }
      if (!expected) {
        FAIL_CHECK("taken, but PostgreSQL: " << error);
      } else {
        CHECK(*value == *expected);
      }
    }
  }
}

}  // namespace
}  // namespace varve::oracle
