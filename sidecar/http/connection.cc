// SPDX-License-Identifier: PostgreSQL
#include "sidecar/http/connection.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>

#include <fmt/format.h>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include "sidecar/http/dispatch.h"
#include "sidecar/http/error_response.h"

namespace varve::http {
namespace {

namespace asio = boost::asio;
namespace beast_http = boost::beast::http;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;
using base::ErrorCode;
using base::Fail;

constexpr size_t kPieceBytes = size_t{64} << 10;
constexpr size_t kReadBufferBytesMax = kHeaderBytesMax + kPieceBytes;
// After an error the rest of a request is read and dropped, so that its sender gets to see the answer.
constexpr std::chrono::milliseconds kDrainTime(500);
constexpr size_t kDrainBytesMax = 4 * kBodyBytesMax;

// A socket with one deadline for whatever is read or written until it is set again: what Beast's synchronous
// calls need and its own stream has for asynchronous ones only.
class DeadlineSocket {
 public:
  using executor_type = asio::any_io_executor;

  explicit DeadlineSocket(int fd) : fd_(fd) {}

  void ExpireAfter(std::chrono::milliseconds timeout) { deadline_ = Clock::now() + timeout; }

  // False when the deadline passed first.
  bool WaitReadable() const { return Wait(POLLIN); }

  template <typename Buffers>
  size_t read_some(const Buffers& buffers, error_code& error) {
    return Transfer(
        buffers, POLLIN, [this](msghdr* message) { return recvmsg(fd_, message, MSG_DONTWAIT); }, &error);
  }
  template <typename Buffers>
  size_t write_some(const Buffers& buffers, error_code& error) {
    return Transfer(
        buffers, POLLOUT,
        [this](msghdr* message) { return sendmsg(fd_, message, MSG_DONTWAIT | MSG_NOSIGNAL); }, &error);
  }
  // Beast's concepts ask for the throwing forms too; nothing calls them.
  template <typename Buffers>
  size_t read_some(const Buffers& buffers);
  template <typename Buffers>
  size_t write_some(const Buffers& buffers);

 private:
  bool Wait(short events) const {
    while (true) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - Clock::now()).count();
      if (left <= 0) return false;
      pollfd entry{fd_, events, 0};
      const int ready = poll(&entry, 1, static_cast<int>(left));
      if (ready > 0) return true;
      if (ready < 0 && errno != EINTR) return true;  // the call that follows says what is wrong
    }
  }

  template <typename Buffers, typename Call>
  size_t Transfer(const Buffers& buffers, short events, Call call, error_code* error) {
    std::array<iovec, 16> parts;
    size_t count = 0;
    for (auto i = asio::buffer_sequence_begin(buffers);
         i != asio::buffer_sequence_end(buffers) && count < parts.size(); ++i) {
      const auto part = *i;  // Beast's iterators have no ->
      if (part.size() != 0) parts[count++] = iovec{const_cast<void*>(part.data()), part.size()};
    }
    *error = {};
    if (count == 0) return 0;
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = count;
    while (true) {
      const ssize_t done = call(&message);
      if (done > 0) return static_cast<size_t>(done);
      if (done == 0) {
        *error = asio::error::eof;
        return 0;
      }
      if (errno == EINTR) continue;
      if (errno != EAGAIN && errno != EWOULDBLOCK) {
        *error = error_code(errno, boost::system::system_category());
        return 0;
      }
      if (!Wait(events)) {
        *error = asio::error::timed_out;
        return 0;
      }
    }
  }

  const int fd_;
  Clock::time_point deadline_;
};

// Writes one answer with Beast's serializer: with its length, in chunks, or up to the end of the connection
// for HTTP/1.0.
class ConnectionWriter : public ResponseWriter {
 public:
  ConnectionWriter(DeadlineSocket* socket, std::chrono::milliseconds timeout, RequestCounters* counters,
                   unsigned version, bool keep_alive)
      : socket_(socket), timeout_(timeout), counters_(counters), version_(version), keep_alive_(keep_alive) {}

  base::Status Send(const ResponseHead& head, std::string_view body) override {
    RETURN_IF_ERROR(WriteHead(head, body.size()));
    RETURN_IF_ERROR(WriteBytes(body));
    complete_ = true;
    return {};
  }

  base::Status Begin(const ResponseHead& head) override {
    chunked_ = version_ >= 11;
    if (!chunked_) keep_alive_ = false;
    return WriteHead(head, std::nullopt);
  }

  base::Status Write(std::string_view part) override {
    if (!chunked_) return WriteBytes(part);
    for (size_t at = 0; at < part.size(); at += kPieceBytes) {
      const std::string_view piece = part.substr(at, kPieceBytes);
      RETURN_IF_ERROR(WriteBuffers(beast_http::make_chunk(asio::buffer(piece.data(), piece.size()))));
    }
    return {};
  }

  base::Status End() override {
    if (chunked_) RETURN_IF_ERROR(WriteBuffers(beast_http::make_chunk_last()));
    complete_ = true;
    return {};
  }

  // The answer reached its end and another request may follow on the connection.
  bool reusable() const { return complete_ && keep_alive_; }
  bool complete() const { return complete_; }

 private:
  base::Status WriteHead(const ResponseHead& head, std::optional<size_t> length) {
    beast_http::response<beast_http::empty_body> response(static_cast<beast_http::status>(head.status),
                                                          version_);
    response.set(beast_http::field::server, "varved");
    response.set(beast_http::field::content_type, head.content_type);
    response.set(beast_http::field::cache_control, "no-store");
    response.set("X-Content-Type-Options", "nosniff");
    for (const auto& [name, value] : head.headers) response.set(name, value);
    if (length) {
      response.content_length(*length);
    } else {
      response.chunked(chunked_);
    }
    response.keep_alive(keep_alive_);
    counters_->answered[static_cast<size_t>(head.status) / 100].fetch_add(1);
    beast_http::response_serializer<beast_http::empty_body> serializer(response);
    serializer.split(true);
    socket_->ExpireAfter(timeout_);
    error_code error;
    beast_http::write_header(*socket_, serializer, error);
    return StatusOf(error);
  }

  base::Status WriteBytes(std::string_view bytes) {
    for (size_t at = 0; at < bytes.size(); at += kPieceBytes) {
      const std::string_view piece = bytes.substr(at, kPieceBytes);
      RETURN_IF_ERROR(WriteBuffers(asio::buffer(piece.data(), piece.size())));
    }
    return {};
  }

  template <typename Buffers>
  base::Status WriteBuffers(const Buffers& buffers) {
    socket_->ExpireAfter(timeout_);
    error_code error;
    asio::write(*socket_, buffers, error);
    return StatusOf(error);
  }

  static base::Status StatusOf(const error_code& error) {
    if (!error) return {};
    if (error == asio::error::timed_out) return Fail(ErrorCode::kUnavailable, "the reader does not read");
    return Fail(ErrorCode::kUnavailable, "the reader is gone");
  }

  DeadlineSocket* const socket_;
  const std::chrono::milliseconds timeout_;
  RequestCounters* const counters_;
  const unsigned version_;
  bool keep_alive_;
  bool chunked_ = false;
  bool complete_ = false;
};

using Parser = beast_http::request_parser<beast_http::string_body>;

Method MethodOf(beast_http::verb verb) {
  switch (verb) {
    case beast_http::verb::get: return Method::kGet;
    case beast_http::verb::post: return Method::kPost;
    case beast_http::verb::delete_: return Method::kDelete;
    default: return Method::kOther;
  }
}

// The error that a request which cannot be read is answered with; nothing when nobody waits for an answer.
std::optional<base::Error> ErrorOf(const error_code& error) {
  if (error == beast_http::error::header_limit || error == beast_http::error::buffer_overflow) {
    return base::Error{ErrorCode::kTooLarge,
                       fmt::format("the request's header is larger than {} bytes", kHeaderBytesMax)};
  }
  if (error == beast_http::error::body_limit) {
    return base::Error{ErrorCode::kTooLarge,
                       fmt::format("the request's body is larger than {} bytes", kBodyBytesMax)};
  }
  if (error == beast_http::error::end_of_stream || error == beast_http::error::partial_message) {
    return std::nullopt;
  }
  if (error == asio::error::timed_out) {
    return base::Error{ErrorCode::kInvalidArgument, "the request did not arrive whole in time"};
  }
  if (error.category() == beast_http::make_error_code(beast_http::error::bad_method).category()) {
    return base::Error{ErrorCode::kInvalidArgument,
                       fmt::format("this is no HTTP/1.1 request: {}", error.message())};
  }
  return std::nullopt;
}

class Connection {
 public:
  Connection(int fd, bool tcp, const Context& context, const ConnectionTimeouts& timeouts,
             ConnectionState* state)
      : fd_(fd), tcp_(tcp), context_(context), timeouts_(timeouts), state_(state), socket_(fd) {}

  void Serve() {
    while (!context_.stopping->load() && AwaitRequest() && ServeOne()) {
    }
    shutdown(fd_, SHUT_RDWR);
  }

 private:
  // False when none comes.
  bool AwaitRequest() {
    state_->idle_since = Clock::now().time_since_epoch().count();
    state_->idle = true;
    socket_.ExpireAfter(timeouts_.idle);
    const bool ready = buffer_.size() > 0 || socket_.WaitReadable();
    state_->idle = false;
    return ready;
  }

  // False when the connection is over.
  bool ServeOne() {
    Parser parser;
    parser.header_limit(kHeaderBytesMax);
    parser.body_limit(kBodyBytesMax);
    socket_.ExpireAfter(timeouts_.request);
    error_code error;
    beast_http::read_header(socket_, buffer_, parser, error);
    if (!error && parser.get().target().size() > kTargetBytesMax) {
      Refuse(base::Error{ErrorCode::kTooLarge,
                         fmt::format("the request's target is longer than {} bytes", kTargetBytesMax)});
      return false;
    }
    if (!error) error = ReadBody(&parser);
    if (error) {
      if (const std::optional<base::Error> answer = ErrorOf(error)) Refuse(*answer);
      return false;
    }
    return Answer(parser.release());
  }

  error_code ReadBody(Parser* parser) {
    error_code error;
    if (parser->is_done()) return error;
    if (parser->get()[beast_http::field::expect] == "100-continue") {
      beast_http::response<beast_http::empty_body> go_on(beast_http::status::continue_, 11);
      beast_http::write(socket_, go_on, error);
      if (error) return error;
    }
    beast_http::read(socket_, buffer_, *parser, error);
    return error;
  }

  bool Answer(beast_http::request<beast_http::string_body> message) {
    Request request;
    request.method = MethodOf(message.method());
    request.target = message.target();
    request.accept = message[beast_http::field::accept];
    request.authorization = message[beast_http::field::authorization];
    request.content_type = message[beast_http::field::content_type];
    request.host = message[beast_http::field::host];
    request.body = std::move(message.body());
    request.tcp = tcp_;
    ConnectionWriter writer(&socket_, timeouts_.write, context_.counters, message.version(),
                            message.keep_alive() && !context_.stopping->load());
    Dispatch(context_, &request, &writer);
    if (!writer.complete()) context_.counters->cut.fetch_add(1);
    return writer.reusable();
  }

  void Refuse(const base::Error& error) {
    ConnectionWriter writer(&socket_, timeouts_.write, context_.counters, 11, false);
    if (!SendError(error, {}, &writer)) return;
    shutdown(fd_, SHUT_WR);
    socket_.ExpireAfter(kDrainTime);
    std::array<char, 4096> dropped;
    error_code ended;
    for (size_t total = 0; !ended && total < kDrainBytesMax;) {
      total += socket_.read_some(asio::buffer(dropped), ended);
    }
  }

  const int fd_;
  const bool tcp_;
  const Context& context_;
  const ConnectionTimeouts& timeouts_;
  ConnectionState* const state_;
  DeadlineSocket socket_;
  boost::beast::flat_buffer buffer_{kReadBufferBytesMax};
};

}  // namespace

void ServeConnection(int fd, bool tcp, const Context& context, const ConnectionTimeouts& timeouts,
                     ConnectionState* state) {
  Connection(fd, tcp, context, timeouts, state).Serve();
}

}  // namespace varve::http
