// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <atomic>
#include <chrono>

#include "sidecar/http/context.h"

namespace varve::http {

inline constexpr size_t kHeaderBytesMax = size_t{16} << 10;
inline constexpr size_t kTargetBytesMax = size_t{8} << 10;
inline constexpr size_t kBodyBytesMax = size_t{1} << 20;
inline constexpr size_t kConnectionsMax = 64;

struct ConnectionTimeouts {
  std::chrono::milliseconds idle = std::chrono::seconds(60);     // between two requests
  std::chrono::milliseconds request = std::chrono::seconds(10);  // for a whole request to arrive
  std::chrono::milliseconds write = std::chrono::seconds(30);    // for the reader to take 64 KiB
};

// What the server looks at to make room when there are too many connections.
struct ConnectionState {
  std::atomic<bool> idle{true};  // waits for a request
  std::atomic<std::chrono::steady_clock::rep> idle_since{0};
};

// Answers the requests of one connection, one after the other, until the peer, a timeout or an error ends
// it. Leaves the descriptor open, shut down in both directions. Any thread, one a connection.
void ServeConnection(int fd, bool tcp, const Context& context, const ConnectionTimeouts& timeouts,
                     ConnectionState* state);

}  // namespace varve::http
