// SPDX-License-Identifier: PostgreSQL
#include "sidecar/ingest/catalog.h"

#include <set>
#include <utility>

#include <fmt/format.h>

#include "sidecar/pg/copy_binary.h"
#include "sidecar/types/builtin.h"

namespace varve::ingest {
namespace {

using base::ErrorCode;
using base::Fail;

// What holds the rows of a partitioned table c, as the snapshot has it.
constexpr char kLeavesSql[] = R"(
(with recursive below(oid) as (
  select i.inhrelid from pg_catalog.pg_inherits i
  where c.relkind = 'p' and i.inhparent = c.oid and not i.inhdetachpending
  union all
  select i.inhrelid from below b join pg_catalog.pg_inherits i on i.inhparent = b.oid
  where not i.inhdetachpending)
 select l.oid, ln.nspname, l.relname, l.relfilenode, l.reltuples
 from below b join pg_catalog.pg_class l on l.oid = b.oid
 join pg_catalog.pg_namespace ln on ln.oid = l.relnamespace where l.relkind <> 'p'))";

// The name, the columns and the partitions; a change that leaves this alone does not matter to a copy.
const std::string& StampColumns() {
  static const std::string columns = fmt::format(R"(c.relfilenode,
 (select md5(format('%L.%L ',
   (select nspname from pg_catalog.pg_namespace where oid = c.relnamespace), c.relname)
   || string_agg(format('%s %L %s %s', a.attnum, a.attname, a.atttypid, a.attgenerated), ','
                 order by a.attnum)
   || coalesce((select string_agg(format('%s %s %L.%L', l.oid, l.relfilenode, l.nspname, l.relname), ','
                                  order by l.oid) from {} l), ''))
  from pg_catalog.pg_attribute a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped))",
                                                 kLeavesSql);
  return columns;
}

// Under REPLICA IDENTITY DEFAULT the identity index is the primary key's, as RelationGetReplicaIndex has it.
constexpr char kColumnsSql[] = R"(
with recursive domain(oid, base) as (
  select t.oid, t.oid from pg_catalog.pg_type t where t.typtype <> 'd'
  union all
  select t.oid, d.base from domain d join pg_catalog.pg_type t on t.typtype = 'd' and t.typbasetype = d.oid)
select a.attrelid, a.attnum, a.attname, a.atttypid, (select d.base from domain d where d.oid = a.atttypid),
       a.atttypmod,
       coalesce((select k.place from pg_catalog.pg_index i, unnest(i.indkey) with ordinality k(attnum, place)
                 where i.indrelid = a.attrelid and i.indisprimary and i.indimmediate and i.indisvalid
                   and k.attnum = a.attnum and k.place <= i.indnkeyatts), 0),
       coalesce((select k.place from pg_catalog.pg_index i, unnest(i.indkey) with ordinality k(attnum, place)
                 where i.indrelid = a.attrelid and i.indimmediate and i.indisvalid
                   and case c.relreplident when 'd' then i.indisprimary when 'i' then i.indisreplident end
                   and k.attnum = a.attnum and k.place <= i.indnkeyatts), 0),
       a.attnotnull, a.attgenerated,
       case when c.relkind = 'p' then
         (select pm.attrelid from LEAVES l join pg_catalog.pg_attribute pm on pm.attrelid = l.oid
          where pm.attname = a.attname and pm.attnum > 0 and pm.atthasmissing order by l.oid limit 1)
         when a.atthasmissing then a.attrelid end,
       case when t.typelem <> 0 and t.typlen = -1
         then format('(m.attmissingval::text::text[])[1]::%s', format_type(a.atttypid, a.atttypmod))
         else format('(m.attmissingval::text::%s[])[1]', format_type(a.atttypid, a.atttypmod)) end,
       case when a.attgenerated = '' then pg_get_expr(ad.adbin, ad.adrelid) end
from pg_catalog.pg_attribute a join pg_catalog.pg_class c on c.oid = a.attrelid
join pg_catalog.pg_type t on t.oid = a.atttypid
left join pg_catalog.pg_attrdef ad on ad.adrelid = a.attrelid and ad.adnum = a.attnum
where a.attrelid = any ($1::oid[]) and a.attnum > 0 and not a.attisdropped
order by a.attrelid, a.attnum)";

// Types, followed from the columns' own through elements, bases and fields. A cast to json is looked up for
// the base type of a domain, as find_coercion_pathway does.
constexpr char kTypesSql[] = R"(
with recursive reach(oid) as (
  select distinct a.atttypid from pg_catalog.pg_attribute a
  where a.attrelid = any ($1::oid[]) and a.attnum > 0 and not a.attisdropped
  union
  select n.oid from reach r join pg_catalog.pg_type t on t.oid = r.oid cross join lateral (
    select t.typelem where t.typelem <> 0 and t.typsubscript = 'pg_catalog.array_subscript_handler'::regproc
    union all select t.typbasetype where t.typtype = 'd'
    union all select g.rngsubtype from pg_catalog.pg_range g where g.rngtypid = t.oid
    union all select g.rngtypid from pg_catalog.pg_range g where g.rngmultitypid = t.oid
    union all select f.atttypid from pg_catalog.pg_attribute f
              where t.typtype = 'c' and f.attrelid = t.typrelid and f.attnum > 0
                and not f.attisdropped) n(oid)),
domain(oid, base) as (
  select t.oid, t.oid from pg_catalog.pg_type t where t.typtype <> 'd'
  union all
  select t.oid, d.base from domain d join pg_catalog.pg_type t on t.typtype = 'd' and t.typbasetype = d.oid)
select t.oid, n.nspname, t.typname,
       case when e.oid is not null then 'A' else t.typtype::text end,
       case t.typtype when 'd' then t.typbasetype
         when 'r' then (select g.rngsubtype from pg_catalog.pg_range g where g.rngtypid = t.oid)
         when 'm' then (select g.rngtypid from pg_catalog.pg_range g where g.rngmultitypid = t.oid)
         else coalesce(e.oid, 0) end,
       coalesce(e.typdelim, ','),
       t.oid >= 16384 and exists (select from pg_catalog.pg_cast x join domain d on d.base = x.castsource
         where d.oid = t.oid and x.casttarget = 'pg_catalog.json'::regtype and x.castmethod = 'f')
from reach r join pg_catalog.pg_type t on t.oid = r.oid
join pg_catalog.pg_namespace n on n.oid = t.typnamespace
left join pg_catalog.pg_type e on e.oid = t.typelem and t.typelem <> 0
     and t.typsubscript = 'pg_catalog.array_subscript_handler'::regproc
order by t.oid)";

// The fields of composite types in their order, the labels of enums in order of oid.
constexpr char kFieldsSql[] = R"(
select p.type, p.name, p.oid from (
  select t.oid as type, f.attname as name, f.atttypid as oid, f.attnum::bigint as place
  from pg_catalog.pg_type t join pg_catalog.pg_attribute f on f.attrelid = t.typrelid
  where t.oid = any ($1::oid[]) and t.typtype = 'c' and f.attnum > 0 and not f.attisdropped
  union all
  select e.enumtypid, e.enumlabel, e.oid, e.oid::bigint from pg_catalog.pg_enum e
  where e.enumtypid = any ($1::oid[])) p
order by p.type, p.place)";

std::string OidArray(const std::vector<uint32_t>& oids) {
  return fmt::format("{{{}}}", fmt::join(oids, ","));
}

// Where the value is that ADD COLUMN … DEFAULT gave to the rows that were there.
struct MissingValue {
  uint32_t table = 0;
  std::string column;
  uint32_t source = 0;  // the table itself, or a partition of it
  std::string expression;
};

base::Result<std::map<uint32_t, model::Type>> ReadTypes(pg::Connection* connection,
                                                        const std::vector<uint32_t>& tables) {
  ASSIGN_OR_RETURN(const pg::Rows rows, connection->Query(kTypesSql, {OidArray(tables)}));
  std::map<uint32_t, model::Type> types;
  std::vector<uint32_t> parted;  // types with named parts
  for (int row = 0; row < rows.size(); ++row) {
    model::Type type;
    type.oid = static_cast<uint32_t>(rows.Int(row, 0));
    type.schema = rows.Text(row, 1);
    type.name = rows.Text(row, 2);
    type.kind = rows.Text(row, 3)[0];
    type.inner_oid = static_cast<uint32_t>(rows.Int(row, 4));
    type.delimiter = rows.Text(row, 5)[0];
    type.json_cast = rows.Bool(row, 6);
    if (type.kind == 'c' || type.kind == 'e') parted.push_back(type.oid);
    types.emplace(type.oid, std::move(type));
  }
  if (parted.empty()) return types;
  ASSIGN_OR_RETURN(const pg::Rows fields, connection->Query(kFieldsSql, {OidArray(parted)}));
  for (int row = 0; row < fields.size(); ++row) {
    const auto found = types.find(static_cast<uint32_t>(fields.Int(row, 0)));
    if (found == types.end()) continue;
    found->second.fields.push_back(
        {std::string(fields.Text(row, 1)), static_cast<uint32_t>(fields.Int(row, 2))});
  }
  return types;
}

// Every type that the columns lead to, in the order in which the output plugin finds them.
void AddTypes(const std::map<uint32_t, model::Type>& types, model::Relation* relation) {
  std::vector<uint32_t> oids;
  std::set<uint32_t> seen;
  const auto add = [&](uint32_t oid) {
    if (oid != 0 && seen.insert(oid).second) oids.push_back(oid);
  };
  for (const model::Column& column : relation->columns) add(column.type_oid);
  for (size_t i = 0; i < oids.size(); ++i) {  // grows meanwhile
    const auto found = types.find(oids[i]);
    if (found == types.end()) continue;
    relation->types.push_back(found->second);
    add(found->second.inner_oid);
    for (const model::TypeField& field : found->second.fields) add(field.type_oid);
  }
}

base::Result<std::vector<MissingValue>> AddColumns(pg::Connection* connection,
                                                   const std::vector<uint32_t>& oids,
                                                   std::map<uint32_t, CatalogTable>* tables) {
  std::string sql = kColumnsSql;
  constexpr std::string_view kLeaves = "LEAVES";
  sql.replace(sql.find(kLeaves), kLeaves.size(), kLeavesSql);
  ASSIGN_OR_RETURN(const pg::Rows rows, connection->Query(sql, {OidArray(oids)}));
  std::vector<MissingValue> missing;
  for (int row = 0; row < rows.size(); ++row) {
    const auto table = tables->find(static_cast<uint32_t>(rows.Int(row, 0)));
    if (table == tables->end()) continue;
    model::Column column;
    column.attnum = static_cast<uint16_t>(rows.Int(row, 1));
    column.name = rows.Text(row, 2);
    column.type_oid = static_cast<uint32_t>(rows.Int(row, 3));
    column.base_type_oid = static_cast<uint32_t>(rows.Int(row, 4));
    column.typmod = static_cast<int32_t>(rows.Int(row, 5));
    const types::Representation representation = types::RepresentationOf(column.base_type_oid);
    column.form = representation.form;
    column.width = representation.width;
    column.key_position = static_cast<uint16_t>(rows.Int(row, 6));
    column.identity_position = static_cast<uint16_t>(rows.Int(row, 7));
    column.not_null = rows.Bool(row, 8);
    const std::string_view generated = rows.Text(row, 9);
    column.generated = generated.empty() ? '\0' : generated[0];
    column.default_expression = rows.Text(row, 12);
    if (!rows.IsNull(row, 10)) {
      missing.push_back({table->first, column.name, static_cast<uint32_t>(rows.Int(row, 10)),
                         std::string(rows.Text(row, 11))});
    }
    table->second.relation.columns.push_back(std::move(column));
  }
  return missing;
}

base::Status AddPartitions(pg::Connection* connection, const std::vector<uint32_t>& oids,
                           std::map<uint32_t, CatalogTable>* tables) {
  ASSIGN_OR_RETURN(
      const pg::Rows rows,
      connection->Query(fmt::format("select c.oid, l.nspname, l.relname, greatest(l.reltuples, 0)::bigint,"
                                    " pg_relation_size(l.oid) / current_setting('block_size')::bigint"
                                    " from pg_catalog.pg_class c cross join lateral {} l"
                                    " where c.oid = any ($1::oid[]) order by l.oid",
                                    kLeavesSql),
                        {OidArray(oids)}));
  for (int row = 0; row < rows.size(); ++row) {
    CatalogTable& table = (*tables)[static_cast<uint32_t>(rows.Int(row, 0))];
    table.sources.push_back({std::string(rows.Text(row, 1)), std::string(rows.Text(row, 2)),
                             static_cast<uint64_t>(rows.IsNull(row, 4) ? 0 : rows.Int(row, 4))});
    table.rows_estimate += rows.Int(row, 3);
  }
  return {};
}

std::string InForm(model::Form form, const std::string& expression) {
  if (form == model::Form::kBinary) return expression;
  // The test must ask for the null datum: a row of nulls "is null" as well.
  return fmt::format(
      "case when {0} is not distinct from null then null else pg_catalog.format('%s', {0}) end", expression);
}

base::Status AddMissing(pg::Connection* connection, const MissingValue& missing, CatalogTable* table) {
  for (model::Column& column : table->relation.columns) {
    if (column.name != missing.column) continue;
    RETURN_IF_ERROR(connection->StartCopyOut(fmt::format(
        "copy (select {} from pg_catalog.pg_attribute m where m.attrelid = {} and m.attname = {}"
        " and m.attnum > 0) to stdout (format binary)",
        InForm(column.form, missing.expression), missing.source, pg::QuoteLiteral(missing.column))));
    pg::CopyBinaryReader reader(1);
    for (;;) {
      ASSIGN_OR_RETURN(const auto buffer, connection->ReadCopy());
      if (!buffer) break;
      reader.Feed(buffer->bytes());
      for (;;) {
        ASSIGN_OR_RETURN(const auto state, reader.Next());
        if (state != pg::CopyBinaryReader::State::kTuple) break;
        if (!reader.fields()[0].is_null) column.missing = std::string(reader.fields()[0].value);
      }
    }
    RETURN_IF_ERROR(reader.Finish());
  }
  return {};
}

}  // namespace

bool IsStored(const model::Column& column) { return column.generated != 'v'; }

std::string SelectExpression(const model::Column& column) {
  return InForm(column.form, pg::QuoteIdentifier(column.name));
}

base::Status PinSettings(pg::Connection* connection) {
  // row_security off: an error instead of rows that a policy hides.
  RETURN_IF_ERROR(connection->Query(
      "set timezone = 'UTC'; set datestyle = 'ISO, MDY'; set intervalstyle = 'postgres'; set bytea_output = "
      "'hex';"
      " set extra_float_digits = 1; set lc_monetary = 'C'; set xmlbinary = 'base64';"
      " set quote_all_identifiers = off; set search_path = pg_catalog; set row_security = off"));
  return {};
}

base::Result<std::vector<CatalogTable>> ReadRelations(pg::Connection* connection,
                                                      const std::vector<uint32_t>& oids) {
  std::map<uint32_t, CatalogTable> tables;
  ASSIGN_OR_RETURN(
      const pg::Rows rows,
      connection->Query(
          fmt::format("select c.oid, n.nspname, c.relname, c.relreplident, c.relnatts, {},"
                      " pg_relation_size(c.oid) / current_setting('block_size')::bigint,"
                      " greatest(c.reltuples, 0)::bigint, c.relkind"
                      " from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace"
                      " where c.oid = any ($1::oid[])",
                      StampColumns()),
          {OidArray(oids)}));
  for (int row = 0; row < rows.size(); ++row) {
    CatalogTable table;
    table.relation.oid = base::TableOid{static_cast<uint32_t>(rows.Int(row, 0))};
    table.relation.schema = rows.Text(row, 1);
    table.relation.name = rows.Text(row, 2);
    table.relation.identity = rows.Text(row, 3)[0];
    table.relation.attribute_count = static_cast<uint16_t>(rows.Int(row, 4));
    table.stamp = {static_cast<uint32_t>(rows.Int(row, 5)), std::string(rows.Text(row, 6))};
    if (rows.Text(row, 9) != "p") {
      table.sources.push_back(
          {table.relation.schema, table.relation.name, static_cast<uint64_t>(rows.Int(row, 7))});
    }
    table.rows_estimate = rows.Int(row, 8);
    tables.emplace(table.relation.oid.value, std::move(table));
  }
  RETURN_IF_ERROR(AddPartitions(connection, oids, &tables));
  ASSIGN_OR_RETURN(const std::vector<MissingValue> missing, AddColumns(connection, oids, &tables));
  for (const MissingValue& value : missing) {
    RETURN_IF_ERROR(AddMissing(connection, value, &tables[value.table]));
  }
  ASSIGN_OR_RETURN(const auto types, ReadTypes(connection, oids));
  std::vector<CatalogTable> result;
  for (const uint32_t oid : oids) {
    const auto found = tables.find(oid);
    if (found == tables.end()) continue;
    AddTypes(types, &found->second.relation);
    found->second.relation.version = model::ComputeVersion(found->second.relation);
    result.push_back(std::move(found->second));
  }
  return result;
}

base::Result<std::map<uint32_t, TableStamp>> ReadStamps(pg::Connection* connection,
                                                        const std::vector<uint32_t>& oids) {
  ASSIGN_OR_RETURN(const pg::Rows rows,
                   connection->Query(fmt::format("select c.oid, {} from pg_catalog.pg_class c"
                                                 " where c.oid = any ($1::oid[])",
                                                 StampColumns()),
                                     {OidArray(oids)}));
  std::map<uint32_t, TableStamp> stamps;
  for (int row = 0; row < rows.size(); ++row) {
    stamps[static_cast<uint32_t>(rows.Int(row, 0))] = {static_cast<uint32_t>(rows.Int(row, 1)),
                                                       std::string(rows.Text(row, 2))};
  }
  return stamps;
}

}  // namespace varve::ingest
