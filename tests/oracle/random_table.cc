// SPDX-License-Identifier: PostgreSQL
#include "tests/oracle/random_table.h"

#include <algorithm>

#include <fmt/format.h>

#include "tests/oracle/corpus.h"
#include "tests/oracle/oracle.h"

namespace varve::oracle {
namespace {

// Types that travel as text, of the server and of what comes with it; those that are not installed are left
// out.
std::vector<Corpus> MoreTypes() {
  std::vector<Corpus> corpora = {
      {"numeric(30,4)", {"1.5", "-99999999999999999999999999.9999"}},
      {"numeric(1000,500)", {"-12345678901234567890.5", "NaN"}},
      {"timestamp(2)", {"2024-01-01 00:00:00.129", "infinity"}},
      {"interval(1)", {"1 day 00:00:00.16"}},
      {"bit(1)", {"0", "1"}},
      {"cid", {"4294967295"}},
      {"int8range", {"[-9223372036854775808,9223372036854775807)", "empty"}},
      {"tsrange", {"[\"2024-01-01 00:00:00.5\",\"294276-12-31 00:00:00\")", "(-infinity,infinity)"}},
      {"nummultirange", {"{[1.0,2.50),[3,)}", "{}"}},
      {"tstzmultirange", {"{[\"2024-01-01 00:00:00+05:30\",\"2024-01-02 00:00:00+00\")}"}},
      {"datemultirange", {"{[2024-01-01,2024-02-01)}"}},
      {"jsonpath", {"$.a[*] ? (@ > 1)", "strict $.\"b c\""}},
      {"pg_snapshot", {"10:20:10,14"}},
      {"refcursor", {"c \"1\""}},
      {"regproc", {"now", "0"}},
      {"regprocedure", {"sum(int4)"}},
      {"regoperator", {"+(int4,int4)"}},
      {"regrole", {"postgres"}},
      {"regnamespace", {"pg_catalog"}},
      {"regconfig", {"simple"}},
      {"regdictionary", {"simple"}},
      {"regcollation", {"\"C\""}},
      {"tsquery", {"'a':*A & !('b' <-> 'c')"}},
      {"macaddr8[]", {"{08:00:2b:01:02:03:04:05,NULL}"}},
      {"polygon[]", {R"~({"((0,0),(1,1),(2,0))"})~"}},
      {"regclass[]", {"{pg_class,0}"}},
      {"xml[]", {"{<a/>,NULL}"}},
  };
  const std::vector<std::pair<std::string, std::vector<Corpus>>> extensions = {
      {"cube", {{"cube", {"(1,2),(3.5,4)", "(0)"}}}},
      {"isn", {{"ean13", {"9780306406157"}}, {"isbn", {"0-306-40615-2"}}}},
      {"seg", {{"seg", {"1.5 .. 2.50", "~7"}}}},
      {"intarray", {{"query_int", {"1&(2|!3)"}}}},
      {"lo", {{"lo", {"4294967295"}}}},
      {"ltree", {{"lquery", {"*.a@|b*.!c"}}, {"ltxtquery", {"a & !b*"}}}},
  };
  for (const auto& [name, types] : extensions) {
    if (Server::Get().Query("select from pg_available_extensions where name = " + Quote(name)).empty())
      continue;
    Server::Get().Execute("create extension if not exists " + name + " schema varve_test");
    corpora.insert(corpora.end(), types.begin(), types.end());
  }
  return corpora;
}

const std::vector<Corpus>& Corpora() {
  static const std::vector<Corpus> corpora = [] {
    std::vector<Corpus> all = AllCorpora();
    for (Corpus& more : MoreTypes()) all.push_back(std::move(more));
    return all;
  }();
  return corpora;
}

bool IsRandomType(const std::string& type) {
  const std::vector<std::string>& known = RandomTypes();
  return std::find(known.begin(), known.end(), type) != known.end();
}

// to_jsonb under the settings that the plugin promises, whatever those of the session are.
constexpr std::string_view kNote = R"(create function roundtrip.note() returns trigger language plpgsql
set search_path = pg_catalog set timezone = 'UTC' set datestyle = 'ISO' set intervalstyle = 'postgres'
set bytea_output = 'hex' set extra_float_digits = 1 set lc_monetary = 'C' set xmlbinary = 'base64'
set quote_all_identifiers = off as $$
begin
  insert into roundtrip.written (op, before, after) values (lower(tg_op),
    case when tg_op <> 'INSERT' then to_jsonb(old)::text end,
    case when tg_op <> 'DELETE' then to_jsonb(new)::text end);
  return null;
end $$)";

}  // namespace

void RandomTable::Prepare() {
  oracle::Prepare();
  for (const std::string_view statement :
       {"create schema roundtrip",
        "create table roundtrip.written (n serial, op text, before text, after text)", kNote.data(),
        "create publication roundtrip", "select pg_create_logical_replication_slot('roundtrip', 'varve')"}) {
    Server::Get().Execute(std::string(statement));
  }
}

RandomTable::RandomTable(uint64_t seed)
    : engine_(seed), values_(seed), name_(fmt::format("roundtrip.\"t {}\"", seed % 100000)) {}

void RandomTable::Execute(const std::string& statement) {
  history_ += statement.substr(0, 400) + ";\n";
  Server::Get().Execute(statement);
}

std::string RandomTable::Constant(const std::string& type) {
  const auto literal = [&](const std::string& text) { return Quote(text) + "::text::" + type; };
  if (IsRandomType(type) && OneIn(2)) return literal(values_.Text(type));
  std::vector<const Corpus*> found;
  for (const Corpus& corpus : Corpora()) {
    if (corpus.type == type) found.push_back(&corpus);
  }
  if (!found.empty()) {
    const Corpus& corpus = *found[Below(found.size())];
    return literal(corpus.texts[Below(corpus.texts.size())]);
  }
  if (IsRandomType(type)) return literal(values_.Text(type));
  // An array of a type that has texts.
  const std::string element = type.substr(0, type.size() - 2);
  std::string items;
  for (uint64_t i = Below(4); i > 0; --i) {
    items += (items.empty() ? "" : ", ") + (OneIn(4) ? "null" : Constant(element));
  }
  return "array[" + items + "]::" + type;
}

// Out of line, compressed or not.
std::string RandomTable::Large(const std::string& type) {
  const std::string noise = fmt::format(
      "(select string_agg(md5(g::text), '') from generate_series({}, {}) g)", Below(1000), 1000 + Below(400));
  const std::string text =
      OneIn(2) ? noise : fmt::format("repeat({}, {})", Quote("äb\"\\ "), 500 + Below(5000));
  if (type == "text") return text;
  if (type == "bytea") return "convert_to(" + text + ", 'UTF8')";
  if (type == "json") return "json_build_object('k', " + text + ", 'n', 1.50)";
  if (type == "jsonb") return "jsonb_build_object('k', " + text + ", 'n', array[1.50, null])";
  if (type == "text[]") return "array[" + text + ", null, 'x']";
  if (type == "int4[]") return fmt::format("array(select g from generate_series(1, {}) g)", 700 + Below(700));
  if (type == "hstore") return "varve_test.hstore('k', " + text + ")";
  if (type == "numeric") return fmt::format("('1' || repeat('7', {}) || '.5')::numeric", 9000 + Below(3000));
  return Constant(type);
}

std::string RandomTable::Expression(const std::string& type) {
  if (OneIn(6)) return "null";
  return OneIn(6) ? Large(type) : Constant(type);
}

RandomTable::Column RandomTable::NewColumn() {
  static const std::vector<std::string> prefixes = {"c", "C ", "ü", "\"", "\\", "select"};
  Column column;
  column.name = prefixes[Below(prefixes.size())] + std::to_string(next_column_++);
  switch (Below(4)) {
    case 0: column.type = RandomTypes()[Below(RandomTypes().size())]; break;
    case 1: {
      static const std::vector<std::string> large = {"text",   "bytea",  "json",   "jsonb",
                                                     "text[]", "int4[]", "hstore", "numeric"};
      column.type = large[Below(large.size())];
      break;
    }
    default: column.type = Corpora()[Below(Corpora().size())].type;
  }
  const bool can_be_element = column.type.find("[]") == std::string::npos && column.type != "empty_type";
  if (can_be_element && OneIn(6)) column.type += "[]";
  return column;
}

void RandomTable::Create() {
  std::string sql = "create table " + name_ + " (id int4";
  for (uint64_t i = 1 + Below(9); i > 0; --i) {
    columns_.push_back(NewColumn());
    sql += ", " + QuoteName(columns_.back().name) + " " + columns_.back().type;
    if (OneIn(8)) sql += fmt::format(", gone{} text", i);
  }
  // Every other table knows its rows by a key, or by an index on the same column, or by all they were.
  const uint64_t identity = Below(4);
  if (identity != 3 && OneIn(3)) {
    sql +=
        ", twice int8 generated always as (id * 2::int8) stored, "
        "label text generated always as ('row ' || id::text) stored";
  }
  Execute(sql + (identity == 2 ? ", constraint " + QuoteName("id of " + name_) + " unique (id))"
                               : ", primary key (id))"));
  for (uint64_t i = 9; i > 0; --i)
    Execute(fmt::format("alter table {} drop column if exists gone{}", name_, i));
  if (identity == 2) {
    Execute("alter table " + name_ + " alter id set not null");
    Execute("alter table " + name_ + " replica identity using index " + QuoteName("id of " + name_));
  }
  if (identity == 3) Execute("alter table " + name_ + " replica identity full");
  for (const Column& column : columns_) {
    static const std::vector<std::string> large = {"text",   "bytea",  "json",  "jsonb",
                                                   "text[]", "int4[]", "hstore"};
    if (OneIn(2) && std::find(large.begin(), large.end(), column.type) != large.end())
      Execute("alter table " + name_ + " alter " + QuoteName(column.name) + " set storage external");
  }
  Execute("create trigger note after insert or update or delete on " + name_ +
          " for each row execute function roundtrip.note()");
  Execute("alter publication roundtrip add table " + name_);
}

std::string RandomTable::SomeRow() {
  return fmt::format("id = (select id from {} order by id offset {} limit 1)", name_,
                     Below(static_cast<uint64_t>(next_id_)));
}

void RandomTable::Insert() {
  for (uint64_t i = 1 + Below(3); i > 0; --i) {
    std::string names = "id";
    std::string values = std::to_string(next_id_++);
    for (const Column& column : columns_) {
      if (OneIn(8)) continue;
      names += ", " + QuoteName(column.name);
      values += ", " + Expression(column.type);
    }
    Execute("insert into " + name_ + " (" + names + ") values (" + values + ")");
  }
}

void RandomTable::Update() {
  std::string sets;
  if (columns_.empty() || OneIn(5)) sets = "id = " + std::to_string(next_id_++);
  for (const Column& column : columns_) {
    if (!OneIn(3)) continue;
    sets += (sets.empty() ? "" : ", ") + QuoteName(column.name) + " = " + Expression(column.type);
  }
  Execute("update " + name_ + " set " + (sets.empty() ? "id = id" : sets) + " where " + SomeRow());
}

void RandomTable::Reshape() {
  if (columns_.size() > 1 && OneIn(2)) {
    const size_t at = Below(columns_.size());
    Execute("alter table " + name_ + " drop column " + QuoteName(columns_[at].name));
    columns_.erase(columns_.begin() + static_cast<int64_t>(at));
    return;
  }
  columns_.push_back(NewColumn());
  const Column& column = columns_.back();
  Execute("alter table " + name_ + " add column " + QuoteName(column.name) + " " + column.type +
          (OneIn(2) ? " default " + Constant(column.type) : ""));
}

void RandomTable::Statement() {
  switch (Below(6)) {
    case 0:
    case 1: return Insert();
    case 2: return Execute("delete from " + name_ + " where " + SomeRow());
    default: return Update();
  }
}

void RandomTable::Change() {
  Insert();
  for (uint64_t transactions = 4 + Below(5); transactions > 0; --transactions) {
    Execute("begin");
    for (uint64_t i = 1 + Below(6); i > 0; --i) {
      const std::vector<Column> columns = columns_;
      const bool in_savepoint = OneIn(4);
      if (in_savepoint) Execute("savepoint s");
      OneIn(10) ? Reshape() : Statement();
      if (!in_savepoint) continue;
      const bool kept = OneIn(2);
      Execute(kept ? "release s" : "rollback to s");
      if (!kept) columns_ = columns;
    }
    Execute("commit");
  }
}

void RandomTable::Drop() {
  Execute("drop table " + name_);
  Execute("delete from roundtrip.written");
}

}  // namespace varve::oracle
