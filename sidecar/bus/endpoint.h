// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sidecar/base/result.h"

namespace varve::bus {

// An endpoint is ipc:// and the absolute path of a Unix socket.
// Errors: kInvalidArgument for another scheme, a relative path, or one that is too long for a socket.
base::Status CheckEndpoint(std::string_view endpoint);

// The path within an endpoint. REQUIRES: CheckEndpoint.
std::string PathOf(std::string_view endpoint);

// The endpoint beside the socket of HTTP; empty where its path would be too long.
std::string DefaultEndpoint(std::string_view http_socket);

// What the server makes of its setting varve.ingest_endpoint in one database: %d is the database's oid.
std::string ExpandEndpoint(std::string_view setting, uint32_t database_oid);

// Why a socket in this directory cannot be trusted or used: the directory is missing, or open to everybody;
// nothing when it is in order.
struct Fault {
  std::string message;
  std::string remedy;
};
std::optional<Fault> FaultOfDirectory(const std::string& directory);
// Why that user may not connect to the socket, or to one that is yet to be made; nothing when it may.
std::optional<Fault> FaultForUser(const std::string& path, uid_t user);

// How the server's setting is written for this endpoint, in which no % has a meaning of its own.
std::string SettingFor(std::string_view endpoint);

// Why the server does not send to our endpoint; nothing when it does. `setting`: varve.ingest_endpoint as it
// is written in the server.
std::optional<Fault> FaultOfSetting(std::string_view endpoint, std::string_view setting,
                                    uint32_t database_oid, bool shares_machine);

}  // namespace varve::bus
