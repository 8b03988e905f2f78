// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sidecar/pg/server_state.h"

namespace varve::pg {

// Judgements over what was read from a server, as pure functions: one set of words for `varve init`,
// `doctor` and the running program.

enum class Severity { kOk, kWarning, kFailed, kUnknown };

struct Finding {
  std::string name;
  Severity severity = Severity::kOk;
  std::string message;
  std::string remedy;
};

inline constexpr char kPluginName[] = "varve";

struct PreflightOptions {
  std::string slot;
  bool slot_exists = false;  // then no free slot is needed
  bool allow_synchronous = false;
};

// version, recovery, encoding, wal_level, replication_slots, wal_senders, output_plugin_libraries, role,
// synchronous_standby_names, max_slot_wal_keep_size.
std::vector<Finding> CheckSettings(const ServerSettings& settings, const PreflightOptions& options);

// True when a standby of this name would be waited for: src/backend/replication/syncrep.c compares without
// case, and * stands for every name.
bool NamesStandby(std::string_view synchronous_standby_names, std::string_view name);

// How a table can be followed: kOk; else why not, and what makes it possible. `breaks_updates`: in a
// publication that publishes updates, PostgreSQL would refuse the users' own updates of it.
struct TableVerdict {
  bool usable = true;
  bool has_key = true;  // else a row is known by all of its columns
  bool breaks_updates = false;
  std::string reason;
  std::string remedy;
};
TableVerdict JudgeTable(const TableFacts& table);

// The publication as such: exists, FOR ALL TABLES, row filters, column lists; and whether the role may read
// its tables.
std::vector<Finding> CheckPublication(const Publication& publication, std::string_view name,
                                      std::string_view user);

// A slot that exists: kind, plugin, database, lost WAL. Not whether it is in use.
std::vector<Finding> CheckSlot(const SlotState& slot, std::string_view name, std::string_view database);

// What to do about an error of the server or a failed connection; empty when there is nothing better to say
// than the message. `user` and `database` as in the connection string.
std::string RemedyFor(const ServerError& error, std::string_view user, std::string_view database);

// The line that lets the role open replication connections, for pg_hba.conf.
std::string HbaLine(std::string_view user, std::string_view database, std::string_view host);

}  // namespace varve::pg
