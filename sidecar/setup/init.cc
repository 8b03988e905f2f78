// SPDX-License-Identifier: PostgreSQL
#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "sidecar/bus/endpoint.h"
#include "sidecar/pg/preflight.h"
#include "sidecar/pg/server_state.h"
#include "sidecar/setup/config_file.h"
#include "sidecar/setup/connect.h"
#include "sidecar/setup/endpoint.h"
#include "sidecar/setup/plan.h"
#include "sidecar/setup/setup.h"

namespace varve::setup {
namespace {

using base::ErrorCode;
using base::Fail;

std::string TableList(const std::vector<pg::TableFacts>& tables, const char* before_each) {
  std::string list;
  for (const pg::TableFacts& table : tables) {
    if (!list.empty()) list += ", ";
    list += before_each + pg::QuoteQualified(table.schema, table.name);
  }
  return list;
}

base::Status ChangePublication(pg::Connection* connection, const Plan& plan, const std::string& name,
                               const pg::Publication& publication) {
  // ONLY for each: a child table that inherits would come along, with or without an identity.
  std::string sql;
  if (!publication.exists) {
    sql = "create publication " + pg::QuoteIdentifier(name);
    if (!plan.add.empty()) sql += " for table " + TableList(plan.add, "only ");
    // Or 18 refuses users' updates where the replica identity has a generated column.
    if (publication.knows_generated) sql += " with (publish_generated_columns = stored)";
  } else if (!plan.add.empty()) {
    sql = fmt::format("alter publication {} add table {}", pg::QuoteIdentifier(name),
                      TableList(plan.add, "only "));
  }
  if (sql.empty()) return {};
  const auto done = connection->Query(sql);
  if (done) return {};
  return Fail(done.error().code,
              WithRemedy(done.error().message, pg::RemedyFor(connection->last_error(), connection->user(),
                                                             connection->database())));
}

// What the role of the connection string lacks. A superuser lacks nothing.
std::vector<std::string> GrantsFor(const pg::ServerSettings& settings, const pg::Publication& publication,
                                   const Plan& plan) {
  std::vector<std::string> grants;
  if (settings.is_superuser) return grants;
  const std::string user = pg::QuoteIdentifier(settings.user);
  if (!settings.has_replication) grants.push_back(fmt::format("alter role {} replication;", user));
  if (!publication.exists && !settings.can_create_in_database) {
    grants.push_back(
        fmt::format("grant create on database {} to {};", pg::QuoteIdentifier(settings.database), user));
  }
  std::vector<pg::TableFacts> unreadable;
  for (const auto* tables : {&publication.tables, &plan.add, &plan.foreign}) {
    std::copy_if(tables->begin(), tables->end(), std::back_inserter(unreadable),
                 [](const pg::TableFacts& table) { return !table.can_select; });
  }
  std::set<std::string> schemas;
  for (const pg::TableFacts& table : unreadable) schemas.insert(table.schema);
  for (const std::string& schema : schemas) {
    grants.push_back(fmt::format("grant usage on schema {} to {};", pg::QuoteIdentifier(schema), user));
  }
  if (!unreadable.empty()) {
    grants.push_back(fmt::format("grant select on {} to {};", TableList(unreadable, ""), user));
  }
  // Without it the messages cannot name who holds the slot or what it waits for.
  grants.push_back(fmt::format("grant pg_monitor to {};", user));
  return grants;
}

base::Status CheckConfigFile(const InitOptions& options, const std::optional<std::string>& present,
                             const std::string& text) {
  if (options.overwrite_config || !present || *present == text) return {};
  return Fail(ErrorCode::kExists,
              fmt::format("config file {} exists and says something else; remedy: move it away, give another "
                          "path with --config, or replace it with --overwrite",
                          options.config_path));
}

// What can fail without a trace comes first: the file is written beside its place before the publication is
// changed.
base::Status Change(pg::Connection* connection, const InitOptions& options,
                    const pg::Publication& publication, const Plan& plan, InitReport* report) {
  ConfigFile file(options.config_path);
  if (options.write_config) {
    const std::optional<std::string> present = file.Read();
    RETURN_IF_ERROR(CheckConfigFile(options, present, report->config_text));
    report->config_present = present == report->config_text;
    if (!report->config_present) RETURN_IF_ERROR(file.Prepare(report->config_text));
  }
  RETURN_IF_ERROR(ChangePublication(connection, plan, options.server.publication, publication));
  report->publication_created = !publication.exists;
  for (const pg::TableFacts& table : plan.add) report->added.push_back(table.DisplayName());
  report->tables.insert(report->tables.end(), report->added.begin(), report->added.end());
  std::sort(report->tables.begin(), report->tables.end());
  if (options.write_config && !report->config_present) {
    const base::Status put = file.Put();
    if (!put) {
      return Fail(put.error().code,
                  fmt::format("{}; publication {} {}, only the config file is missing", put.error().message,
                              pg::QuoteIdentifier(options.server.publication),
                              publication.exists ? "is in order" : "was created"));
    }
    report->config_written = true;
  }
  report->next_step = fmt::format("varved --config {}", options.config_path);
  return {};
}

// A publication with no tables would be made, and varved would wait for ever.
base::Status CheckAnyTable(const pg::Publication& publication, const Plan& plan) {
  if (!plan.add.empty() || !plan.already.empty() || publication.all_tables) return {};
  std::string reasons;
  for (const LeftOutTable& table : plan.left_out) {
    reasons += "; " + WithRemedy(table.table + ": " + table.reason, table.remedy);
  }
  return Fail(ErrorCode::kInvalidArgument,
              reasons.empty() ? "the database has no table: create one with a primary key first"
                              : "none of the tables can be followed" + reasons);
}

// What shows that there is a history, which lacks tables that are added now; empty: this is the first setup.
std::string HistorySign(const pg::SlotState& slot, const Options& options) {
  if (slot.exists && slot.plugin == pg::kPluginName) return fmt::format("slot {} exists", options.slot);
  std::error_code error;
  const bool store = std::filesystem::exists(options.data_dir + "/store/CURRENT", error);
  return store ? fmt::format("{} holds one", options.data_dir) : "";
}

// Rights that only the making of the publication needs; what can be followed stands in the way of nothing.
void AddInitRights(const pg::ServerSettings& settings, const pg::Publication& publication, const Plan& plan,
                   const std::string& name, std::vector<Check>* checks) {
  if (!publication.exists && !settings.can_create_in_database) {
    checks->push_back(
        {"create", CheckResult::kFailed,
         fmt::format("role {} may not make a publication in database {}", settings.user, settings.database),
         fmt::format("grant create on database {} to {};", pg::QuoteIdentifier(settings.database),
                     pg::QuoteIdentifier(settings.user))});
  }
  if (!plan.foreign.empty() && plan.add.empty() && publication.tables.empty()) {
    checks->push_back(
        {"owner", CheckResult::kFailed,
         fmt::format(
             "role {} owns none of the {} tables that could be followed, and only their owner may put "
             "them into a publication",
             settings.user, plan.foreign.size()),
         fmt::format("as their owner or as a superuser: {}{};",
                     publication.exists
                         ? fmt::format("alter publication {} add table ", pg::QuoteIdentifier(name))
                         : fmt::format("create publication {} for table ", pg::QuoteIdentifier(name)),
                     TableList(plan.foreign, "only "))});
  }
}

// The configuration takes no relative paths: varved may be started elsewhere.
std::string AbsolutePath(const std::string& path, const char* otherwise) {
  if (path.empty()) return otherwise;
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  return error ? path : absolute.lexically_normal().string();
}

base::Status Run(pg::Connection* connection, const InitOptions& options, InitReport* report) {
  ASSIGN_OR_RETURN(report->checks, CheckServer(connection, options.server, true));
  ASSIGN_OR_RETURN(const pg::ServerSettings settings, pg::ReadServerSettings(connection));
  ASSIGN_OR_RETURN(const pg::Publication publication,
                   pg::ReadPublication(connection, options.server.publication));
  ASSIGN_OR_RETURN(const pg::SlotState slot, pg::ReadSlot(connection, options.server.slot));
  ASSIGN_OR_RETURN(const auto relations, pg::ReadUserRelations(connection));
  ASSIGN_OR_RETURN(
      const Plan plan,
      MakePlan({&publication, &relations, settings.user, HistorySign(slot, options.server)}, options.tables));
  AddInitRights(settings, publication, plan, options.server.publication, &report->checks);
  report->ready = Passed(report->checks);
  report->tables = plan.already;
  report->left_out = plan.left_out;
  report->grants = GrantsFor(settings, publication, plan);
  report->config_path = options.config_path;
  report->config_text = ConfigText(options);
  if (!report->ready) {
    report->next_step = "put right what failed, then varve init again; nothing was changed";
    return {};
  }
  RETURN_IF_ERROR(CheckAnyTable(publication, plan));
  RETURN_IF_ERROR(Change(connection, options, publication, plan, report));
  SetEndpoint(connection, settings, options.server.endpoint, report);
  return {};
}

}  // namespace

base::Result<InitReport> Init(const InitOptions& given) {
  ASSIGN_OR_RETURN(const auto connection, Connect(given.server));
  InitOptions options = given;
  options.server.data_dir = AbsolutePath(given.server.data_dir, "/var/lib/varve/main");
  options.http_socket = AbsolutePath(given.http_socket, "/run/varve/main/http.sock");
  options.config_path = AbsolutePath(given.config_path, "/etc/varve/varve.toml");
  options.server.socket = options.http_socket;
  options.server.endpoint = bus::DefaultEndpoint(options.http_socket);
  InitReport report;
  const base::Status done = Run(connection.get(), options, &report);
  if (done) return report;
  // Put, the last step, says itself what was done before it.
  const bool changed = !report.added.empty() || report.publication_created;
  return Fail(done.error().code, done.error().message + (changed ? "" : "; nothing was changed"));
}

}  // namespace varve::setup
