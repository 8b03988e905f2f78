// SPDX-License-Identifier: PostgreSQL
// Rows as JSON and values as text against PostgreSQL's own to_jsonb and output functions.
#include "sidecar/types/json.h"
#include "sidecar/types/key.h"
#include "tests/oracle/corpus.h"
#include "tests/oracle/oracle.h"
#include "tests/oracle/random_values.h"
#include "tests/support/catch.h"

namespace varve::oracle {
namespace {

std::string RowJson(const model::Relation& relation, const Sample& sample) {
  std::string json;
  const base::Status status = types::AppendRowJson(relation, sample.Cells(relation), &json);
  return status ? json : "error: " + status.error().message;
}

std::string ValueText(const model::Relation& relation, const model::Column& column, std::string_view value) {
  std::string text;
  const base::Status status = types::AppendValueText(relation, column, value, &text);
  return status ? text : "error: " + status.error().message;
}

void CheckTable(const model::Relation& relation) {
  const std::vector<Sample> samples = Server::Get().Fetch(relation);
  REQUIRE_FALSE(samples.empty());
  for (const Sample& sample : samples) {
    CHECK(RowJson(relation, sample) == sample.json);
    for (const model::Column& column : relation.columns) {
      const Field& value = sample.values[column.attnum - 1U];
      if (!value) continue;
      CHECK(ValueText(relation, column, *value) == *sample.texts[column.attnum - 1U]);
    }
  }
}

void FillTable(const std::string& type, const std::vector<std::string>& texts) {
  std::string values = "(0, null)";
  for (size_t i = 0; i < texts.size(); ++i) {
    values += ", (" + std::to_string(i + 1) + ", " + Quote(texts[i]) + "::text::" + type + ")";
  }
  Server::Get().Execute("insert into pg_temp.sample values " + values);
}

TEST_CASE("every value of the corpus prints as PostgreSQL prints it") {
  Prepare();
  for (const Corpus& corpus : AllCorpora()) {
    INFO(corpus.type);
    const auto relation = Server::Get().MakeTable("sample", "id int4, v " + corpus.type);
    FillTable(corpus.type, corpus.texts);
    CheckTable(relation);
  }
}

TEST_CASE("random values print as PostgreSQL prints them") {
  Prepare();
  constexpr size_t kValues = 400;
  for (const std::string& type : RandomTypes()) {
    INFO(type);
    const auto relation = Server::Get().MakeTable("sample", "id int4, v " + type);
    RandomValues random(Seed());
    std::vector<std::string> texts;
    for (size_t i = 0; i < kValues; ++i) texts.push_back(random.Text(type));
    FillTable(type, texts);
    CheckTable(relation);
  }
}

TEST_CASE("floating point numbers at powers of two print as PostgreSQL prints them") {
  Prepare();
  auto relation = Server::Get().MakeTable("sample", "id int4, d float8");
  Server::Get().Execute(
      "insert into pg_temp.sample select i, 2::float8 ^ i from generate_series(-1022, 1023) i");
  Server::Get().Execute(
      "insert into pg_temp.sample select i, i::text::float8 * 1e22 from generate_series(1, 3000) i");
  Server::Get().Execute(
      "insert into pg_temp.sample select i, ('1e' || i)::float8 from generate_series(-307, 308) i");
  Server::Get().Execute(
      "insert into pg_temp.sample select i, 9007199254740992::float8 * i from generate_series(1, 2000) i");
  CheckTable(relation);
  relation = Server::Get().MakeTable("sample", "id int4, f float4");
  Server::Get().Execute(
      "insert into pg_temp.sample select i, (2::float8 ^ i)::float4 from generate_series(-149, 127) i");
  Server::Get().Execute(
      "insert into pg_temp.sample select i, (16777216::float8 * i)::float4 from generate_series(1, 3000) i");
  Server::Get().Execute(
      "insert into pg_temp.sample select i, ('1e' || i)::float4 from generate_series(-37, 38) i");
  CheckTable(relation);
}

TEST_CASE("rows with odd and dropped columns print as PostgreSQL prints them") {
  Prepare();
  Server::Get().MakeTable("sample",
                          "id int4, gone text, \"a b\" text, \"A\" int2, \"é\" int8, \"x\"\"y\" bool, \"\\\" "
                          "numeric, \"\n\t\" date, \"" +
                              std::string(63, 'n') + "\" int4, gone2 int, zz wide, aa jsonb, ab json");
  Server::Get().Execute("alter table pg_temp.sample drop column gone");
  Server::Get().Execute("alter table pg_temp.sample drop column gone2");
  Server::Get().Execute("alter table pg_temp.sample add column \"a\"\"\" text default 'late'");
  Server::Get().Execute(
      "insert into pg_temp.sample values (1, 'v', 1, 2, true, 1.10, '2024-01-01', 3, null, '{\"q\": 1}', "
      "'{\"q\" :1.0}')");
  Server::Get().Execute("insert into pg_temp.sample values (2)");
  CheckTable(Server::Get().LoadRelation("sample"));
}

TEST_CASE("json that to_jsonb refuses is refused naming the column") {
  Prepare();
  const auto relation = Server::Get().MakeTable("sample", "id int4, doc json");
  for (const std::string text : {R"("\u0000")", R"({"a\u0000":1})", R"("\ud800")", R"("\udc00 x")",
                                 "1e200000", "1e-20000", "[1e99999999999]"}) {
    INFO(text);
    std::string error;
    CHECK_FALSE(Server::Get().TryValue("select to_jsonb($1::json)", {text}, &error).has_value());
    std::string json;
    const auto status = types::AppendValueJson(relation, relation.columns[1], text, &json);
    REQUIRE_FALSE(status.has_value());
    CHECK(status.error().message.find("\"doc\"") != std::string::npos);
  }
}

TEST_CASE("random bytes are taken or refused as json like PostgreSQL does") {
  Prepare();
  const auto relation = Server::Get().MakeTable("sample", "id int4, doc json");
  RandomValues random(Seed());
  for (int i = 0; i < 3000; ++i) {
    const std::string text = random.BrokenJson();
    INFO(text);
    std::string error;
    const auto expected = Server::Get().TryValue("select to_jsonb($1::text::json)::text", {text}, &error);
    std::string json;
    const auto status = types::AppendValueJson(relation, relation.columns[1], text, &json);
    if (status.has_value() != expected.has_value()) {
      FAIL_CHECK((status ? json : status.error().message) << " but PostgreSQL: " << expected.value_or(error));
    } else if (expected) {
      CHECK(json == *expected);
    }
  }
}

}  // namespace
}  // namespace varve::oracle
