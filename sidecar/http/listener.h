// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sidecar/base/result.h"

namespace varve::http {

// An open descriptor, closed at the end.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() { Close(); }
  Descriptor(Descriptor&& other) noexcept : fd_(other.Release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) {
      Close();
      fd_ = other.Release();
    }
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  int Release();
  void Close();

 private:
  int fd_ = -1;
};

// A listening Unix socket with mode 0660. A socket file that nobody answers on is replaced. Errors: kExists
// when another process answers there, kInvalidArgument for a path that is too long, is something else than a
// socket, or has no directory; kUnavailable for any other failure. All name the path and the remedy.
base::Result<Descriptor> ListenUnix(const std::string& path);

struct TcpAddress {
  std::string host;  // numeric
  uint16_t port = 0;
  bool loopback = false;
  bool ipv6 = false;
};

// The token that TCP requests carry, from a file that only its owner can read. Errors: kInvalidArgument.
base::Result<std::string> ReadToken(const std::string& path);

// The longest path that a Unix socket has.
inline constexpr size_t kSocketPathBytesMax = 107;

// "127.0.0.1:7117", "[::1]:7117", "localhost:7117". Errors: kInvalidArgument.
base::Result<TcpAddress> ParseTcpAddress(std::string_view text);

// Errors: kUnavailable naming the address, e.g. when it is in use.
base::Result<Descriptor> ListenTcp(const TcpAddress& address);

// The port that a listening TCP socket has got (for port 0).
uint16_t PortOf(const Descriptor& listener);

}  // namespace varve::http
