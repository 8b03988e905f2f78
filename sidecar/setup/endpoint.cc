// SPDX-License-Identifier: PostgreSQL
#include "sidecar/setup/endpoint.h"

#include <fmt/format.h>

#include "sidecar/bus/endpoint.h"

namespace varve::setup {
namespace {

constexpr char kReload[] = "select pg_catalog.pg_reload_conf()";

std::string ConfLine(const std::string& endpoint) {
  return fmt::format("varve.ingest_endpoint = '{}'", bus::SettingFor(endpoint));
}

// A session knows the setting as one of the server only with the library.
bool Run(pg::Connection* connection, const std::string& statement) {
  return connection->Query("load 'varve'") && connection->Query(statement) && connection->Query(kReload);
}

}  // namespace

Check CheckIngestEndpoint(const pg::ServerSettings& settings, const Options& options) {
  const std::string name = "ingest_endpoint";
  if (options.endpoint.empty() || !settings.shares_machine) {
    return {name, CheckResult::kOk, "changes come over the replication connection", ""};
  }
  const std::string path = bus::PathOf(options.endpoint);
  std::optional<bus::Fault> fault = bus::FaultOfSetting(options.endpoint, settings.ingest_endpoint,
                                                        settings.database_oid, settings.shares_machine);
  if (!fault) fault = bus::FaultOfDirectory(path.substr(0, path.rfind('/')));
  if (!fault && settings.server_user) fault = bus::FaultForUser(path, *settings.server_user);
  if (!fault) return {name, CheckResult::kOk, "the server sends changes to " + options.endpoint, ""};
  return {name, CheckResult::kWarning,
          "changes come over the replication connection, which costs the server more: " + fault->message,
          fault->remedy};
}

void SetEndpoint(pg::Connection* connection, const pg::ServerSettings& settings, const std::string& endpoint,
                 InitReport* report) {
  if (endpoint.empty() || !settings.shares_machine ||
      !bus::FaultOfSetting(endpoint, settings.ingest_endpoint, settings.database_oid, true)) {
    return;
  }
  report->endpoint_line = ConfLine(endpoint);
  // Another endpoint is somebody's decision.
  if (!settings.is_superuser || !settings.ingest_endpoint.empty()) return;
  if (!Run(connection, fmt::format("alter system set varve.ingest_endpoint = {}",
                                   pg::QuoteLiteral(bus::SettingFor(endpoint))))) {
    return;
  }
  report->endpoint_set = true;
  report->endpoint_line.clear();
}

void ResetEndpoint(pg::Connection* connection, const pg::ServerSettings& settings,
                   const std::string& endpoint, DetachReport* report) {
  if (endpoint.empty() ||
      bus::FaultOfSetting(endpoint, settings.ingest_endpoint, settings.database_oid, true)) {
    return;
  }
  if (settings.is_superuser && connection->Query("load 'varve'")) {
    const auto by_alter_system = connection->Query(
        "select from pg_catalog.pg_file_settings where name = 'varve.ingest_endpoint' and applied"
        " and sourcefile like '%postgresql.auto.conf'");
    report->endpoint_reset = by_alter_system && by_alter_system->size() == 1 &&
                             Run(connection, "alter system reset varve.ingest_endpoint");
  }
  if (!report->endpoint_reset)
    report->remains.push_back(ConfLine(endpoint) + " in the server's configuration");
}

}  // namespace varve::setup
