// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sidecar/base/result.h"

namespace varve::pg {
class Connection;
}

namespace varve::setup {

// kUnknown: could not be found out with the rights at hand; the message says what would tell.
enum class CheckResult { kOk, kWarning, kFailed, kUnknown };
// "ok", "warning", "failed", "unknown".
std::string_view CheckResultName(CheckResult result);

struct Check {
  std::string name;  // stable, e.g. "wal_level", "table public.accounts"
  CheckResult result = CheckResult::kOk;
  std::string message;
  std::string remedy;  // what to type; empty where nothing is to be done
};

struct Options {
  std::string dsn;             // libpq connection string or URI
  bool dsn_is_option = false;  // it was given as --source: remedies name that instead of [source] dsn
  std::string publication = "varve";
  std::string slot = "varve";
  std::string data_dir;  // empty: not checked; for init: /var/lib/varve/main
  std::string socket;    // of varved's HTTP; empty: not checked
  std::string endpoint;  // [ingest] endpoint; empty: changes come over the replication connection
  bool allow_synchronous = false;
  int connect_timeout_ms = 10'000;
};

// Every check that can be made over an open ordinary connection. Changes nothing. `before_init`: a
// publication that is missing is no fault. Errors: kUnavailable when the connection breaks.
base::Result<std::vector<Check>> CheckServer(pg::Connection* connection, const Options& options,
                                             bool before_init);
// One warning for each table of the database that the publication lacks: why, and what can be done.
base::Result<std::vector<Check>> CheckOtherTables(pg::Connection* connection, const Options& options);
// True when no check failed.
bool Passed(const std::vector<Check>& checks);

struct LeftOutTable {
  std::string table;  // schema.name
  std::string reason;
  std::string remedy;  // empty where there is none
};

struct InitOptions {
  Options server;
  std::vector<std::string> tables;  // patterns: name, schema.name, with * and ?; empty: every table with a
                                    // key. A name without schema means public.
  std::string config_path = "/etc/varve/varve.toml";
  std::string http_socket;  // [http] socket; empty: /run/varve/main/http.sock
  bool write_config = true;
  bool overwrite_config = false;
};

struct InitReport {
  std::vector<Check> checks;
  bool ready = false;  // no check failed: varved can start. Otherwise nothing was changed
  bool publication_created = false;
  std::vector<std::string> tables;  // of the publication afterwards, schema.name
  std::vector<std::string> added;   // of these, added now
  std::vector<LeftOutTable> left_out;
  std::vector<std::string> grants;  // SQL that gives the role what varved needs
  bool endpoint_set = false;        // varve.ingest_endpoint, by ALTER SYSTEM
  std::string endpoint_line;        // of postgresql.conf, where it is to be set and could not be
  std::string config_text;          // TOML
  std::string config_path;
  bool config_written = false;
  bool config_present = false;  // not written, since the file says the same
  std::string next_step;        // what to type next
};

// `varve init`: checks; when none fails, creates the publication or adds the tables to it (never one whose
// updates would then fail), writes the config file, and tells a server on the same machine where to send
// changes, where nobody has told it yet and the role may. Idempotent; never makes the slot. Once there is a
// history nothing is added: such a table would not be in its first copy. Errors say what was changed, which
// is nothing unless they name it: kUnavailable (cannot connect), kInvalidArgument (pattern that matches
// nothing, or only tables that cannot be followed), kForbidden (rights), kExists (config file with other
// contents), kConflict (tables are asked for and there is a history).
base::Result<InitReport> Init(const InitOptions& options);

// The text of a config file for these options, as they are.
std::string ConfigText(const InitOptions& options);

struct SlotReport {
  bool exists = false;
  bool active = false;
  int64_t active_pid = 0;
  std::string wal_status;          // reserved, extended, unreserved, lost
  std::string confirmed_flush;     // LSN
  int64_t lag_bytes = 0;           // WAL behind the confirmed position
  int64_t retained_wal_bytes = 0;  // WAL that the server keeps for the slot
};

struct DoctorReport {
  std::vector<Check> checks;  // those of init on the running system, and the slot's
  SlotReport slot;
};

// `varve doctor`. Changes nothing. Errors: kUnavailable, with the remedy, when it cannot connect.
base::Result<DoctorReport> Doctor(const Options& options);

struct DetachReport {
  bool slot_dropped = false;  // false: there was none
  uint64_t freed_wal_bytes = 0;
  bool endpoint_reset = false;       // varve.ingest_endpoint, which init had set
  std::vector<std::string> remains;  // sentences: publication, data directory, config file
};

// `varve detach`: drops the slot, so that the server keeps no WAL for it, and takes back the setting that
// init has made. Ends nothing: a slot in use is kConflict, naming the process. Errors: kUnavailable,
// kForbidden.
base::Result<DetachReport> Detach(const Options& options, const std::string& config_path);

}  // namespace varve::setup
