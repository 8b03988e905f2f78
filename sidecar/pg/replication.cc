// SPDX-License-Identifier: PostgreSQL
#include "sidecar/pg/replication.h"

#include <charconv>

#include <fmt/format.h>

#include "sidecar/pg/big_endian.h"

namespace varve::pg {
namespace {

using base::ErrorCode;
using base::Fail;

constexpr size_t kXLogDataHeaderBytes = 1 + 8 + 8 + 8;
constexpr size_t kKeepaliveBytes = 1 + 8 + 8 + 1;

tl::unexpected<base::Error> Unexpected(std::string what) {
  return Fail(ErrorCode::kInvalidArgument, "the server sent " + std::move(what));
}

base::Lsn LsnAt(std::string_view message, size_t offset) {
  return base::Lsn{ReadBigEndian<uint64_t>(message, offset)};
}

}  // namespace

base::Result<std::variant<XLogData, Keepalive>> ParseReplicationMessage(std::string_view message) {
  using Message = std::variant<XLogData, Keepalive>;
  if (message.empty()) return Unexpected("an empty replication message");
  if (message[0] == 'w') {
    if (message.size() < kXLogDataHeaderBytes) return Unexpected("a data message cut within its header");
    return Message(XLogData{LsnAt(message, 1), LsnAt(message, 9),
                            base::Timestamp{ReadBigEndian<int64_t>(message, 17)},
                            message.substr(kXLogDataHeaderBytes)});
  }
  if (message[0] == 'k') {
    if (message.size() != kKeepaliveBytes) {
      return Unexpected(
          fmt::format("a keepalive of {} bytes where {} belong", message.size(), kKeepaliveBytes));
    }
    return Message(
        Keepalive{LsnAt(message, 1), base::Timestamp{ReadBigEndian<int64_t>(message, 9)}, message[17] != 0});
  }
  return Unexpected(
      fmt::format("a replication message of unknown kind {:#04x}", static_cast<unsigned char>(message[0])));
}

std::array<char, kStandbyStatusBytes> EncodeStandbyStatus(const StandbyStatus& status) {
  std::array<char, kStandbyStatusBytes> message{};
  message[0] = 'r';
  WriteBigEndian(status.write.value, &message[1]);
  WriteBigEndian(status.flush.value, &message[9]);
  WriteBigEndian(status.flush.value, &message[17]);  // applied: what is durable is visible
  WriteBigEndian(status.now.micros, &message[25]);
  message[33] = status.reply_requested ? 1 : 0;
  return message;
}

base::Result<SystemIdentity> IdentifySystem(Connection* connection) {
  ASSIGN_OR_RETURN(const Rows rows, connection->Query("IDENTIFY_SYSTEM"));
  if (rows.size() != 1) return Unexpected("no answer to IDENTIFY_SYSTEM");
  SystemIdentity identity;
  const std::string_view number = rows.Text(0, 0);
  const auto parsed =
      std::from_chars(number.data(), number.data() + number.size(), identity.system_identifier);
  const auto flushed = base::ParseLsn(rows.Text(0, 2));
  if (parsed.ec != std::errc() || !flushed)
    return Unexpected("an answer to IDENTIFY_SYSTEM that is no answer");
  identity.timeline = static_cast<uint32_t>(rows.Int(0, 1));
  identity.flushed = *flushed;
  identity.database = rows.Text(0, 3);
  return identity;
}

std::string CreateSlotCommand(std::string_view slot, std::string_view plugin) {
  return fmt::format("CREATE_REPLICATION_SLOT {} LOGICAL {} (SNAPSHOT 'export', TWO_PHASE true)",
                     QuoteIdentifier(slot), QuoteIdentifier(plugin));
}

base::Result<CreatedSlot> ReadCreatedSlot(const Rows& rows) {
  if (rows.size() != 1) return Unexpected("no answer to CREATE_REPLICATION_SLOT");
  const auto point = base::ParseLsn(rows.Text(0, 1));
  if (!point || rows.Text(0, 2).empty()) {
    return Unexpected("no consistent point or no snapshot for the new slot");
  }
  return CreatedSlot{*point, std::string(rows.Text(0, 2))};
}

std::string StartReplicationCommand(std::string_view slot, base::Lsn start,
                                    const std::vector<std::pair<std::string, std::string>>& options) {
  std::string command =
      fmt::format("START_REPLICATION SLOT {} LOGICAL {} (", QuoteIdentifier(slot), base::FormatLsn(start));
  std::string_view separator;
  for (const auto& [name, value] : options) {
    // The replication grammar knows '' within a string and no E'…'.
    std::string quoted;
    for (const char c : value) quoted.append(c == '\'' ? 2 : 1, c);
    command += fmt::format("{}{} '{}'", separator, QuoteIdentifier(name), quoted);
    separator = ", ";
  }
  return command + ")";
}

}  // namespace varve::pg
