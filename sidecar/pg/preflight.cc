// SPDX-License-Identifier: PostgreSQL
#include "sidecar/pg/preflight.h"

#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>

namespace varve::pg {
namespace {

constexpr int kVersionMin = 150000;

Finding Ok(std::string name, std::string message) {
  return {std::move(name), Severity::kOk, std::move(message), ""};
}
Finding Failed(std::string name, std::string message, std::string remedy) {
  return {std::move(name), Severity::kFailed, std::move(message), std::move(remedy)};
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

// The allow-list came with these minor releases.
bool KnowsPluginLibraries(int version_num) {
  constexpr std::array kFirst = {150019, 160015, 170011, 180006};
  for (const int first : kFirst) {
    if (version_num / 10000 == first / 10000) return version_num >= first;
  }
  return version_num >= 190000;
}

// A name of a comma-separated list, without blanks and quotes.
bool ListHas(std::string_view list, std::string_view wanted) {
  while (!list.empty()) {
    const size_t comma = std::min(list.find(','), list.size());
    std::string_view name = list.substr(0, comma);
    while (!name.empty() && (name.front() == ' ' || name.front() == '"')) name.remove_prefix(1);
    while (!name.empty() && (name.back() == ' ' || name.back() == '"')) name.remove_suffix(1);
    if (name == wanted) return true;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return false;
}

Finding CheckPluginLibraries(const ServerSettings& settings) {
  const std::string name = "output_plugin_libraries";
  if (!settings.plugin_libraries) {
    if (!KnowsPluginLibraries(settings.version_num)) return Ok(name, "this server needs no such list");
    return {name, Severity::kUnknown,
            fmt::format("role {} may not see output_plugin_libraries", settings.user),
            fmt::format("grant pg_read_all_settings to {};", QuoteIdentifier(settings.user))};
  }
  if (ListHas(*settings.plugin_libraries, kPluginName)) return Ok(name, *settings.plugin_libraries);
  std::string list = settings.plugin_libraries->empty() ? "" : *settings.plugin_libraries + ", ";
  return Failed(
      name,
      fmt::format("output_plugin_libraries is '{}' and does not list varve", *settings.plugin_libraries),
      fmt::format("put output_plugin_libraries = '{}varve' (with the quotes) into postgresql.conf, then "
                  "select pg_reload_conf();",
                  list));
}

Finding CheckSynchronous(const ServerSettings& settings, bool allowed) {
  const std::string name = "synchronous_standby_names";
  if (!NamesStandby(settings.synchronous_standby_names, kApplicationName)) {
    return Ok(name, "commits do not wait for varved");
  }
  const std::string message = fmt::format(
      "synchronous_standby_names = '{}' matches application_name varve: commits would wait for varved",
      settings.synchronous_standby_names);
  if (allowed) return {name, Severity::kWarning, message, ""};
  return Failed(
      name, message,
      "list the real standbys by name in synchronous_standby_names and select pg_reload_conf(); or set "
      "[source] allow_synchronous = true if commits shall wait");
}

Finding CheckRole(const ServerSettings& settings) {
  if (settings.has_replication) {
    return Ok("role", fmt::format("{} may replicate", settings.user));
  }
  return Failed("role", fmt::format("role {} has no REPLICATION attribute", settings.user),
                fmt::format("alter role {} replication;", QuoteIdentifier(settings.user)));
}

Finding CheckCount(std::string name, std::string what, int64_t used, int64_t max, bool needed) {
  if (!needed || used < max) return Ok(std::move(name), fmt::format("{} of {} in use", used, max));
  return Failed(
      name, fmt::format("all {} {} are in use", max, what),
      fmt::format("raise max_{0} in postgresql.conf and restart the server, or drop what is unused", name));
}

}  // namespace

bool NamesStandby(std::string_view names, std::string_view name) {
  // [FIRST | ANY] n ( list ), or a list; an item is a name, a "quoted name" or *.
  const size_t open = names.find('(');
  if (open != std::string_view::npos) {
    names.remove_prefix(open + 1);
    names = names.substr(0, names.rfind(')'));
  }
  std::string item;
  bool quoted = false;
  bool was_quoted = false;
  const auto matches = [&] {
    return (item == "*" && !was_quoted) || (!item.empty() && Lower(item) == Lower(name));
  };
  for (const char c : names) {
    if (c == '"') {
      quoted = !quoted;
      was_quoted = true;
    } else if (c == ',' && !quoted) {
      if (matches()) return true;
      item.clear();
      was_quoted = false;
    } else if (quoted || std::isspace(static_cast<unsigned char>(c)) == 0) {
      item.push_back(c);
    }
  }
  return matches();
}

std::vector<Finding> CheckSettings(const ServerSettings& settings, const PreflightOptions& options) {
  std::vector<Finding> findings;
  findings.push_back(settings.version_num >= kVersionMin
                         ? Ok("version", "PostgreSQL " + settings.version)
                         : Failed("version", fmt::format("PostgreSQL {} is too old", settings.version),
                                  "upgrade to PostgreSQL 15 or newer"));
  if (settings.in_recovery) {
    findings.push_back(Failed("primary", "the server is a standby",
                              "point [source] dsn at the primary; following a standby is not supported"));
  }
  findings.push_back(
      settings.encoding == "UTF8"
          ? Ok("encoding", "UTF8")
          : Failed("encoding",
                   fmt::format("the database has encoding {}, only UTF8 is supported", settings.encoding),
                   "dump it and restore it into a database created with encoding UTF8"));
  findings.push_back(settings.wal_level == "logical"
                         ? Ok("wal_level", "logical")
                         : Failed("wal_level",
                                  fmt::format("wal_level is {}, logical is needed", settings.wal_level),
                                  "alter system set wal_level = logical; then restart the server"));
  findings.push_back(CheckCount("replication_slots", "replication slots", settings.replication_slots_used,
                                settings.replication_slots_max, !options.slot_exists));
  findings.push_back(CheckCount("wal_senders", "WAL senders", settings.wal_senders_used,
                                settings.wal_senders_max, !options.slot_exists));
  findings.push_back(CheckPluginLibraries(settings));
  findings.push_back(CheckRole(settings));
  findings.push_back(CheckSynchronous(settings, options.allow_synchronous));
  if (settings.slot_wal_keep_size_max == "-1") {
    findings.push_back(
        {"max_slot_wal_keep_size", Severity::kWarning,
         "no limit: while varved is down the server keeps all WAL for it",
         "watch the lag in varve doctor; alter system set max_slot_wal_keep_size = '…' caps it, but "
         "a slot that falls behind the cap is lost"});
  } else {
    findings.push_back(Ok("max_slot_wal_keep_size", settings.slot_wal_keep_size_max));
  }
  return findings;
}

TableVerdict JudgeTable(const TableFacts& table) {
  TableVerdict verdict;
  const std::string quoted = QuoteQualified(table.schema, table.name);
  const auto refuse = [&](bool breaks_updates, std::string reason, std::string remedy) {
    return TableVerdict{false, false, breaks_updates, std::move(reason), std::move(remedy)};
  };
  if (table.kind == 'p' && !table.via_root) {
    return refuse(false, "it is a partitioned table, and the publication does not publish it as one",
                  "follow its partitions, each a table of its own; or publish it with "
                  "publish_via_partition_root, where partitions do not come and go (docs/operations.md)");
  }
  if (table.kind == 'v' || table.kind == 'm') {
    return refuse(false, "it is a view: only tables have a history", "follow the tables that it reads");
  }
  if (table.kind != 'r' && table.kind != 'p') return refuse(false, "it is not an ordinary table", "");
  if (!table.unlogged_partition.empty()) {
    return refuse(false,
                  fmt::format("PostgreSQL writes no WAL for the rows of its partition {}: it is unlogged or "
                              "foreign",
                              QuoteIdentifier(table.unlogged_partition)),
                  "make the partition an ordinary logged table, or detach it");
  }
  if (table.persistence == 'u') {
    return refuse(false, "it is unlogged: PostgreSQL writes no WAL for its rows",
                  fmt::format("alter table {} set logged;", quoted));
  }
  const std::string by_index = table.usable_index.empty()
                                   ? fmt::format(
                                         "alter table {0} add primary key (…); or, if rows have no "
                                         "key, alter table {0} replica identity full;",
                                         quoted)
                                   : fmt::format("alter table {} replica identity using index {};", quoted,
                                                 QuoteIdentifier(table.usable_index));
  if (table.generated_identity == 'v') {
    return refuse(true, "its replica identity is FULL and it has a virtual generated column",
                  table.has_primary_key ? fmt::format("alter table {} replica identity default;", quoted)
                                        : fmt::format("alter table {} add primary key (…);", quoted));
  }
  if (table.generated_identity == 's' && !table.publishes_generated) {
    return refuse(true, "its replica identity has a generated column, which the publication does not publish",
                  "alter publication … set (publish_generated_columns = stored);");
  }
  switch (table.identity) {
    case 'i':
      if (table.has_identity_index) return verdict;
      return refuse(true, "the index of its replica identity is gone", by_index);
    case 'n':
      return refuse(
          true, "its replica identity is NOTHING",
          table.has_primary_key ? fmt::format("alter table {} replica identity default;", quoted) : by_index);
    case 'f': verdict.has_key = table.has_primary_key; return verdict;
    default: break;
  }
  if (table.has_primary_key) return verdict;
  if (table.has_deferrable_key) {
    return refuse(
        true, "its primary key is deferrable",
        table.usable_index.empty()
            ? fmt::format("make its primary key anew without DEFERRABLE: alter table {} drop constraint "
                          "…, add primary key (…);",
                          quoted)
            : by_index);
  }
  return refuse(true, "it has no primary key", by_index);
}

std::vector<Finding> CheckPublication(const Publication& publication, std::string_view name,
                                      std::string_view user) {
  std::vector<Finding> findings;
  const std::string quoted = QuoteIdentifier(name);
  if (!publication.exists) {
    findings.push_back(Failed("publication", fmt::format("publication {} does not exist", quoted),
                              fmt::format("varve init, or create publication {} for table …;", quoted)));
    return findings;
  }
  findings.push_back(Ok("publication", fmt::format("{} has {} tables", quoted, publication.tables.size())));
  if (publication.tables.empty()) {
    findings.back() = {"publication", Severity::kWarning, fmt::format("{} has no tables", quoted),
                       fmt::format("alter publication {} add table …;", quoted)};
  }
  if (publication.all_tables || publication.has_schemas) {
    findings.push_back(
        {"publication_scope", Severity::kWarning,
         fmt::format(
             "{} is FOR {}: a table created later without a primary key would refuse updates and deletes",
             quoted, publication.all_tables ? "ALL TABLES" : "TABLES IN SCHEMA"),
         "list the tables one by one in a publication of their own"});
  }
  for (const TableFacts& table : publication.tables) {
    const std::string table_name = "table " + table.DisplayName();
    const std::string table_quoted = QuoteQualified(table.schema, table.name);
    if (table.has_row_filter || table.has_column_list) {
      findings.push_back(
          Failed(table_name,
                 fmt::format("{} is published with a {}, which is not supported", table.DisplayName(),
                             table.has_row_filter ? "row filter" : "column list"),
                 fmt::format("alter publication {0} drop table {1}; alter publication {0} add table {1};",
                             quoted, table_quoted)));
    } else if (!table.can_select && JudgeTable(table).usable) {
      findings.push_back(Failed(
          table_name, fmt::format("role {} may not read {}", user, table.DisplayName()),
          fmt::format("grant usage on schema {} to {}; grant select on {} to {};{}",
                      QuoteIdentifier(table.schema), QuoteIdentifier(user), table_quoted,
                      QuoteIdentifier(user), table.kind == 'p' ? " and the same on each partition" : "")));
    }
  }
  return findings;
}

std::vector<Finding> CheckSlot(const SlotState& slot, std::string_view name, std::string_view database) {
  std::vector<Finding> findings;
  if (!slot.exists) return findings;
  const std::string drop = fmt::format(
      "choose another name in [source] slot, or select pg_drop_replication_slot({}); if nothing else needs "
      "it",
      QuoteLiteral(name));
  if (slot.type != "logical" || slot.plugin != kPluginName) {
    findings.push_back(Failed("slot",
                              fmt::format("slot {} exists and is not ours: {} slot{}", name, slot.type,
                                          slot.plugin.empty() ? "" : " of plugin " + slot.plugin),
                              drop));
  } else if (slot.database != database) {
    findings.push_back(
        Failed("slot", fmt::format("slot {} belongs to database {}", name, slot.database), drop));
  } else if (slot.wal_status == "lost") {
    findings.push_back(Failed(
        "slot", fmt::format("slot {} is lost: the server removed WAL that it still needed", name),
        fmt::format(
            "what was written meanwhile cannot be recovered: select pg_drop_replication_slot({}); and begin "
            "anew with an empty [store] data_dir",
            QuoteLiteral(name))));
  } else {
    findings.push_back(Ok("slot", fmt::format("{} ({})", name, slot.wal_status)));
  }
  return findings;
}

std::string HbaLine(std::string_view user, std::string_view database, std::string_view host) {
  const std::string who = fmt::format("{} {}", QuoteIdentifier(database), QuoteIdentifier(user));
  if (host.empty() || host[0] == '/' || host[0] == '@') return fmt::format("local {} peer", who);
  return fmt::format("hostssl {} ADDRESS/32 scram-sha-256", who);
}

std::string RemedyFor(const ServerError& error, std::string_view user, std::string_view database) {
  const std::string_view state = error.sqlstate;
  if (error.message.find("may not be used as an output plugin") != std::string::npos) {
    return "add varve to output_plugin_libraries in postgresql.conf, e.g. output_plugin_libraries = "
           "'pgoutput, "
           "test_decoding, varve' (with the quotes), then select pg_reload_conf();";
  }
  if (!error.hint.empty() && state != "58P01") return error.hint;
  if (state == "28000" && error.message.find("role \"") != std::string::npos) {
    return fmt::format("name another role in [source] dsn, or create role {} login replication;",
                       QuoteIdentifier(user));
  }
  if (state == "28000") {
    return fmt::format("allow it in pg_hba.conf, e.g. `{}`, then select pg_reload_conf();",
                       HbaLine(user, database, ""));
  }
  if (state == "28P01") return "put the right password into [source] dsn or into ~/.pgpass";
  if (state == "3D000") return "name an existing database in [source] dsn";
  if (state == "42501" && error.message.find("replication") != std::string::npos) {
    return fmt::format("alter role {} replication;", QuoteIdentifier(user));
  }
  if (state == "42501" && error.message.find("for database") != std::string::npos) {
    return fmt::format("grant create on database {} to {};", QuoteIdentifier(database),
                       QuoteIdentifier(user));
  }
  if (state == "42501") return fmt::format("grant role {} what the message names", QuoteIdentifier(user));
  if (state == "53300")
    return "raise max_wal_senders or max_connections in postgresql.conf and restart the server";
  if (state == "53400") return "raise max_replication_slots in postgresql.conf and restart the server";
  if (state == "58P01") {
    return "install varve.so into the directory that pg_config --pkglibdir prints on the server";
  }
  return "";
}

}  // namespace varve::pg
