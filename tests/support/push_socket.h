// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <memory>
#include <string>

namespace varve::test {

// A ZeroMQ sender as the output plugin is one: holds little, and queues nothing for who is not there.
class PushSocket {
 public:
  explicit PushSocket(const std::string& endpoint);
  ~PushSocket();
  // False when it does not go away within the time.
  bool Send(const std::string& message, int timeout_ms = 5'000);

 private:
  struct Rep;
  const std::unique_ptr<Rep> rep_;
};

}  // namespace varve::test
