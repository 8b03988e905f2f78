// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <cstdint>
#include <string_view>

#include "sidecar/base/result.h"
#include "sidecar/bus/pull_socket.h"
#include "sidecar/ingest/applier.h"
#include "sidecar/ingest/batch_order.h"

namespace varve::ingest {

// What one session gets with transport zmq, in the order in which it may be applied: batches from the bus,
// and positions of keepalives where they hold. Borrows the socket. Ingest thread only. After an error the
// session must end.
class BusFeed {
 public:
  BusFeed(bus::PullSocket* socket, wire::SessionId session)
      : socket_(socket), session_(session), order_(session) {}

  // What came in the COPY stream. Errors: kInvalidArgument for what is no marker of the session.
  base::Status Marker(std::string_view message);
  void Keepalive(base::Lsn position);
  // The end of WAL, and when it was asked for: BatchOrder::SawWalEnd.
  void SawWalEnd(base::Lsn end, int64_t asked_ms) { order_.SawWalEnd(end, asked_ms); }

  enum class Outcome { kItem, kDropped, kNothing };
  // The next thing to apply, if it is here. kDropped: there was a message that is not of this session.
  // kNothing: all that had arrived was taken; only then socket->fd() tells of more. Errors: kUnavailable for
  // batches that are missing or repeated, and when the socket fails.
  base::Result<Outcome> Next(int64_t now_ms, Received* item);
  // For as long as Next is not called because there is no room.
  void HoldUp() { order_.HoldUp(); }

  bool missing() const { return order_.missing(); }
  // A keepalive should be asked for.
  bool Late(int64_t now_ms) const { return order_.Late(now_ms); }
  int fd() const { return socket_->fd(); }

 private:
  bus::PullSocket* const socket_;
  const wire::SessionId session_;
  BatchOrder order_;
  base::Lsn keepalive_seen_;
};

}  // namespace varve::ingest
