// SPDX-License-Identifier: PostgreSQL
// Which changes of a column's type leave its old bytes readable, against ALTER TABLE.
#include "sidecar/types/json.h"
#include "sidecar/types/key.h"
#include "tests/oracle/oracle.h"
#include "tests/oracle/random_values.h"
#include "tests/support/catch.h"

namespace varve::oracle {
namespace {

const std::vector<std::string>& Changes() {
  static const std::vector<std::string> types = {
      "text",         "varchar",      "varchar(5)",   "varchar(9)", "bpchar",         "bpchar(5)",
      "bpchar(9)",    "name",         "citext",       "numeric",    "numeric(6,2)",   "numeric(9,2)",
      "numeric(9,3)", "int4",         "int8",         "oid",        "timestamp",      "timestamptz",
      "timestamp(2)", "timestamp(4)", "timestamp(6)", "interval",   "interval(2)",    "interval(4)",
      "interval day", "time(2)",      "time",         "varbit",     "varbit(5)",      "varbit(9)",
      "bit(5)",       "positive",     "inet",         "cidr",       "json",           "jsonb",
      "text[]",       "varchar(9)[]", "varchar(5)[]", "tags",       "numeric(6,2)[]", "numeric[]"};
  return types;
}

std::string ValueOf(const std::string& type) {
  if (type.substr(0, 3) == "bit" || type.substr(0, 6) == "varbit") return "10101";
  if (type.substr(0, 4) == "time" && type.substr(0, 9) != "timestamp") return "12:00:00.12";
  if (type.substr(0, 9) == "timestamp") return "2024-07-01 12:00:00.12";
  if (type.substr(0, 8) == "interval") return "1 day";
  if (type == "inet" || type == "cidr") return "10.0.0.1/32";
  if (type.substr(0, 4) == "json") return "7";
  if (type == "numeric(6,2)[]" || type == "numeric[]") return "{7.50}";
  if (type.substr(type.size() - 2) == "[]" || type == "tags") return "{a,b}";
  return "7";
}

uint64_t FileNode() {
  return std::stoull(
      *Server::Get().Query("select pg_relation_filenode('pg_temp.sample'::regclass)::text")[0][0]);
}

// Changes the type of a column that holds one value, and reads its old bytes as the new type.
void CheckChange(const model::Relation& before, const std::string& from, const std::string& to) {
  Server::Get().MakeTable("sample", "id int4, v " + from);
  Server::Get().Execute("insert into pg_temp.sample values (1, " + Quote(ValueOf(from)) + "::text::" + from +
                        ")");
  const std::vector<Sample> sample = Server::Get().Fetch(before);
  const uint64_t node = FileNode();
  Server::Get().Execute("alter table pg_temp.sample alter v type " + to);
  // A domain's constraint makes PostgreSQL write the same bytes again.
  if (to != "positive" && to != "tags") CHECK(FileNode() == node);
  const auto after = Server::Get().LoadRelation("sample");
  std::string json;
  REQUIRE(types::AppendRowJson(after, sample[0].Cells(before), &json).has_value());
  CHECK(json == Server::Get().Fetch(after)[0].json);
}

TEST_CASE("values of a column whose type changed are shown only where they print alike") {
  Prepare();
  std::vector<model::Relation> relations;
  for (const std::string& type : Changes()) {
    relations.push_back(Server::Get().MakeTable("sample", "id int4, v " + type));
  }
  size_t same = 0;
  for (size_t from = 0; from < relations.size(); ++from) {
    for (size_t to = 0; to < relations.size(); ++to) {
      INFO(Changes()[from] << " to " << Changes()[to]);
      if (!types::SameRepresentation(relations[from].columns[1], relations[to].columns[1])) continue;
      ++same;
      CheckChange(relations[from], Changes()[from], Changes()[to]);
    }
  }
  // Each type as itself and what text, varchar, numeric, timestamp, interval, time and varbit may grow to.
  CHECK(same >= Changes().size() + 20);
}

}  // namespace
}  // namespace varve::oracle
