// SPDX-License-Identifier: PostgreSQL
#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "sidecar/pg/preflight.h"
#include "sidecar/pg/server_state.h"
#include "sidecar/setup/connect.h"
#include "sidecar/setup/pattern.h"
#include "sidecar/setup/setup.h"

namespace varve::setup {
namespace {

using base::ErrorCode;
using base::Fail;

// What init will do to the publication.
struct Plan {
  std::vector<pg::TableFacts> add;
  std::vector<LeftOutTable> left_out;
  std::vector<std::string> already;  // in the publication
};

bool IsChosen(const std::vector<std::string>& patterns, const pg::TableFacts& table,
              std::set<std::string>* unused) {
  bool chosen = patterns.empty();
  for (const std::string& pattern : patterns) {
    if (!FitsTablePattern(pattern, table.schema, table.name)) continue;
    chosen = true;
    unused->erase(pattern);
  }
  return chosen;
}

base::Result<Plan> MakePlan(const pg::Publication& publication, const std::vector<pg::TableFacts>& tables,
                            const InitOptions& options, const std::string& user) {
  Plan plan;
  std::set<uint32_t> present;
  for (const pg::TableFacts& table : publication.tables) {
    present.insert(table.oid);
    plan.already.push_back(table.DisplayName());
  }
  std::set<std::string> unused(options.tables.begin(), options.tables.end());
  for (const pg::TableFacts& table : tables) {
    if (!IsChosen(options.tables, table, &unused) || present.count(table.oid) != 0) continue;
    // Of a partitioned table nobody asked for by name, the partitions are in the list themselves.
    if (table.kind == 'p' && options.tables.empty()) continue;
    const pg::TableVerdict verdict = pg::JudgeTable(table);
    if (!verdict.usable) {
      plan.left_out.push_back({table.DisplayName(), verdict.reason, verdict.remedy});
    } else if (!table.is_owned) {
      plan.left_out.push_back({table.DisplayName(), fmt::format("role {} does not own it", user),
                               "run varve init with a connection string of its owner or of a superuser"});
    } else if (publication.all_tables) {
      plan.left_out.push_back(
          {table.DisplayName(), "the publication is FOR ALL TABLES and yet lacks it", ""});
    } else {
      plan.add.push_back(table);
    }
  }
  if (!unused.empty()) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("no table fits {}; write name (of schema public) or schema.name, with * and ?",
                            pg::QuoteLiteral(*unused.begin())));
  }
  return plan;
}

std::string TableList(const std::vector<pg::TableFacts>& tables, const char* before_each) {
  std::string list;
  for (const pg::TableFacts& table : tables) {
    if (!list.empty()) list += ", ";
    list += before_each + pg::QuoteQualified(table.schema, table.name);
  }
  return list;
}

base::Status ChangePublication(pg::Connection* connection, const Plan& plan, const std::string& name,
                               bool exists) {
  // ONLY for each: a child table that inherits would come along, with or without an identity.
  std::string sql;
  if (!exists) {
    sql = "create publication " + pg::QuoteIdentifier(name);
    if (!plan.add.empty()) sql += " for table " + TableList(plan.add, "only ");
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
  std::vector<pg::TableFacts> unreadable;
  for (const auto* tables : {&publication.tables, &plan.add}) {
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

std::optional<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

// It may hold a password: only its owner reads it, and where root writes it, the group that varved runs in.
void LetServerGroupRead(int fd) {
  const group* entry = geteuid() == 0 ? getgrnam("postgres") : nullptr;
  if (entry != nullptr && fchown(fd, 0, entry->gr_gid) == 0) (void)fchmod(fd, 0640);
}

// Whole or not at all: written beside, synced, renamed.
base::Status WriteFile(const std::string& path, const std::string& text) {
  std::error_code ignored;  // mkstemp says what is wrong
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
  std::string beside = path + ".XXXXXX";
  const int fd = mkstemp(beside.data());
  const auto failed = [&](int error) -> base::Status {
    return Fail(
        ErrorCode::kForbidden,
        fmt::format("config file {} cannot be written: {}; remedy: make its directory, or give another "
                    "path with --config",
                    path, std::strerror(error)));
  };
  if (fd < 0) return failed(errno);
  LetServerGroupRead(fd);
  size_t written = 0;
  int error = 0;
  while (written < text.size() && error == 0) {
    const ssize_t bytes = write(fd, text.data() + written, text.size() - written);
    if (bytes < 0 && errno != EINTR) error = errno;
    if (bytes > 0) written += static_cast<size_t>(bytes);
  }
  if (error == 0 && fsync(fd) != 0) error = errno;
  close(fd);
  if (error == 0 && std::rename(beside.c_str(), path.c_str()) != 0) error = errno;
  if (error == 0) return {};
  unlink(beside.c_str());
  return failed(error);
}

base::Status CheckConfigFile(const InitOptions& options, const std::string& text) {
  if (!options.write_config || options.overwrite_config) return {};
  const auto present = ReadFile(options.config_path);
  if (!present || *present == text) return {};
  return Fail(
      ErrorCode::kExists,
      fmt::format("config file {} exists and says something else; remedy: move it away, give another path "
                  "with --config, or let it be overwritten",
                  options.config_path));
}

base::Status Change(pg::Connection* connection, const InitOptions& options,
                    const pg::Publication& publication, const Plan& plan, InitReport* report) {
  RETURN_IF_ERROR(CheckConfigFile(options, report->config_text));
  RETURN_IF_ERROR(ChangePublication(connection, plan, options.server.publication, publication.exists));
  report->publication_created = !publication.exists;
  for (const pg::TableFacts& table : plan.add) report->added.push_back(table.DisplayName());
  report->tables.insert(report->tables.end(), report->added.begin(), report->added.end());
  std::sort(report->tables.begin(), report->tables.end());
  if (options.write_config && ReadFile(options.config_path) != report->config_text) {
    RETURN_IF_ERROR(WriteFile(options.config_path, report->config_text));
    report->config_written = true;
  }
  report->next_step = fmt::format("varved --config {}", options.config_path);
  return {};
}

// The configuration takes no relative paths: varved may be started elsewhere.
std::string AbsolutePath(const std::string& path, const char* otherwise) {
  if (path.empty()) return otherwise;
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  return error ? path : absolute.lexically_normal().string();
}

}  // namespace

base::Result<InitReport> Init(const InitOptions& given) {
  ASSIGN_OR_RETURN(const auto connection, Connect(given.server));
  InitOptions options = given;
  options.server.data_dir = AbsolutePath(given.server.data_dir, "/var/lib/varve/main");
  options.http_socket = AbsolutePath(given.http_socket, "/run/varve/main/http.sock");
  options.config_path = AbsolutePath(given.config_path, "/etc/varve/varve.toml");
  InitReport report;
  ASSIGN_OR_RETURN(report.checks, CheckServer(connection.get(), options.server, true));
  ASSIGN_OR_RETURN(const pg::ServerSettings settings, pg::ReadServerSettings(connection.get()));
  ASSIGN_OR_RETURN(const pg::Publication publication,
                   pg::ReadPublication(connection.get(), options.server.publication));
  ASSIGN_OR_RETURN(const auto tables, pg::ReadUserTables(connection.get()));
  ASSIGN_OR_RETURN(Plan plan, MakePlan(publication, tables, options, settings.user));
  report.ready = Passed(report.checks);
  report.tables = plan.already;
  report.left_out = plan.left_out;
  report.grants = GrantsFor(settings, publication, plan);
  report.hba_line = pg::HbaLine(settings.user, settings.database, connection->host());
  report.config_path = options.config_path;
  report.config_text = ConfigText(options);
  if (!report.ready) {
    report.next_step = "put right what failed, then varve init again; nothing was changed";
    return report;
  }
  RETURN_IF_ERROR(Change(connection.get(), options, publication, plan, &report));
  return report;
}

}  // namespace varve::setup
