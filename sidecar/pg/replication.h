// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "sidecar/base/ids.h"
#include "sidecar/base/result.h"
#include "sidecar/pg/connection.h"

namespace varve::pg {

// The streaming replication protocol (PostgreSQL manual, "Streaming Replication Protocol").

// 'w': data of the output plugin. `payload` borrows from the message.
struct XLogData {
  base::Lsn start;  // what the plugin wrote it for; 0 when more of the same record follows
  base::Lsn end;
  base::Timestamp sent;
  std::string_view payload;
};

// 'k': how far the server has come.
struct Keepalive {
  base::Lsn end;
  base::Timestamp sent;
  bool reply_requested = false;
};

// Errors: kInvalidArgument for a message that is cut or of another kind.
base::Result<std::variant<XLogData, Keepalive>> ParseReplicationMessage(std::string_view message);

// 'r': what we have. flush is what the slot is confirmed up to.
struct StandbyStatus {
  base::Lsn write;
  base::Lsn flush;
  base::Timestamp now;
  bool reply_requested = false;
};
inline constexpr size_t kStandbyStatusBytes = 34;
std::array<char, kStandbyStatusBytes> EncodeStandbyStatus(const StandbyStatus& status);

struct SystemIdentity {
  uint64_t system_identifier = 0;
  uint32_t timeline = 0;
  base::Lsn flushed;  // end of WAL
  std::string database;
};
// IDENTIFY_SYSTEM on a replication connection.
base::Result<SystemIdentity> IdentifySystem(Connection* connection);

// CREATE_REPLICATION_SLOT … LOGICAL … (SNAPSHOT 'export', TWO_PHASE true), to be sent with Connection::Send.
std::string CreateSlotCommand(std::string_view slot, std::string_view plugin);
struct CreatedSlot {
  base::Lsn consistent_point;
  std::string snapshot;  // lives until the next command on the connection
};
base::Result<CreatedSlot> ReadCreatedSlot(const Rows& rows);

// START_REPLICATION SLOT … LOGICAL lsn (options).
std::string StartReplicationCommand(std::string_view slot, base::Lsn start,
                                    const std::vector<std::pair<std::string, std::string>>& options);

}  // namespace varve::pg
