// SPDX-License-Identifier: PostgreSQL
#include "sidecar/http/listener.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace varve::http {

using base::ErrorCode;
using base::Fail;

namespace {

constexpr int kBacklog = 128;
constexpr mode_t kSocketMode = 0660;
constexpr size_t kTokenBytesMin = 16;
constexpr size_t kTokenBytesMax = 1024;

std::string Reason(int error) { return std::strerror(error); }

base::Result<sockaddr_un> UnixAddress(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(address.sun_path)) {
    return Fail(
        ErrorCode::kInvalidArgument,
        fmt::format("[http] socket: the path \"{}\" has {} bytes, at most {} are possible: use a shorter one",
                    path, path.size(), sizeof(address.sun_path) - 1));
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

// Whether somebody answers on the socket file.
bool Answers(const sockaddr_un& address) {
  const Descriptor probe(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!probe.valid()) return true;
  if (connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) return true;
  // Only these say for certain that there is no listener.
  return errno != ECONNREFUSED && errno != ENOENT;
}

base::Status MakeRoom(const std::string& path, const sockaddr_un& address) {
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0) {
    if (errno == ENOENT) return {};
    return Fail(ErrorCode::kUnavailable, fmt::format("[http] socket {}: {}", path, Reason(errno)));
  }
  if (!S_ISSOCK(info.st_mode)) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("[http] socket {} is something else than a socket: name another path", path));
  }
  if (Answers(address)) {
    return Fail(
        ErrorCode::kExists,
        fmt::format("[http] socket {}: another varved answers there; stop it, or name another path", path));
  }
  if (unlink(path.c_str()) != 0 && errno != ENOENT) {
    return Fail(
        ErrorCode::kUnavailable,
        fmt::format("[http] socket {} was left behind and cannot be removed: {}", path, Reason(errno)));
  }
  return {};
}

base::Status BindUnix(const Descriptor& listener, const std::string& path, const sockaddr_un& address) {
  // Nobody may connect between bind and chmod.
  const mode_t before = umask(0777 & ~kSocketMode);
  const int bound = bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  const int error = errno;
  umask(before);
  if (bound == 0) return {};
  if (error == ENOENT) {
    return Fail(
        ErrorCode::kInvalidArgument,
        fmt::format("[http] socket {}: the directory does not exist; make it with: install -d -m 0750 {}",
                    path, path.substr(0, path.rfind('/'))));
  }
  return Fail(ErrorCode::kUnavailable, fmt::format("[http] socket {}: {}", path, Reason(error)));
}

}  // namespace

base::Result<std::string> ReadToken(const std::string& path) {
  struct stat info {};
  std::ifstream file(path, std::ios::binary);
  if (!file || stat(path.c_str(), &info) != 0) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("[http] token_file {} cannot be read: {}", path, std::strerror(errno)));
  }
  if ((info.st_mode & 0077) != 0) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("[http] token_file {} can be read by others: chmod 0600 {}", path, path));
  }
  std::array<char, kTokenBytesMax + 1> bytes;
  file.read(bytes.data(), bytes.size());
  std::string token(bytes.data(), static_cast<size_t>(file.gcount()));
  while (!token.empty() && (token.back() == '\n' || token.back() == '\r' || token.back() == ' '))
    token.pop_back();
  if (token.size() < kTokenBytesMin || token.size() > kTokenBytesMax) {
    return Fail(
        ErrorCode::kInvalidArgument,
        fmt::format("[http] token_file {}: a token has {} to {} characters; make one with: openssl rand -hex "
                    "32",
                    path, kTokenBytesMin, kTokenBytesMax));
  }
  return token;
}

int Descriptor::Release() { return std::exchange(fd_, -1); }

void Descriptor::Close() {
  if (fd_ >= 0) close(std::exchange(fd_, -1));
}

base::Result<Descriptor> ListenUnix(const std::string& path) {
  ASSIGN_OR_RETURN(const sockaddr_un address, UnixAddress(path));
  RETURN_IF_ERROR(MakeRoom(path, address));
  Descriptor listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener.valid()) return Fail(ErrorCode::kUnavailable, fmt::format("socket: {}", Reason(errno)));
  RETURN_IF_ERROR(BindUnix(listener, path, address));
  if (listen(listener.get(), kBacklog) != 0) {
    return Fail(ErrorCode::kUnavailable, fmt::format("[http] socket {}: {}", path, Reason(errno)));
  }
  return listener;
}

base::Result<TcpAddress> ParseTcpAddress(std::string_view text) {
  const auto bad = [text] {
    return Fail(
        ErrorCode::kInvalidArgument,
        fmt::format("[http] listen is ADDRESS:PORT such as 127.0.0.1:7117 or [::1]:7117, not \"{}\"", text));
  };
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return bad();
  std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  TcpAddress address;
  const auto parsed = std::from_chars(port.data(), port.data() + port.size(), address.port);
  if (parsed.ec != std::errc() || parsed.ptr != port.data() + port.size()) return bad();
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    address.ipv6 = true;
    host = host.substr(1, host.size() - 2);
  }
  address.host = host == "localhost" ? "127.0.0.1" : std::string(host);
  if (address.ipv6) {
    in6_addr parsed_host{};
    if (inet_pton(AF_INET6, address.host.c_str(), &parsed_host) != 1) return bad();
    address.loopback = IN6_IS_ADDR_LOOPBACK(&parsed_host);
    return address;
  }
  in_addr parsed_host{};
  if (inet_pton(AF_INET, address.host.c_str(), &parsed_host) != 1) return bad();
  address.loopback = (ntohl(parsed_host.s_addr) >> 24) == 127;
  return address;
}

base::Result<Descriptor> ListenTcp(const TcpAddress& address) {
  const int family = address.ipv6 ? AF_INET6 : AF_INET;
  const auto failed = [&address](int error) {
    return Fail(ErrorCode::kUnavailable,
                fmt::format("[http] listen {}:{}: {}", address.host, address.port, Reason(error)));
  };
  Descriptor listener(socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener.valid()) return failed(errno);
  const int on = 1;
  setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  sockaddr_in v4{};
  sockaddr_in6 v6{};
  const sockaddr* bound = nullptr;
  socklen_t size = 0;
  if (address.ipv6) {
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(address.port);
    inet_pton(AF_INET6, address.host.c_str(), &v6.sin6_addr);
    bound = reinterpret_cast<const sockaddr*>(&v6);
    size = sizeof(v6);
  } else {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(address.port);
    inet_pton(AF_INET, address.host.c_str(), &v4.sin_addr);
    bound = reinterpret_cast<const sockaddr*>(&v4);
    size = sizeof(v4);
  }
  if (bind(listener.get(), bound, size) != 0 || listen(listener.get(), kBacklog) != 0) return failed(errno);
  return listener;
}

uint16_t PortOf(const Descriptor& listener) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  if (getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  if (address.ss_family == AF_INET) return ntohs(reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
  if (address.ss_family == AF_INET6) return ntohs(reinterpret_cast<const sockaddr_in6*>(&address)->sin6_port);
  return 0;
}

}  // namespace varve::http
