// SPDX-License-Identifier: PostgreSQL
// Key bytes against PostgreSQL's own comparisons, and keys and values as people write them against its input
// functions.
#include "sidecar/types/key.h"

#include <algorithm>

#include "tests/oracle/corpus.h"
#include "tests/oracle/oracle.h"
#include "tests/oracle/random_values.h"
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

struct Spelling {
  std::string type;
  std::vector<std::string> texts;
  std::vector<std::string> stricter = {};  // PostgreSQL takes them, Varve asks for another form
};

const std::vector<Spelling>& Spellings() {
  static const std::vector<Spelling> spellings = {
      {"bool",
       {"t", "TRUE", "tr", " yes ", "y", "on", "1", "f", "off", "of", "o", "n", "0", "", "2", "truee",
        "no "}},
      {"int2", {"1", " -7 ", "+3", "+-3", "32768", "-32768", "", "1.0", "1e2", "0x1", "--1", "- 1"}},
      {"int4", {"2147483648", "-2147483648", "00012", "abc", "1 2"}},
      {"int8", {"9223372036854775807", "9223372036854775808"}},
      {"oid", {"4294967295", "4294967296", "-1", "0", "-2147483649", "x"}},
      {"numeric",
       {"1",         " 1.50 ",  "+.5",          "5.",       ".",        "1e10",  "1E-5",
        "1e",        "1e+",     "1e+-2",        "nan",      "NaN",      "inf",   "-Infinity",
        "+infinity", "infinit", "1e131072",     "1e-16384", "0e999999", "1_000", "0x1f",
        "-0",        "000.100", "1e5000000000", "-nan",     "1 e5",     "--1",   "1e 5"},
       {"1e 5"}},
      {"float8",
       {"1", "1e400", "1e-400", "5e-324", "nan", "-inf", "+1.5", "1.5.", ".5", "5.", "1e5", "e5", "", "-"}},
      {"float4", {"1e39", "1e-46", "3.4028235e38", "0.1", "-Infinity"}},
      {"uuid",
       {"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}",
        "A0EEBC999C0B4EF8BB6D6BB9BD380A11", "a0ee-bc99-9c0b-4ef8-bb6d-6bb9-bd38-0a11",
        "{a0eebc999c0b4ef8bb6d6bb9bd380a11", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a1",
        "a0e-ebc99-9c0b-4ef8-bb6d-6bb9bd380a11", " a0eebc999c0b4ef8bb6d6bb9bd380a11",
        "a0eebc999c0b4ef8bb6d6bb9bd380a11-"}},
      {"bytea", {"\\x", "\\x00FF", "\\x0", "\\x0g", "\\x 00 ff", "\\x0 0"}},
      {"date",
       {"2024-07-01",    "2024-7-1",      "20240701",      "infinity",      "-Infinity",     "0001-01-01 BC",
        "4714-11-24 BC", "4714-11-23 BC", "5874897-12-31", "5874898-01-01", "2024-02-30",    "2023-02-29",
        "2024-13-01",    "0000-01-01",    " 2024-07-01 ",  "10000-01-01",   "2024-07-01 AD", "-2024-07-01",
        "2024-07",       "2000-02-29",    "1900-02-29"}},
      {"timestamp",
       {"2024-07-01",
        "2024-07-01T12:00:00",
        "2024-07-01 12:00",
        "2024-07-01 12:00:00.1234567",
        "2024-07-01 24:00:00",
        "2024-07-01 24:00:01",
        "2024-07-01 12:60:00",
        "2024-07-01 12:00:60",
        "2024-07-01 12:00:61",
        "2024-07-01 12:00:00+02",
        "2024-07-01 12:00:00Z",
        "infinity",
        "0044-03-15 12:34:56.789 BC",
        "294276-12-31 23:59:59.999999",
        "294277-01-01",
        "4714-11-24 00:00:00 BC",
        "4714-11-23 23:59:59 BC",
        "2024-07-01   12:00:00",
        "2024-07-01 12:00:00.9999996",
        "20240701T120000"},
       {"20240701T120000"}},
      {"timestamptz",
       {"2024-07-01", "2024-07-01T12:00:00Z", "2024-07-01 12:00:00+05:30", "2024-07-01 12:00:00-0830",
        "2024-07-01 12:00:00 +02", "2024-07-01 12:00:00+15:59:59", "2024-07-01 12:00:00+16",
        "2024-07-01 12:00:00 UTC", "-infinity", "0044-03-15 12:34:56+00 BC",
        "294276-12-31 23:59:59.999999+00", "294277-01-01 00:00:00+01", "4714-11-24 00:00:00+00 BC",
        "4714-11-24 00:00:00+01 BC", "2024-07-01 12:00:00+5"}},
      {"time",
       {"12:30", "12:30:00.5", "24:00:00", "24:00:00.000001", "23:59:60", "25:00", "12", " 12:30 ", "1:2:3"}},
      {"timetz",
       {"12:30+02", "12:30:00.5-08:30", "12:30:00Z", "12:30", "24:00:00+15:59:59", "12:00:00+16:00"}},
      {"interval",
       {"1 year 2 mons -3 days +04:05:06.789",
        "1 month",
        "2 weeks 1 day",
        "-1 mons +2 days",
        "P1Y2M-3DT4H5M6.789S",
        "PT1.5S",
        "P1W",
        "P",
        "PT",
        "04:05",
        "04:05:06",
        "-00:00:00.000001",
        "1.5 hours",
        "1 hour 30 minutes",
        "90 seconds",
        "",
        "1",
        "1 foo",
        "2147483648 days",
        "178956970 years 7 mons",
        "178956971 years",
        "2562047788:00:54.775807",
        "2562047788:00:54.775808",
        "100:00:00",
        "1 day 12",
        "1 day 1 day",
        "1:60:00",
        "-1 day -01:00",
        "P1M",
        "PT1M",
        "0.000001 secs",
        "-0.5 seconds"},
       {"PT", "1", "1 day 12"}},
      {"inet",
       {"10.0.0.1", "10.0.0.1/32", "10.0.0.1/8", "::1", "2001:DB8::1/64", "10.0.0", "10.0.0.1/33",
        "::ffff:1.2.3.4", "::1.2.3.4", "1:0:0:2::3", "01.2.3.4", "10.0.0.1/08"},
       {"01.2.3.4"}},
      {"cidr", {"10.0.0.0/8", "10.0.0.1/8", "10.0.0.1", "2001:db8::/32", "::/0"}},
      {"macaddr",
       {"08:00:2b:01:02:03", "08-00-2B-01-02-03", "08002b010203", "08002b:010203", "0800.2b01.0203",
        "08:00:2b"}},
      {"macaddr8", {"08:00:2b:01:02:03:04:05", "08:00:2b:01:02:03", "08002b0102030405"}},
      {"money",
       {"1", "-12.34", "$1,234.50", "-$0.01", "0", "-0", "12345678", "1.5", "$-1", "1,2,3",
        "92233720368547758.08"}},
      {"xid8", {"18446744073709551615", "0", " 7"}},
      {"pg_lsn", {"16/B374D848", "16/b374d848", "00000016/0", "x"}},
      {"tid", {"(42,7)", "( 42 , 7 )", "(1)"}},
      {"varbit", {"", "0101", "012"}},
      {"int4range", {"[1,6)", "[1,6]", "(,5)", "empty", "(1,6)", "[1,)"}, {"[1,6]", "(1,6)"}},
      {"\"char\"", {"a", "", "\\101", "\\377", "é", "ab"}, {"é", "ab"}},
      {"name", {"abc", std::string(63, 'x'), std::string(64, 'x')}, {std::string(64, 'x')}},
      {"json", {" {\"a\" : 1}", "{", "\"\\u00zz\""}},
      {"jsonb", {"{\"b\":1.0,\"a\":[1e2]}", "{", "\"\\u0000\"", "1"}},
      {"int4[]",
       {"{1,2}", " { 1 , NULL , 3 } ", "[0:1]={1,2}", "{{1},{2}}", "{{1},{2,3}}", "{1,{2}}", "{}", "{1,}",
        "{1,2", "[1:3]={1,2}", "{1}x", "[1:0]={}", "[2]={1,2}", "{{1,2},3}"}},
      {"text[]",
       {R"({a,"b c",NULL,"NULL",null})", R"({"a\"b",c\,d,"e\\"})", R"({ a b , c })", R"({"a"b})", R"({a"b"})",
        R"({\NULL})"}},
      {"bytea[]", {R"({"\\x00",\\xff})"}},
  };
  return spellings;
}

TEST_CASE("written values mean what PostgreSQL takes them for") {
  Prepare();
  for (const Spelling& spelling : Spellings()) {
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
