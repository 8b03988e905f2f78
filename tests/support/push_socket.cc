// SPDX-License-Identifier: PostgreSQL
#include "tests/support/push_socket.h"

#include <zmq.hpp>

namespace varve::test {

struct PushSocket::Rep {
  zmq::context_t context{1};
  zmq::socket_t socket{context, zmq::socket_type::push};
};

PushSocket::PushSocket(const std::string& endpoint) : rep_(std::make_unique<Rep>()) {
  rep_->socket.set(zmq::sockopt::linger, 0);
  rep_->socket.set(zmq::sockopt::sndhwm, 8);
  rep_->socket.set(zmq::sockopt::immediate, true);
  rep_->socket.connect(endpoint);
}
PushSocket::~PushSocket() = default;

bool PushSocket::Send(const std::string& message, int timeout_ms) {
  rep_->socket.set(zmq::sockopt::sndtimeo, timeout_ms);
  return rep_->socket.send(zmq::buffer(message)).has_value();
}

}  // namespace varve::test
