// SPDX-License-Identifier: PostgreSQL
#include "sidecar/pg/server_state.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

namespace varve::pg {
namespace {

using base::ErrorCode;
using base::Fail;

// pg_settings hides what the role may not see, where current_setting() would fail. wal senders: those in use,
// in any state.
constexpr char kSettingsSql[] = R"(
select current_setting('server_version_num'), current_setting('server_version'), current_setting('wal_level'),
       current_setting('max_replication_slots'), (select count(*) from pg_catalog.pg_replication_slots),
       current_setting('max_wal_senders'), (select count(*) from pg_catalog.pg_stat_replication),
       (select setting from pg_catalog.pg_settings where name = 'output_plugin_libraries'),
       current_setting('synchronous_standby_names'), current_setting('max_slot_wal_keep_size'),
       current_setting('server_encoding'), current_database(), current_user,
       (select split_part(setting, ',', 1) from pg_catalog.pg_settings
        where name = 'unix_socket_directories'),
       r.rolsuper, r.rolreplication or r.rolsuper,
       has_database_privilege(current_database(), 'create'), pg_is_in_recovery(),
       current_setting('varve.ingest_endpoint', true),
       (select oid from pg_catalog.pg_database where datname = current_database())
from pg_catalog.pg_roles r where r.rolname = current_user)";

// The columns that ReadTables reads, for pg_class c and its namespace n.
constexpr char kTableColumns[] = R"(
 c.oid, n.nspname, c.relname, c.relkind, c.relreplident,
 exists (select from pg_catalog.pg_index i where i.indrelid = c.oid and i.indisprimary and i.indimmediate
         and i.indisvalid),
 exists (select from pg_catalog.pg_index i
         where i.indrelid = c.oid and i.indisprimary and not i.indimmediate),
 exists (select from pg_catalog.pg_index i where i.indrelid = c.oid and i.indisreplident and i.indisvalid),
 (select ci.relname from pg_catalog.pg_index i join pg_catalog.pg_class ci on ci.oid = i.indexrelid
  where i.indrelid = c.oid and i.indisunique and i.indimmediate and i.indisvalid and i.indpred is null
    and not exists (select from unnest(i.indkey[0:i.indnkeyatts - 1]) k
                    left join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum = k
                    where k = 0 or not a.attnotnull)
  order by ci.relname limit 1),
 has_table_privilege(c.oid, 'select') and not exists (select from pg_catalog.pg_partition_tree(c.oid) t
   where c.relkind = 'p' and t.isleaf and not has_table_privilege(t.relid, 'select')),
 pg_has_role(c.relowner, 'usage'),
 greatest(c.reltuples, 0)::bigint, c.relpersistence,
 (select l.relname from pg_catalog.pg_partition_tree(c.oid) t join pg_catalog.pg_class l on l.oid = t.relid
  where c.relkind = 'p' and t.isleaf and (l.relkind <> 'r' or l.relpersistence <> 'p')
  order by l.relname limit 1),
 case when current_setting('server_version_num')::int >= 180000 then
  (select max(a.attgenerated::text) from pg_catalog.pg_attribute a
   where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated <> ''
     and (c.relreplident = 'f' or exists (select from pg_catalog.pg_index i
          where i.indrelid = c.oid and a.attnum = any (i.indkey)
            and case c.relreplident when 'd' then i.indisprimary when 'i' then i.indisreplident end))) end,
 (select string_agg(a.relid::oid::text, ',') from pg_catalog.pg_partition_ancestors(c.oid) a
  where c.relispartition and a.relid <> c.oid))";

std::vector<uint32_t> OidsOf(std::string_view list) {
  std::vector<uint32_t> oids;
  while (!list.empty()) {
    const size_t comma = std::min(list.find(','), list.size());
    uint32_t oid = 0;
    std::from_chars(list.data(), list.data() + comma, oid);
    oids.push_back(oid);
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return oids;
}

std::vector<TableFacts> TablesOf(const Rows& rows) {
  std::vector<TableFacts> tables(static_cast<size_t>(rows.size()));
  for (int row = 0; row < rows.size(); ++row) {
    TableFacts& table = tables[static_cast<size_t>(row)];
    table.oid = static_cast<uint32_t>(rows.Int(row, 0));
    table.schema = rows.Text(row, 1);
    table.name = rows.Text(row, 2);
    table.kind = rows.Text(row, 3)[0];
    table.identity = rows.Text(row, 4)[0];
    table.has_primary_key = rows.Bool(row, 5);
    table.has_deferrable_key = rows.Bool(row, 6);
    table.has_identity_index = rows.Bool(row, 7);
    table.usable_index = rows.Text(row, 8);
    table.can_select = rows.Bool(row, 9);
    table.is_owned = rows.Bool(row, 10);
    table.rows_estimate = rows.Int(row, 11);
    table.persistence = rows.Text(row, 12)[0];
    table.unlogged_partition = rows.Text(row, 13);
    if (!rows.Text(row, 14).empty()) table.generated_identity = rows.Text(row, 14)[0];
    table.ancestors = OidsOf(rows.Text(row, 15));
    table.has_row_filter = rows.Bool(row, 16);
    table.has_column_list = rows.Bool(row, 17);
  }
  return tables;
}

}  // namespace

base::Result<ServerSettings> ReadServerSettings(Connection* connection) {
  ASSIGN_OR_RETURN(const Rows rows, connection->Query(kSettingsSql));
  if (rows.size() != 1) return Fail(ErrorCode::kUnavailable, "the server does not know the role it runs as");
  ServerSettings settings;
  settings.version_num = static_cast<int>(rows.Int(0, 0));
  settings.version = rows.Text(0, 1);
  settings.wal_level = rows.Text(0, 2);
  settings.replication_slots_max = rows.Int(0, 3);
  settings.replication_slots_used = rows.Int(0, 4);
  settings.wal_senders_max = rows.Int(0, 5);
  settings.wal_senders_used = rows.Int(0, 6);
  if (!rows.IsNull(0, 7)) settings.plugin_libraries = rows.Text(0, 7);
  settings.synchronous_standby_names = rows.Text(0, 8);
  settings.slot_wal_keep_size_max = rows.Text(0, 9);
  settings.encoding = rows.Text(0, 10);
  settings.database = rows.Text(0, 11);
  settings.user = rows.Text(0, 12);
  settings.socket_directory = rows.Text(0, 13);
  settings.is_superuser = rows.Bool(0, 14);
  settings.has_replication = rows.Bool(0, 15);
  settings.can_create_in_database = rows.Bool(0, 16);
  settings.in_recovery = rows.Bool(0, 17);
  settings.ingest_endpoint = rows.Text(0, 18);
  settings.database_oid = static_cast<uint32_t>(rows.Int(0, 19));
  settings.shares_machine = connection->shares_machine();
  settings.server_user = connection->server_user();
  return settings;
}

base::Result<Publication> ReadPublication(Connection* connection, std::string_view name) {
  ASSIGN_OR_RETURN(
      const Rows rows,
      connection->Query("select puballtables, pubviaroot, pg_has_role(pubowner, 'usage'),"
                        " exists (select from pg_catalog.pg_publication_namespace where pnpubid = p.oid),"
                        " current_setting('server_version_num')::int >= 180000,"
                        " coalesce(to_jsonb(p)->>'pubgencols' = 's', false)"
                        " from (values (1)) one left join pg_catalog.pg_publication p on pubname = $1",
                        {std::string(name)}));
  Publication publication;
  publication.knows_generated = rows.Bool(0, 4);
  if (rows.IsNull(0, 0)) return publication;
  publication.exists = true;
  publication.all_tables = rows.Bool(0, 0);
  publication.via_root = rows.Bool(0, 1);
  publication.is_owned = rows.Bool(0, 2);
  publication.has_schemas = rows.Bool(0, 3);
  publication.publishes_generated = rows.Bool(0, 5);
  // attnames and rowfilter of the view are of no use to tell a list from none: the relation's own entry is.
  ASSIGN_OR_RETURN(
      const Rows tables,
      connection->Query(
          fmt::format(
              "select {}, coalesce(r.prqual is not null, false), coalesce(r.prattrs is not null, false)"
              " from pg_catalog.pg_publication_tables t"
              " join pg_catalog.pg_namespace n on n.nspname = t.schemaname"
              " join pg_catalog.pg_class c on c.relnamespace = n.oid and c.relname = t.tablename"
              " join pg_catalog.pg_publication p on p.pubname = t.pubname"
              " left join pg_catalog.pg_publication_rel r on r.prpubid = p.oid and r.prrelid = c.oid"
              " where t.pubname = $1 order by n.nspname, c.relname",
              kTableColumns),
          {std::string(name)}));
  publication.tables = TablesOf(tables);
  for (TableFacts& table : publication.tables) {
    table.via_root = publication.via_root && table.kind == 'p';
    table.publishes_generated = publication.publishes_generated;
  }
  return publication;
}

base::Result<std::vector<TableFacts>> ReadUserRelations(Connection* connection) {
  ASSIGN_OR_RETURN(
      const Rows rows,
      connection->Query(fmt::format(
          "select {}, false, false from pg_catalog.pg_class c"
          " join pg_catalog.pg_namespace n on n.oid = c.relnamespace"
          " where c.relkind in ('r', 'p', 'v', 'm', 'f') and c.relpersistence <> 't' and n.nspname <> "
          "'information_schema'"
          " and n.nspname !~ '^pg_' and not exists (select from pg_catalog.pg_depend d"
          "   where d.classid = 'pg_catalog.pg_class'::regclass and d.objid = c.oid and d.deptype = 'e')"
          " order by n.nspname, c.relname",
          kTableColumns)));
  return TablesOf(rows);
}

base::Result<SlotState> ReadSlot(Connection* connection, std::string_view slot) {
  ASSIGN_OR_RETURN(
      const Rows rows,
      connection->Query(
          "select s.plugin, s.slot_type, s.database, s.active, s.active_pid, s.wal_status,"
          " s.confirmed_flush_lsn,"
          " case when pg_is_in_recovery() then 0 else"
          "  pg_wal_lsn_diff(pg_current_wal_lsn(), s.confirmed_flush_lsn)::bigint end,"
          " case when pg_is_in_recovery() then 0 else"
          "  pg_wal_lsn_diff(pg_current_wal_lsn(), s.restart_lsn)::bigint end,"
          " concat_ws(', ', nullif(a.application_name, ''), 'user ' || a.usename, 'from ' || "
          "host(a.client_addr))"
          " from pg_catalog.pg_replication_slots s"
          " left join pg_catalog.pg_stat_activity a on a.pid = s.active_pid where s.slot_name = $1",
          {std::string(slot)}));
  SlotState state;
  if (rows.size() == 0) return state;
  state.exists = true;
  state.plugin = rows.Text(0, 0);
  state.type = rows.Text(0, 1);
  state.database = rows.Text(0, 2);
  state.active = rows.Bool(0, 3);
  state.active_pid = rows.Int(0, 4);
  state.wal_status = rows.Text(0, 5);
  state.confirmed_flush = base::ParseLsn(rows.Text(0, 6));
  state.lag_bytes = rows.Int(0, 7);
  state.retained_bytes = rows.Int(0, 8);
  state.holder = rows.Text(0, 9);
  return state;
}

base::Result<std::vector<Blocker>> FindSlotBlockers(Connection* connection) {
  // SnapBuildWaitSnapshot waits for every transaction of the cluster that has an xid.
  ASSIGN_OR_RETURN(
      const Rows rows,
      connection->Query(
          "select pid, null, concat_ws(', ', nullif(application_name, ''), 'user ' || usename,"
          "   'database ' || datname), state, date_trunc('second', clock_timestamp() - xact_start)"
          " from pg_catalog.pg_stat_activity where backend_xid is not null and pid <> pg_backend_pid()"
          " union all"
          " select 0, gid, concat_ws(', ', 'user ' || owner, 'database ' || database), 'prepared',"
          "   date_trunc('second', clock_timestamp() - prepared)"
          " from pg_catalog.pg_prepared_xacts order by 5 desc nulls last limit 20"));
  std::vector<Blocker> blockers;
  for (int row = 0; row < rows.size(); ++row) {
    Blocker blocker;
    blocker.pid = rows.Int(row, 0);
    blocker.gid = rows.Text(row, 1);
    if (blocker.pid == 0) {
      blocker.description = fmt::format("prepared transaction {} ({}), for {}", QuoteLiteral(blocker.gid),
                                        rows.Text(row, 2), rows.Text(row, 4));
      blocker.remedy =
          fmt::format("commit prepared {0}; or rollback prepared {0};", QuoteLiteral(blocker.gid));
    } else {
      blocker.description = fmt::format("process {} ({}), {} for {}", blocker.pid, rows.Text(row, 2),
                                        rows.Text(row, 3), rows.Text(row, 4));
      blocker.remedy = fmt::format("end that transaction, or select pg_terminate_backend({});", blocker.pid);
    }
    blockers.push_back(std::move(blocker));
  }
  return blockers;
}

base::Result<base::FullXid> ReadNextFullXid(Connection* connection) {
  ASSIGN_OR_RETURN(const Rows rows,
                   connection->Query("select pg_catalog.pg_snapshot_xmax(pg_catalog.pg_current_snapshot())"));
  const std::string_view text = rows.Text(0, 0);
  base::FullXid xid;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), xid.value);
  if (parsed.ec != std::errc()) return Fail(ErrorCode::kUnavailable, "the server gave no transaction id");
  return xid;
}

namespace {

// Right behind a page's header no record ends: an idle server never comes there (XLogBytePosToRecPtr in
// xlog.c; the sizes are those of XLogPageHeaderData and XLogLongPageHeaderData).
base::Lsn WithoutPageHeader(base::Lsn lsn, uint64_t block_bytes, uint64_t segment_bytes) {
  constexpr uint64_t kShortHeader = 24;
  constexpr uint64_t kLongHeader = 40;
  if (lsn.value % segment_bytes == kLongHeader) return base::Lsn{lsn.value - kLongHeader};
  if (lsn.value % block_bytes == kShortHeader) return base::Lsn{lsn.value - kShortHeader};
  return lsn;
}

}  // namespace

base::Result<base::Lsn> ReadWalEnd(Connection* connection) {
  ASSIGN_OR_RETURN(
      const Rows rows,
      connection->Query("select case when pg_catalog.pg_is_in_recovery()"
                        " then pg_catalog.pg_last_wal_replay_lsn()"
                        " else pg_catalog.pg_current_wal_insert_lsn() end,"
                        " (select setting::bigint from pg_catalog.pg_settings where name = 'wal_block_size'),"
                        " (select setting::bigint from pg_catalog.pg_settings where name ="
                        " 'wal_segment_size')"));
  const auto lsn = base::ParseLsn(rows.Text(0, 0));
  if (!lsn) return Fail(ErrorCode::kUnavailable, "the server gave no WAL position");
  return WithoutPageHeader(*lsn, static_cast<uint64_t>(rows.Int(0, 1)),
                           static_cast<uint64_t>(rows.Int(0, 2)));
}

}  // namespace varve::pg
