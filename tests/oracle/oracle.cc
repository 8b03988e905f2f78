// SPDX-License-Identifier: PostgreSQL
#include "tests/oracle/oracle.h"

#include <libpq-fe.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "sidecar/types/builtin.h"
#include "tests/support/catch.h"

namespace varve::oracle {
namespace {

// The settings of schemas/README.md.
constexpr std::string_view kSettings =
    "set timezone = 'UTC'; set datestyle = 'ISO'; set intervalstyle = 'postgres'; set bytea_output = 'hex'; "
    "set extra_float_digits = 1; set lc_monetary = 'C'; set xmlbinary = 'base64'; "
    "set quote_all_identifiers = off; set search_path = pg_catalog, pg_temp; set client_min_messages = error";

using Answer = std::unique_ptr<PGresult, decltype(&PQclear)>;

uint32_t ToOid(const Field& field) { return static_cast<uint32_t>(std::stoul(field.value())); }

}  // namespace

uint64_t Seed() {
  static const uint64_t seed = [] {
    const char* given = std::getenv("VARVE_TEST_SEED");
    const uint64_t value =
        given != nullptr ? std::strtoull(given, nullptr, 10)
                         : static_cast<uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
    std::printf("VARVE_TEST_SEED=%llu\n", static_cast<unsigned long long>(value));
    return value;
  }();
  return seed;
}

std::string Quote(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) quoted.append(c == '\'' ? 2 : 1, c);
  return quoted + "'";
}

std::string QuoteName(std::string_view name) {
  std::string quoted = "\"";
  for (const char c : name) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + "\"";
}

std::vector<model::Cell> Sample::Cells(const model::Relation& relation) const {
  std::vector<model::Cell> cells(relation.attribute_count);
  for (const model::Column& column : relation.columns) {
    const Field& value = values[column.attnum - 1U];
    cells[column.attnum - 1U] =
        value ? model::Cell{model::CellKind::kValue, *value} : model::Cell{model::CellKind::kNull, {}};
  }
  return cells;
}

Server& Server::Get() {
  static Server server;
  return server;
}

Server::Server() {
  const char* dsn = std::getenv("VARVE_TEST_DSN");
  if (dsn == nullptr)
    throw std::runtime_error("VARVE_TEST_DSN is not set: run this through tests/oracle/run");
  connection_ = PQconnectdb(dsn);
  if (PQstatus(static_cast<PGconn*>(connection_)) != CONNECTION_OK) {
    throw std::runtime_error(PQerrorMessage(static_cast<PGconn*>(connection_)));
  }
  const Answer answer(PQexec(static_cast<PGconn*>(connection_), kSettings.data()), PQclear);
  if (PQresultStatus(answer.get()) != PGRES_COMMAND_OK) throw std::runtime_error("settings");
}

std::vector<Row> Server::Query(const std::string& sql) {
  auto* connection = static_cast<PGconn*>(connection_);
  const Answer answer(PQexecParams(connection, sql.c_str(), 0, nullptr, nullptr, nullptr, nullptr, 1),
                      PQclear);
  const ExecStatusType status = PQresultStatus(answer.get());
  if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
    FAIL(sql.substr(0, 2000) << "\n" << PQerrorMessage(connection));
  }
  std::vector<Row> rows(static_cast<size_t>(PQntuples(answer.get())));
  for (size_t i = 0; i < rows.size(); ++i) {
    for (int column = 0; column < PQnfields(answer.get()); ++column) {
      const int row = static_cast<int>(i);
      Field& field = rows[i].emplace_back();
      if (PQgetisnull(answer.get(), row, column) != 0) continue;
      field.emplace(PQgetvalue(answer.get(), row, column),
                    static_cast<size_t>(PQgetlength(answer.get(), row, column)));
    }
  }
  return rows;
}

std::optional<std::string> Server::TryValue(const std::string& sql,
                                            const std::vector<std::string>& parameters, std::string* error) {
  auto* connection = static_cast<PGconn*>(connection_);
  std::vector<const char*> values;
  for (const std::string& parameter : parameters) values.push_back(parameter.c_str());
  const Answer answer(PQexecParams(connection, sql.c_str(), static_cast<int>(values.size()), nullptr,
                                   values.data(), nullptr, nullptr, 1),
                      PQclear);
  if (PQresultStatus(answer.get()) != PGRES_TUPLES_OK) {
    *error = PQerrorMessage(connection);
    return std::nullopt;
  }
  return std::string(PQgetvalue(answer.get(), 0, 0), static_cast<size_t>(PQgetlength(answer.get(), 0, 0)));
}

model::Relation Server::MakeTable(const std::string& name, const std::string& columns) {
  Execute("drop table if exists pg_temp." + name);
  Execute("create temp table " + name + " (" + columns + ")");
  return LoadRelation(name);
}

void Server::LoadTypes(model::Relation* relation) {
  // All of them: which ones the plugin sends is its own test's business.
  const auto fields = Query(
      "select t.oid::text, a.attname, a.atttypid::text from pg_type t join pg_attribute a on a.attrelid = "
      "t.typrelid where t.typtype = 'c' and a.attnum > 0 and not a.attisdropped and (t.oid >= 16384) order "
      "by "
      "t.oid, a.attnum");
  const auto types = Query(
      "select t.oid::text, n.nspname, t.typname, case when t.typsubscript = "
      "'pg_catalog.array_subscript_handler'::regproc and t.typlen = -1 then 'A' else t.typtype end::text, "
      "case when t.typtype = 'd' then t.typbasetype else t.typelem end::text, coalesce((select "
      "e.typdelim::text from pg_type e where e.oid = t.typelem), ','), (t.oid >= 16384 and exists (select "
      "from "
      "pg_cast c where c.castsource = t.oid and c.casttarget = 114))::text from pg_type t join pg_namespace "
      "n "
      "on n.oid = t.typnamespace");
  for (const Row& row : types) {
    model::Type type;
    type.oid = ToOid(row[0]);
    type.schema = *row[1];
    type.name = *row[2];
    type.kind = row[3]->front();
    type.inner_oid = ToOid(row[4]);
    type.delimiter = row[5]->front();
    type.json_cast = *row[6] == "true";
    relation->types.push_back(type);
  }
  for (const Row& row : fields) {
    for (model::Type& type : relation->types) {
      if (type.oid == ToOid(row[0])) type.fields.push_back(model::TypeField{*row[1], ToOid(row[2])});
    }
  }
}

model::Relation Server::LoadRelation(const std::string& name) {
  model::Relation relation;
  relation.schema = "public";
  relation.name = name;
  LoadTypes(&relation);
  const auto rows = Query(
      "select a.attnum::text, a.attname, a.atttypid::text, a.atttypmod::text, a.attisdropped::text, "
      "coalesce((select array_position(i.indkey, a.attnum) + 1 from pg_index i where i.indrelid = a.attrelid "
      "and i.indisprimary), 0)::text from pg_attribute a where a.attnum > 0 and a.attrelid = 'pg_temp." +
      name + "'::regclass order by a.attnum");
  relation.attribute_count = static_cast<uint16_t>(rows.size());
  for (const Row& row : rows) {
    if (*row[4] == "true") continue;
    model::Column column;
    column.attnum = static_cast<uint16_t>(ToOid(row[0]));
    column.name = *row[1];
    column.type_oid = column.base_type_oid = ToOid(row[2]);
    while (relation.FindType(column.base_type_oid)->kind == 'd') {
      column.base_type_oid = relation.FindType(column.base_type_oid)->inner_oid;
    }
    column.typmod = std::stoi(*row[3]);
    const types::Representation representation = types::RepresentationOf(column.base_type_oid);
    column.form = representation.form;
    column.width = representation.width;
    column.key_position = static_cast<uint16_t>(ToOid(row[5]));
    relation.columns.push_back(column);
  }
  return relation;
}

std::vector<Sample> Server::Fetch(const model::Relation& relation) {
  std::string sql = "select to_jsonb(t)::text";
  for (const model::Column& column : relation.columns) {
    const std::string name = "t." + QuoteName(column.name);
    // `is null` would also be true for a composite value whose fields are all NULL.
    const std::string text =
        "case when " + name + " is not distinct from null then null else format('%s', " + name + ") end";
    sql += ", " + (column.form == model::Form::kBinary ? name : text) + ", " + text;
  }
  sql += " from pg_temp." + relation.name + " t order by t.id";
  std::vector<Sample> samples;
  for (Row& row : Query(sql)) {
    Sample sample;
    sample.json = *row[0];
    sample.values.resize(relation.attribute_count);
    sample.texts.resize(relation.attribute_count);
    for (size_t i = 0; i < relation.columns.size(); ++i) {
      const size_t index = relation.columns[i].attnum - 1U;
      sample.values[index] = std::move(row[1 + 2 * i]);
      sample.texts[index] = std::move(row[2 + 2 * i]);
    }
    samples.push_back(std::move(sample));
  }
  return samples;
}

}  // namespace varve::oracle
