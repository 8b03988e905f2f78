// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "sidecar/base/clock.h"
#include "sidecar/base/result.h"
#include "sidecar/history/history.h"
#include "sidecar/ingest/status.h"

namespace varve::http {

struct Options {
  std::string socket = "/run/varve/main/http.sock";  // its directory must exist
  std::string listen;      // ADDRESS:PORT, empty: no TCP. Anything but loopback needs a token
  std::string token_file;  // holds the token that TCP requests carry; not readable by others
  // Bounds on what a peer can make us wait for.
  std::chrono::milliseconds idle_timeout = std::chrono::seconds(60);
  std::chrono::milliseconds request_timeout = std::chrono::seconds(10);
  std::chrono::milliseconds write_timeout = std::chrono::seconds(30);
  // How long a connection above the limit waits for room before it is refused.
  std::chrono::milliseconds room_timeout = std::chrono::seconds(1);
};

// Null while the history is closed. Thread-safe. What it hands out stays open until it is given back, so who
// closes the history waits until nobody uses it any more.
using HistoryProvider = std::function<std::shared_ptr<history::History>()>;

// The HTTP interface of varved. Owns its sockets and threads (one that accepts, one a connection, at most
// 64); borrows `ingest` and `clock`, which outlive it. Thread-safe. Trouble with one connection ends that
// connection only.
class Server {
 public:
  // Listens and starts to answer. Errors: kInvalidArgument for options that cannot be or a token file that
  // others can read, kExists when another varved answers on the socket, kUnavailable when an address cannot
  // be listened on.
  static base::Result<std::unique_ptr<Server>> Start(const Options& options, HistoryProvider history,
                                                     ingest::StatusSource* ingest, const base::Clock* clock);
  // Stops.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Cuts what is still being answered, joins all threads and removes the socket file. Idempotent.
  void Stop();

  // The TCP port that is listened on, 0 without TCP.
  uint16_t port() const;

 private:
  class Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace varve::http
