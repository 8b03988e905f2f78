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

TEST_CASE("values of a column whose type changed are shown only where they print alike") {
  Prepare();
  size_t same = 0;
  for (const std::string& from : Changes()) {
    for (const std::string& to : Changes()) {
      INFO(from << " to " << to);
      const auto before = Server::Get().MakeTable("sample", "id int4, v " + from);
      Server::Get().Execute("insert into pg_temp.sample values (1, " + Quote(ValueOf(from)) +
                            "::text::" + from + ")");
      const std::vector<Sample> sample = Server::Get().Fetch(before);
      const uint64_t node = FileNode();
      std::string error;
      Server::Get().TryValue("alter table pg_temp.sample alter v type " + to, {}, &error);
      const auto after = Server::Get().LoadRelation("sample");
      const bool changed = after.columns[1].type_oid != before.columns[1].type_oid ||
                           after.columns[1].typmod != before.columns[1].typmod;
      if (!changed && from != to) continue;  // there is no such change
      const bool ours = types::SameRepresentation(before.columns[1], after.columns[1]);
      if (!ours) continue;
      ++same;
      // A domain's constraint makes PostgreSQL write the same bytes again.
      if (to != "positive" && to != "tags") CHECK(FileNode() == node);
      std::string json;
      REQUIRE(types::AppendRowJson(after, sample[0].Cells(before), &json).has_value());
      CHECK(json == Server::Get().Fetch(after)[0].json);
    }
  }
  // Each type as itself and what text, varchar, numeric, timestamp, interval, time and varbit may grow to.
  CHECK(same >= Changes().size() + 20);
}

}  // namespace
}  // namespace varve::oracle
