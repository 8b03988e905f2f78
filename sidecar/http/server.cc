// SPDX-License-Identifier: PostgreSQL
#include "sidecar/http/server.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <list>
#include <optional>
#include <system_error>
#include <thread>

#include <fmt/format.h>

#include "sidecar/base/log.h"
#include "sidecar/http/connection.h"
#include "sidecar/http/error_response.h"
#include "sidecar/http/listener.h"

namespace varve::http {

using base::ErrorCode;
using base::Fail;

namespace {

constexpr int kTickMs = 500;
// How long a connection must have been idle to be ended for another one.
constexpr std::chrono::milliseconds kRoomPoll(5);
constexpr std::chrono::milliseconds kIdleBeforeEnd(100);

}  // namespace

class Server::Impl {
 public:
  Impl(const Options& options, HistoryProvider history, ingest::StatusSource* ingest,
       const base::Clock* clock)
      : options_(options), monitor_(clock) {
    context_.history = std::move(history);
    context_.ingest = ingest;
    context_.clock = clock;
    context_.monitor = &monitor_;
    context_.counters = &counters_;
    context_.stopping = &stopping_;
    timeouts_ = ConnectionTimeouts{options.idle_timeout, options.request_timeout, options.write_timeout};
  }
  ~Impl() { Stop(); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  base::Status Start() {
    if (!options_.token_file.empty()) {
      ASSIGN_OR_RETURN(context_.token, ReadToken(options_.token_file));
    }
    TcpAddress address;
    if (!options_.listen.empty()) {
      ASSIGN_OR_RETURN(address, ParseTcpAddress(options_.listen));
      if (!address.loopback && context_.token.empty()) {
        return Fail(
            ErrorCode::kInvalidArgument,
            fmt::format("[http] listen {} can be reached from other machines: set [http] token_file, or "
                        "listen on 127.0.0.1",
                        options_.listen));
      }
    }
    wake_ = Descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!wake_.valid())
      return Fail(ErrorCode::kUnavailable, fmt::format("eventfd: {}", std::strerror(errno)));
    ASSIGN_OR_RETURN(unix_, ListenUnix(options_.socket));
    unix_bound_ = true;
    if (!options_.listen.empty()) {
      ASSIGN_OR_RETURN(tcp_, ListenTcp(address));
    }
    accept_thread_ = std::thread([this] { AcceptLoop(); });
    return {};
  }

  void Stop() {
    stopping_ = true;
    if (wake_.valid()) {
      const uint64_t one = 1;
      (void)!write(wake_.get(), &one, sizeof(one));
    }
    if (accept_thread_.joinable()) accept_thread_.join();
    for (Connection& connection : connections_) shutdown(connection.fd.get(), SHUT_RDWR);
    for (Connection& connection : connections_) connection.thread.join();
    connections_.clear();
    if (unix_bound_) unlink(options_.socket.c_str());
    unix_bound_ = false;
    unix_.Close();
    tcp_.Close();
  }

  uint16_t port() const { return tcp_.valid() ? PortOf(tcp_) : 0; }

 private:
  struct Connection {
    Descriptor fd;
    std::thread thread;
    ConnectionState state;
    std::atomic<bool> finished{false};
  };

  void AcceptLoop() {
    while (!stopping_.load()) {
      std::array<pollfd, 3> entries = {pollfd{wake_.get(), POLLIN, 0}, pollfd{unix_.get(), POLLIN, 0},
                                       pollfd{tcp_.get(), POLLIN, 0}};
      poll(entries.data(), tcp_.valid() ? 3 : 2, kTickMs);
      Reap();
      if ((entries[1].revents & POLLIN) != 0) Accept(unix_, false);
      if (tcp_.valid() && (entries[2].revents & POLLIN) != 0) Accept(tcp_, true);
      Sample();
    }
  }

  void Sample() {
    const auto now = std::chrono::steady_clock::now();
    if (now - sampled_ < std::chrono::milliseconds(kTickMs)) return;
    sampled_ = now;
    const std::shared_ptr<history::History> history = context_.history();
    if (history) monitor_.Sample(history->GetStatus(), context_.ingest->GetStatus());
  }

  void Accept(const Descriptor& listener, bool tcp) {
    Descriptor peer(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!peer.valid()) {
      // Out of descriptors: the connection stays in the backlog, and polling at once would spin.
      if (errno == EMFILE || errno == ENFILE) std::this_thread::sleep_for(std::chrono::milliseconds(50));
      return;
    }
    if (!MakeRoom()) {
      counters_.refused.fetch_add(1);
      Refuse(peer);
      return;
    }
    Connection& connection = connections_.emplace_back();
    connection.fd = std::move(peer);
    connection.state.idle_since = std::chrono::steady_clock::now().time_since_epoch().count();
    counters_.connections = connections_.size();
    try {
      connection.thread = std::thread([this, tcp, &connection] {
        ServeConnection(connection.fd.get(), tcp, context_, timeouts_, &connection.state);
        connection.finished = true;
      });
    } catch (const std::system_error&) {
      // The process may have no more threads.
      counters_.refused.fetch_add(1);
      Refuse(connection.fd);
      connections_.pop_back();
    }
  }

  void Reap() {
    for (auto i = connections_.begin(); i != connections_.end();) {
      if (i->finished.load()) {
        i->thread.join();
        i = connections_.erase(i);
      } else {
        ++i;
      }
    }
    counters_.connections = connections_.size();
  }

  // Waits for room, ending the connection that has been idle for longest. False when there is none: at once
  // when there has been none for a while, so that a crowd is not refused one a second.
  bool MakeRoom() {
    const auto began = std::chrono::steady_clock::now();
    while (true) {
      Reap();
      const auto now = std::chrono::steady_clock::now();
      if (connections_.size() < kConnectionsMax) {
        full_since_.reset();
        return true;
      }
      if (!full_since_) full_since_ = began;
      EndIdle();
      if (stopping_.load() || now - *full_since_ >= options_.room_timeout) return false;
      std::this_thread::sleep_for(kRoomPoll);
    }
  }

  // Whether something has arrived that its thread has not come to yet.
  static bool HasRequest(const Descriptor& peer) {
    char byte = 0;
    return recv(peer.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
  }

  void EndIdle() {
    Connection* longest = nullptr;
    for (Connection& connection : connections_) {
      if (!connection.state.idle.load() || HasRequest(connection.fd)) continue;
      if (longest == nullptr || connection.state.idle_since < longest->state.idle_since)
        longest = &connection;
    }
    if (longest == nullptr) return;
    const std::chrono::steady_clock::time_point since{
        std::chrono::steady_clock::duration(longest->state.idle_since.load())};
    if (std::chrono::steady_clock::now() - since >= kIdleBeforeEnd) shutdown(longest->fd.get(), SHUT_RDWR);
  }

  static void Refuse(const Descriptor& peer) {
    const std::string body = ErrorJson(
        base::Error{ErrorCode::kUnavailable,
                    fmt::format("{} connections are open, more are not served: try again", kConnectionsMax)});
    const std::string answer = fmt::format(
        "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nRetry-After: 1\r\n"
        "Connection: close\r\nContent-Length: {}\r\n\r\n{}",
        body.size(), body);
    (void)!send(peer.get(), answer.data(), answer.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    shutdown(peer.get(), SHUT_WR);
    // What the peer has sent is taken, so that closing does not throw the answer away.
    std::array<char, 4096> dropped;
    (void)!recv(peer.get(), dropped.data(), dropped.size(), MSG_DONTWAIT);
  }

  const Options options_;
  Context context_;
  ConnectionTimeouts timeouts_;
  Monitor monitor_;
  RequestCounters counters_;
  std::atomic<bool> stopping_{false};
  Descriptor wake_;
  Descriptor unix_;
  Descriptor tcp_;
  bool unix_bound_ = false;
  std::thread accept_thread_;
  std::chrono::steady_clock::time_point sampled_;
  std::optional<std::chrono::steady_clock::time_point> full_since_;  // accept thread only
  std::list<Connection> connections_;                                // accept thread only, and Stop after it
};

base::Result<std::unique_ptr<Server>> Server::Start(const Options& options, HistoryProvider history,
                                                    ingest::StatusSource* ingest, const base::Clock* clock) {
  auto impl = std::make_unique<Impl>(options, std::move(history), ingest, clock);
  RETURN_IF_ERROR(impl->Start());
  base::LogInfo("http: answering on {}{}", options.socket,
                options.listen.empty() ? "" : fmt::format(" and {}", options.listen));
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::~Server() = default;
void Server::Stop() { impl_->Stop(); }
uint16_t Server::port() const { return impl_->port(); }

}  // namespace varve::http
