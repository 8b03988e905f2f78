// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <string>

#include "sidecar/base/result.h"
#include "sidecar/pg/connection.h"
#include "sidecar/pg/server_state.h"
#include "sidecar/setup/setup.h"

namespace varve::setup {

// Whether changes can come over ZeroMQ: the server's setting, the directory of the socket, and whether the
// server's user reaches it. Never a failure: the replication connection does it too.
Check CheckIngestEndpoint(const pg::ServerSettings& settings, const Options& options);

// Sets varve.ingest_endpoint of a server on the same machine, where it is empty and the role is a superuser.
// What was done, or is left to do, goes to the report.
void SetEndpoint(pg::Connection* connection, const pg::ServerSettings& settings, const std::string& endpoint,
                 InitReport* report);

// Takes it back when it is our endpoint and ALTER SYSTEM has set it. What is left goes to the report.
void ResetEndpoint(pg::Connection* connection, const pg::ServerSettings& settings,
                   const std::string& endpoint, DetachReport* report);

}  // namespace varve::setup
