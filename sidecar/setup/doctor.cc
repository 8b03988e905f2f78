// SPDX-License-Identifier: PostgreSQL
#include <fmt/format.h>

#include "sidecar/pg/preflight.h"
#include "sidecar/pg/server_state.h"
#include "sidecar/setup/connect.h"
#include "sidecar/setup/endpoint.h"
#include "sidecar/setup/setup.h"

namespace varve::setup {
namespace {

constexpr int64_t kRetainedWarnBytes = int64_t{1} << 30;

std::string MebibytesText(int64_t bytes) { return fmt::format("{} MiB", (bytes + (1 << 19)) >> 20); }

void CheckSlotInUse(const pg::SlotState& slot, const std::string& name, std::vector<Check>* checks) {
  if (!slot.exists) {
    checks->push_back(
        {"slot", CheckResult::kWarning, fmt::format("slot {} does not exist", name),
         "varved makes it at its first start; if it ran before, its history has ended: move its data "
         "directory away (docs/operations.md, \"A new first copy\")"});
    return;
  }
  if (slot.active) {
    checks->push_back({"slot_active", CheckResult::kOk,
                       fmt::format("read by process {} ({})", slot.active_pid, slot.holder), ""});
  } else {
    checks->push_back({"slot_active", CheckResult::kWarning,
                       "nobody reads the slot: the server keeps all WAL for it",
                       "start varved, or varve detach to drop the slot"});
  }
  const std::string retained = fmt::format("{} of WAL kept, {} not yet confirmed",
                                           MebibytesText(slot.retained_bytes), MebibytesText(slot.lag_bytes));
  if (slot.wal_status == "unreserved") {
    checks->push_back({"slot_wal", CheckResult::kWarning, retained + "; the slot is about to be lost",
                       "raise max_slot_wal_keep_size and select pg_reload_conf(); now"});
  } else if (slot.retained_bytes > kRetainedWarnBytes) {
    checks->push_back({"slot_wal", CheckResult::kWarning, retained,
                       "look for a transaction that is open for long, or see why varved is behind"});
  } else {
    checks->push_back({"slot_wal", CheckResult::kOk, retained, ""});
  }
}

}  // namespace

base::Result<DoctorReport> Doctor(const Options& options) {
  ASSIGN_OR_RETURN(const auto connection, Connect(options));
  DoctorReport report;
  ASSIGN_OR_RETURN(report.checks, CheckServer(connection.get(), options, false));
  ASSIGN_OR_RETURN(const std::vector<Check> others, CheckOtherTables(connection.get(), options));
  report.checks.insert(report.checks.end(), others.begin(), others.end());
  ASSIGN_OR_RETURN(const pg::SlotState slot, pg::ReadSlot(connection.get(), options.slot));
  report.slot.exists = slot.exists;
  report.slot.active = slot.active;
  report.slot.active_pid = slot.active_pid;
  report.slot.wal_status = slot.wal_status;
  if (slot.confirmed_flush) report.slot.confirmed_flush = base::FormatLsn(*slot.confirmed_flush);
  report.slot.lag_bytes = slot.lag_bytes;
  report.slot.retained_wal_bytes = slot.retained_bytes;
  CheckSlotInUse(slot, options.slot, &report.checks);
  return report;
}

base::Result<DetachReport> Detach(const Options& options, const std::string& config_path) {
  ASSIGN_OR_RETURN(const auto connection, Connect(options));
  DetachReport report;
  ASSIGN_OR_RETURN(const pg::SlotState slot, pg::ReadSlot(connection.get(), options.slot));
  if (slot.exists && slot.plugin != pg::kPluginName) {
    return base::Fail(base::ErrorCode::kConflict,
                      fmt::format("slot {} is not ours: its plugin is {}", options.slot,
                                  slot.plugin.empty() ? "none" : slot.plugin));
  }
  if (slot.exists && slot.active) {
    return base::Fail(
        base::ErrorCode::kConflict,
        fmt::format("slot {} is in use by process {}{}; remedy: stop varved, then varve detach again",
                    options.slot, slot.active_pid, slot.holder.empty() ? "" : " (" + slot.holder + ")"));
  }
  if (slot.exists) {
    const auto dropped = connection->Query("select pg_catalog.pg_drop_replication_slot($1)", {options.slot});
    if (!dropped) {
      return base::Fail(
          dropped.error().code,
          WithRemedy(fmt::format("slot {} cannot be dropped: {}", options.slot, dropped.error().message),
                     pg::RemedyFor(connection->last_error(), connection->user(), connection->database())));
    }
    report.slot_dropped = true;
    report.freed_wal_bytes = static_cast<uint64_t>(slot.retained_bytes > 0 ? slot.retained_bytes : 0);
  }
  ASSIGN_OR_RETURN(const pg::ServerSettings settings, pg::ReadServerSettings(connection.get()));
  ResetEndpoint(connection.get(), settings, options.endpoint, &report);
  ASSIGN_OR_RETURN(const pg::Publication publication,
                   pg::ReadPublication(connection.get(), options.publication));
  if (publication.exists) {
    report.remains.push_back(fmt::format("publication {0} in the database; drop publication {0}; removes it",
                                         pg::QuoteIdentifier(options.publication)));
  }
  if (!options.data_dir.empty()) {
    report.remains.push_back(
        fmt::format("the history in {}; it stays readable up to where it ends, and cannot be continued: "
                    "move it away before varved starts again",
                    options.data_dir));
  }
  if (!config_path.empty()) report.remains.push_back("the configuration in " + config_path);
  return report;
}

}  // namespace varve::setup
