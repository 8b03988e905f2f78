// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <memory>
#include <string>

#include "sidecar/base/result.h"
#include "sidecar/bus/pull_socket.h"
#include "sidecar/ingest/ingest.h"
#include "sidecar/ingest/trouble.h"
#include "sidecar/pg/error.h"
#include "sidecar/pg/server_state.h"

namespace varve::ingest {

// The way of one session's batches.
struct Transport {
  std::unique_ptr<bus::PullSocket> bus;  // null: the COPY stream
  std::string reason;                    // why transport auto came to the stream
};

// What the configuration and the server make possible, with the socket bound. `failed`: why the bus failed in
// the session before; transport auto then keeps off it for this one. Errors: of transport zmq only, which
// refuses where auto takes the stream.
base::Result<Transport> ChooseTransport(const Options& options, const pg::ServerSettings& settings,
                                        const std::string& failed, Trouble* trouble);

// Whether the server's error may be one of transport zmq, so that the stream may do better.
bool MayBeOfBus(const pg::ServerError& error);

}  // namespace varve::ingest
