// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sidecar/base/ids.h"
#include "sidecar/base/result.h"
#include "sidecar/pg/connection.h"

namespace varve::pg {

// What a server says of itself, read over an ordinary connection. Fields that the role may not see are
// nothing.
struct ServerSettings {
  int version_num = 0;
  std::string version;
  std::string wal_level;
  int64_t replication_slots_max = 0;
  int64_t replication_slots_used = 0;
  int64_t wal_senders_max = 0;
  int64_t wal_senders_used = 0;
  std::optional<std::string> plugin_libraries;  // output_plugin_libraries
  std::string synchronous_standby_names;
  std::string slot_wal_keep_size_max;  // max_slot_wal_keep_size, with unit; "-1": no limit
  std::string encoding;
  std::string database;
  std::string user;
  std::string socket_directory;
  bool is_superuser = false;
  bool has_replication = false;
  bool can_create_in_database = false;
  bool in_recovery = false;
  // As the configuration file has it, also in a session without the library.
  std::string ingest_endpoint;
  uint32_t database_oid = 0;
  bool shares_machine = false;          // as far as the connection shows
  std::optional<uint32_t> server_user;  // the id of the operating system's user that runs it
};
base::Result<ServerSettings> ReadServerSettings(Connection* connection);

// A table that the publication publishes (or a candidate for it), and whether its rows can be told apart.
struct TableFacts {
  uint32_t oid = 0;
  std::string schema;
  std::string name;
  char kind = 'r';                  // pg_class.relkind
  char persistence = 'p';           // pg_class.relpersistence
  char identity = 'd';              // pg_class.relreplident
  bool has_primary_key = false;     // not deferrable
  bool has_deferrable_key = false;  // a primary key, but deferrable
  bool has_identity_index = false;  // the one that USING INDEX named, still there
  std::string usable_index;         // a unique index that USING INDEX would take; empty: none
  bool has_row_filter = false;
  bool has_column_list = false;
  bool via_root = false;  // partitioned, and published with its partitions as one table
  // 18: PostgreSQL refuses updates where the replica identity has a generated column that is not published:
  // 's' stored (may be published), 'v' virtual (never is); 0: there is none.
  char generated_identity = 0;
  bool publishes_generated = true;  // the publication has publish_generated_columns = stored
  std::string unlogged_partition;   // of a partitioned table: one whose rows the server does not log
  std::vector<uint32_t> ancestors;  // of a partition: the partitioned tables that it is a part of
  bool can_select = false;          // this role may read it, and its partitions
  bool is_owned = false;            // this role may add it to a publication
  int64_t rows_estimate = 0;
  std::string DisplayName() const { return schema + "." + name; }
};

struct Publication {
  bool exists = false;
  bool all_tables = false;
  bool has_schemas = false;
  bool via_root = false;
  bool is_owned = false;
  bool knows_generated = false;      // the server has the option publish_generated_columns
  bool publishes_generated = false;  // and it is: stored
  std::vector<TableFacts> tables;
};
// The publication and its tables as the connection's snapshot has them.
base::Result<Publication> ReadPublication(Connection* connection, std::string_view name);
// Every table of users, unlogged ones and partitioned roots too, and what may be taken for one: views and
// foreign tables.
base::Result<std::vector<TableFacts>> ReadUserRelations(Connection* connection);

struct SlotState {
  bool exists = false;
  std::string plugin;
  std::string type;
  std::string database;
  bool active = false;
  int64_t active_pid = 0;
  std::string holder;      // who is behind active_pid, as far as the role may see
  std::string wal_status;  // reserved, extended, unreserved, lost
  std::optional<base::Lsn> confirmed_flush;
  int64_t lag_bytes = 0;       // WAL behind confirmed_flush
  int64_t retained_bytes = 0;  // WAL behind restart_lsn
};
base::Result<SlotState> ReadSlot(Connection* connection, std::string_view slot);

// A transaction whose end the creation of a slot waits for.
struct Blocker {
  int64_t pid = 0;  // 0: prepared
  std::string gid;
  std::string
      description;  // "process 4711 (psql, user app, database shop), idle in transaction for 00:05:00"
  std::string remedy;
};
base::Result<std::vector<Blocker>> FindSlotBlockers(Connection* connection);

// Next full transaction id, near those of the transactions to come.
base::Result<base::FullXid> ReadNextFullXid(Connection* connection);
// The end of flushed WAL; on a standby, of replayed WAL.
base::Result<base::Lsn> ReadWalEnd(Connection* connection);

}  // namespace varve::pg
