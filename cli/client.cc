// SPDX-License-Identifier: PostgreSQL
#include "cli/client.h"

#include <array>

#include <fmt/format.h>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include "cli/json.h"

namespace varve::cli {

using base::ErrorCode;
using base::Fail;

namespace {

namespace asio = boost::asio;
namespace beast_http = boost::beast::http;
using boost::system::error_code;
using Unix = asio::local::stream_protocol;

constexpr size_t kPieceBytes = size_t{64} << 10;
constexpr size_t kRefusalBytesMax = size_t{1} << 20;

void AppendEncoded(std::string_view text, std::string* out) {
  for (const char c : text) {
    const bool plain = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '.' || c == '_' || c == '~';
    if (plain) {
      *out += c;
    } else {
      *out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
}

Refusal RefusalOf(int status, const std::string& body) {
  if (const base::Result<JsonObject> object = JsonObject::Parse(body)) {
    const JsonObject error = object->Object("error");
    if (error.Has("code")) return Refusal{error.Text("code"), error.Text("message")};
  }
  return Refusal{"internal", fmt::format("HTTP status {} with a body that is none of varved's", status)};
}

std::string HeaderOf(const beast_http::fields& fields, std::string_view name) {
  const auto value = fields[name];
  return std::string(value.data(), value.size());
}

// One request on an open connection.
template <typename Socket>
class Exchange {
 public:
  explicit Exchange(Socket* socket) : socket_(socket) {
    parser_.body_limit(boost::none);
    parser_.get().body().data = nullptr;
  }

  base::Status Write(const ClientRequest& request, const std::string& host, const std::string& token) {
    beast_http::request<beast_http::string_body> message(beast_http::string_to_verb(request.method),
                                                         TargetOf(request), 11);
    message.set(beast_http::field::host, host);
    message.set(beast_http::field::accept, request.accept);
    message.set(beast_http::field::user_agent, "varve");
    if (!token.empty()) message.set(beast_http::field::authorization, "Bearer " + token);
    if (!request.body.empty()) message.set(beast_http::field::content_type, "application/json");
    message.body() = request.body;
    message.keep_alive(false);
    message.prepare_payload();
    error_code error;
    beast_http::write(*socket_, message, error);
    // The server may have refused before it read everything: its answer says why.
    if (error && error != asio::error::broken_pipe && error != asio::error::connection_reset) {
      return Fail(ErrorCode::kInternal, "the request could not be sent: " + error.message());
    }
    return {};
  }

  base::Result<ClientAnswer> ReadHead() {
    error_code error;
    beast_http::read_header(*socket_, buffer_, parser_, error);
    if (error) return Fail(ErrorCode::kInternal, "varved did not answer: " + error.message());
    ClientAnswer answer;
    answer.status = parser_.get().result_int();
    const beast_http::fields& fields = parser_.get();
    answer.position = HeaderOf(fields, "Varve-Position");
    answer.time = HeaderOf(fields, "Varve-Time");
    answer.lag_bytes = HeaderOf(fields, "Varve-Lag-Bytes");
    answer.lag_seconds = HeaderOf(fields, "Varve-Lag-Seconds");
    return answer;
  }

  // Errors: kInternal when the body ends too early.
  base::Status ReadBody(const std::function<bool(std::string_view)>& on_part) {
    std::array<char, kPieceBytes> piece;
    while (!parser_.is_done()) {
      auto& body = parser_.get().body();
      body.data = piece.data();
      body.size = piece.size();
      error_code error;
      beast_http::read(*socket_, buffer_, parser_, error);
      if (error == beast_http::error::need_buffer) error = {};
      const std::string_view part(piece.data(), piece.size() - body.size);
      if (!part.empty() && !on_part(part)) return {};
      if (error) {
        return Fail(ErrorCode::kInternal, "the answer was cut before its end: " + error.message());
      }
    }
    return {};
  }

 private:
  Socket* const socket_;
  boost::beast::flat_buffer buffer_;
  beast_http::response_parser<beast_http::buffer_body> parser_;
};

template <typename Socket>
base::Result<ClientAnswer> Ask(Socket* socket, const ClientRequest& request, const std::string& host,
                               const std::string& token,
                               const std::function<void(const ClientAnswer&)>& on_head,
                               const std::function<bool(std::string_view)>& on_part) {
  Exchange<Socket> exchange(socket);
  RETURN_IF_ERROR(exchange.Write(request, host, token));
  ASSIGN_OR_RETURN(ClientAnswer answer, exchange.ReadHead());
  if (answer.status >= 300) {
    std::string body;
    RETURN_IF_ERROR(exchange.ReadBody([&body](std::string_view part) {
      body.append(part);
      return body.size() <= kRefusalBytesMax;
    }));
    answer.refusal = RefusalOf(answer.status, body);
    return answer;
  }
  on_head(answer);
  RETURN_IF_ERROR(exchange.ReadBody(on_part));
  return answer;
}

}  // namespace

std::string TargetOf(const ClientRequest& request) {
  std::string target;
  for (const std::string& segment : request.path) {
    target += '/';
    AppendEncoded(segment, &target);
  }
  char separator = '?';
  for (const auto& [name, value] : request.parameters) {
    target += separator;
    separator = '&';
    AppendEncoded(name, &target);
    target += '=';
    AppendEncoded(value, &target);
  }
  return target;
}

base::Result<Client> Client::Make(std::string_view server, std::string token) {
  Client client;
  client.token_ = std::move(token);
  constexpr std::string_view kUnix = "unix:";
  constexpr std::string_view kHttp = "http://";
  if (server.substr(0, kHttp.size()) == kHttp) {
    std::string_view address = server.substr(kHttp.size());
    while (!address.empty() && address.back() == '/') address.remove_suffix(1);
    const size_t colon = address.rfind(':');
    if (colon == std::string_view::npos || colon == 0 || colon + 1 == address.size()) {
      return Fail(ErrorCode::kInvalidArgument, fmt::format("--server {}: write http://HOST:PORT", server));
    }
    client.host_ = address.substr(0, colon);
    client.port_ = address.substr(colon + 1);
    if (client.host_.size() > 2 && client.host_.front() == '[' && client.host_.back() == ']') {
      client.host_ = client.host_.substr(1, client.host_.size() - 2);
    }
    return client;
  }
  if (server.substr(0, kUnix.size()) == kUnix) server.remove_prefix(kUnix.size());
  if (server.empty() || server.find("://") != std::string_view::npos) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("--server {}: write the path of varved's socket, or http://HOST:PORT", server));
  }
  client.unix_path_ = server;
  return client;
}

base::Result<ClientAnswer> Client::Send(const ClientRequest& request,
                                        const std::function<void(const ClientAnswer&)>& on_head,
                                        const std::function<bool(std::string_view)>& on_part) const {
  asio::io_context io;
  error_code error;
  if (!unix_path_.empty()) {
    if (unix_path_.size() >= 108) {  // sizeof(sockaddr_un::sun_path)
      return Fail(ErrorCode::kInvalidArgument,
                  fmt::format("the path of the socket is too long: {}", unix_path_));
    }
    Unix::socket socket(io);
    socket.connect(Unix::endpoint(unix_path_), error);
    if (error) {
      return Fail(ErrorCode::kUnavailable,
                  fmt::format("varved cannot be reached at {}: {}", unix_path_, error.message()));
    }
    return Ask(&socket, request, "localhost", token_, on_head, on_part);
  }
  asio::ip::tcp::resolver resolver(io);
  const auto endpoints = resolver.resolve(host_, port_, error);
  asio::ip::tcp::socket socket(io);
  if (!error) asio::connect(socket, endpoints, error);
  if (error) {
    return Fail(ErrorCode::kUnavailable,
                fmt::format("varved cannot be reached at {}:{}: {}", host_, port_, error.message()));
  }
  const std::string host = host_.find(':') != std::string::npos ? fmt::format("[{}]", host_) : host_;
  return Ask(&socket, request, host + ":" + port_, token_, on_head, on_part);
}

}  // namespace varve::cli
