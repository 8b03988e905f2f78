// SPDX-License-Identifier: PostgreSQL
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "sidecar/pg/preflight.h"
#include "sidecar/pg/server_state.h"
#include "sidecar/setup/connect.h"
#include "sidecar/setup/endpoint.h"
#include "sidecar/setup/setup.h"

namespace varve::setup {
namespace {

CheckResult ResultOf(pg::Severity severity) {
  switch (severity) {
    case pg::Severity::kOk: return CheckResult::kOk;
    case pg::Severity::kWarning: return CheckResult::kWarning;
    case pg::Severity::kFailed: return CheckResult::kFailed;
    case pg::Severity::kUnknown: break;
  }
  return CheckResult::kUnknown;
}

void Add(const std::vector<pg::Finding>& findings, std::vector<Check>* checks) {
  for (const pg::Finding& finding : findings) {
    checks->push_back({finding.name, ResultOf(finding.severity), finding.message, finding.remedy});
  }
}

// Whether the server finds the plugin's library. Only a superuser may LOAD.
Check CheckPlugin(pg::Connection* connection, const pg::ServerSettings& settings, const pg::SlotState& slot) {
  const std::string name = "plugin";
  if (slot.exists && slot.plugin == pg::kPluginName) {
    return {name, CheckResult::kOk, "a slot of plugin varve exists", ""};
  }
  if (!settings.is_superuser) {
    return {
        name, CheckResult::kUnknown,
        fmt::format("role {} may not try to load varve.so; the first start of varved tells", settings.user),
        ""};
  }
  const auto loaded = connection->Query("load 'varve'");
  if (loaded) return {name, CheckResult::kOk, "the server loads varve.so", ""};
  return {name, CheckResult::kFailed, "the server cannot load varve.so: " + loaded.error().message,
          pg::RemedyFor(connection->last_error(), settings.user, settings.database)};
}

// What makes the table one that can be followed; a history that is there does not begin to follow it.
std::string TableRemedy(const pg::TableVerdict& verdict, bool has_history) {
  if (!has_history || verdict.remedy.empty()) return verdict.remedy;
  return verdict.remedy + " then a new first copy (docs/operations.md)";
}

void AddTables(const pg::Publication& publication, bool has_history, std::vector<Check>* checks) {
  for (const pg::TableFacts& table : publication.tables) {
    const std::string name = "table " + table.DisplayName();
    const pg::TableVerdict verdict = pg::JudgeTable(table);
    const bool refused =
        std::any_of(checks->begin(), checks->end(), [&](const Check& check) { return check.name == name; });
    if (refused) continue;
    if (!verdict.usable) {
      const char* harm =
          verdict.breaks_updates
              ? "; PostgreSQL refuses updates and deletes of it, since the publication publishes them"
              : "";
      checks->push_back({name, CheckResult::kWarning, fmt::format("not followed: {}{}", verdict.reason, harm),
                         TableRemedy(verdict, has_history)});
    } else {
      const char* key = verdict.has_key ? "has a key"
                                        : "has no key, a row is known by all of its columns: scan and diff, "
                                          "but no get and no history of one row";
      const char* as_one = table.kind == 'p' ? "; its partitions are followed as one table" : "";
      checks->push_back({name, CheckResult::kOk, fmt::format("{}{}", key, as_one), ""});
    }
  }
}

base::Status AddBlockers(pg::Connection* connection, std::vector<Check>* checks) {
  ASSIGN_OR_RETURN(const auto blockers, pg::FindSlotBlockers(connection));
  if (blockers.empty()) {
    checks->push_back({"transactions", CheckResult::kOk, "none that the new slot would wait for", ""});
  }
  for (const pg::Blocker& blocker : blockers) {
    checks->push_back({"transactions", CheckResult::kWarning,
                       "the new slot will wait for " + blocker.description, blocker.remedy});
  }
  return {};
}

Check CheckDataDir(const std::string& path) {
  const std::string name = "data_dir";
  struct stat entry {};
  if (stat(path.c_str(), &entry) != 0) {
    return {
        name, CheckResult::kWarning, path + " does not exist",
        fmt::format("install -d -m 0700 -o postgres -g postgres {}, with the user that runs varved", path)};
  }
  if (!S_ISDIR(entry.st_mode)) {
    return {name, CheckResult::kFailed, path + " is not a directory", "name a directory in [store] data_dir"};
  }
  if ((entry.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return {name, CheckResult::kWarning, path + " can be read by other users, and holds your rows",
            fmt::format("chmod 0700 {}", path)};
  }
  return {name, CheckResult::kOk, path, ""};
}

// The directory of varved's socket.
Check CheckSocketDir(const std::string& socket) {
  const std::string path = socket.substr(0, socket.rfind('/'));
  struct stat entry {};
  if (stat(path.c_str(), &entry) == 0 && S_ISDIR(entry.st_mode)) {
    return {"socket", CheckResult::kOk, socket, ""};
  }
  return {"socket", CheckResult::kWarning, fmt::format("the directory of {} cannot be found", socket),
          fmt::format("install -d -m 0750 -o postgres -g postgres {}, with the user that runs varved", path)};
}

}  // namespace

std::string_view CheckResultName(CheckResult result) {
  switch (result) {
    case CheckResult::kOk: return "ok";
    case CheckResult::kWarning: return "warning";
    case CheckResult::kFailed: return "failed";
    case CheckResult::kUnknown: break;
  }
  return "unknown";
}

bool Passed(const std::vector<Check>& checks) {
  return std::none_of(checks.begin(), checks.end(),
                      [](const Check& check) { return check.result == CheckResult::kFailed; });
}

std::string WithRemedy(std::string message, const std::string& remedy) {
  return remedy.empty() ? message : fmt::format("{}; remedy: {}", message, remedy);
}

std::string NamingSource(std::string remedy, const Options& options) {
  constexpr std::string_view kSetting = "[source] dsn";
  if (!options.dsn_is_option) return remedy;
  for (size_t at = remedy.find(kSetting); at != std::string::npos; at = remedy.find(kSetting, at)) {
    remedy.replace(at, kSetting.size(), "--source");
  }
  return remedy;
}

base::Result<std::unique_ptr<pg::Connection>> Connect(const Options& options) {
  pg::OpenFailure failure;
  auto connection = pg::Connection::Open({options.dsn, false, options.connect_timeout_ms, nullptr}, &failure);
  if (connection) return connection;
  std::string remedy = pg::RemedyFor(failure.error, failure.user, failure.database);
  if (remedy.empty() && connection.error().code == base::ErrorCode::kUnavailable) {
    remedy = "check that PostgreSQL runs and that [source] dsn names it";
  }
  return base::Fail(connection.error().code,
                    WithRemedy(connection.error().message, NamingSource(remedy, options)));
}

base::Result<std::vector<Check>> CheckServer(pg::Connection* connection, const Options& options,
                                             bool before_init) {
  std::vector<Check> checks;
  ASSIGN_OR_RETURN(const pg::ServerSettings settings, pg::ReadServerSettings(connection));
  ASSIGN_OR_RETURN(const pg::SlotState slot, pg::ReadSlot(connection, options.slot));
  ASSIGN_OR_RETURN(const pg::Publication publication, pg::ReadPublication(connection, options.publication));
  Add(pg::CheckSettings(settings, {options.slot, slot.exists, options.allow_synchronous}), &checks);
  checks.push_back(CheckPlugin(connection, settings, slot));
  if (publication.exists || !before_init)
    Add(pg::CheckPublication(publication, options.publication, settings.user), &checks);
  AddTables(publication, slot.exists, &checks);
  Add(pg::CheckSlot(slot, options.slot, settings.database), &checks);
  if (!slot.exists) RETURN_IF_ERROR(AddBlockers(connection, &checks));
  if (!options.data_dir.empty()) checks.push_back(CheckDataDir(options.data_dir));
  if (!options.socket.empty()) checks.push_back(CheckSocketDir(options.socket));
  if (!before_init && !options.socket.empty()) checks.push_back(CheckIngestEndpoint(settings, options));
  for (Check& check : checks) check.remedy = NamingSource(check.remedy, options);
  return checks;
}

base::Result<std::vector<Check>> CheckOtherTables(pg::Connection* connection, const Options& options) {
  ASSIGN_OR_RETURN(const pg::Publication publication, pg::ReadPublication(connection, options.publication));
  ASSIGN_OR_RETURN(const auto relations, pg::ReadUserRelations(connection));
  std::set<uint32_t> published;
  for (const pg::TableFacts& table : publication.tables) published.insert(table.oid);
  std::vector<Check> checks;
  for (const pg::TableFacts& table : relations) {
    if ((table.kind != 'r' && table.kind != 'p') || published.count(table.oid) != 0) continue;
    const bool is_part = std::any_of(table.ancestors.begin(), table.ancestors.end(),
                                     [&](uint32_t oid) { return published.count(oid) != 0; });
    if (is_part) continue;
    const pg::TableVerdict verdict = pg::JudgeTable(table);
    checks.push_back({"table " + table.DisplayName(), CheckResult::kWarning,
                      "not followed: " + (verdict.usable ? "it is not in the publication" : verdict.reason),
                      verdict.usable ? "a new first copy with it (docs/operations.md, \"Adding a table\")"
                                     : TableRemedy(verdict, table.kind == 'r')});
  }
  return checks;
}

}  // namespace varve::setup
