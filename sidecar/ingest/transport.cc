// SPDX-License-Identifier: PostgreSQL
#include "sidecar/ingest/transport.h"

#include <utility>

#include "sidecar/bus/endpoint.h"

namespace varve::ingest {

using base::ErrorCode;

base::Result<Transport> ChooseTransport(const Options& options, const pg::ServerSettings& settings,
                                        const std::string& failed, Trouble* trouble) {
  Transport transport;
  if (options.transport == TransportChoice::kStream) return transport;
  const bool automatic = options.transport == TransportChoice::kAuto;
  if (automatic && !failed.empty()) {
    transport.reason = failed;
    return transport;
  }
  const auto fault = bus::FaultOfSetting(options.endpoint, settings.ingest_endpoint, settings.database_oid,
                                         settings.shares_machine);
  if (fault) {
    if (!automatic) {
      return trouble->Refuse(ErrorCode::kInvalidArgument, "transport zmq cannot be used: " + fault->message,
                             fault->remedy);
    }
    transport.reason = fault->message;
    return transport;
  }
  std::string remedy;
  auto bound = bus::PullSocket::Bind(options.endpoint, &remedy);
  if (bound) {
    transport.bus = *std::move(bound);
    return transport;
  }
  if (!automatic) return trouble->Wait(bound.error().message, std::move(remedy));
  transport.reason = bound.error().message;
  return transport;
}

bool MayBeOfBus(const pg::ServerError& error) {
  // Without a code the connection broke. 55006: the slot is in use. 57: the server ends it.
  return !error.sqlstate.empty() && error.sqlstate != "55006" && error.sqlstate.substr(0, 2) != "57";
}

}  // namespace varve::ingest
