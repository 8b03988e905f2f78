// SPDX-License-Identifier: PostgreSQL
#include "sidecar/bus/pull_socket.h"

#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <zmq.hpp>

#include "sidecar/bus/endpoint.h"

namespace varve::bus {
namespace {

using base::ErrorCode;
using base::Fail;

constexpr mode_t kSocketMode = 0660;
constexpr int kBacklog = 16;
// Messages of one sender that wait in ZeroMQ; a batch has about 64 KiB.
constexpr int kReceiveHighWaterMark = 8;
// The largest batch (wire::Decoder::kMessageBytesMax). A larger message ends its sender's connection.
constexpr int64_t kMessageBytesMax = int64_t{1} << 30;
// Of a context, its threads and the socket, with some to spare.
constexpr int kDescriptorsNeeded = 32;

// ZeroMQ ends the process when it gets no descriptor.
bool HasDescriptors() {
  std::vector<int> taken;
  while (taken.size() < kDescriptorsNeeded) {
    const int fd = eventfd(0, EFD_CLOEXEC);
    if (fd < 0) break;
    taken.push_back(fd);
  }
  for (const int fd : taken) close(fd);
  return taken.size() == kDescriptorsNeeded;
}

sockaddr_un AddressOf(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

bool Answers(const std::string& path) {
  const int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (probe < 0) return true;
  const sockaddr_un address = AddressOf(path);
  const int connected = connect(probe, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  const int error = errno;
  close(probe);
  // Only these say for certain that there is no listener.
  return connected == 0 || (error != ECONNREFUSED && error != ENOENT);
}

tl::unexpected<base::Error> Failed(ErrorCode code, const std::string& path, std::string_view why) {
  return Fail(code, fmt::format("the ingest socket {}: {}", path, why));
}

base::Status MakeRoom(const std::string& path, std::string* remedy) {
  struct stat entry {};
  if (lstat(path.c_str(), &entry) != 0 && errno == ENOENT) return {};
  if (!S_ISSOCK(entry.st_mode)) {
    *remedy = "name another path in [ingest] endpoint";
    return Failed(ErrorCode::kInvalidArgument, path, "there is something else than a socket");
  }
  if (Answers(path)) {
    *remedy = "stop the other varved, or name another path in [ingest] endpoint";
    return Failed(ErrorCode::kExists, path, "another process answers there");
  }
  if (unlink(path.c_str()) != 0 && errno != ENOENT) {
    *remedy = fmt::format("remove {}", path);
    return Failed(ErrorCode::kUnavailable, path, std::strerror(errno));
  }
  return {};
}

// Listens only when the file has its mode: until then nobody can connect.
base::Result<int> Listen(const std::string& path, std::string* remedy) {
  const std::string directory = path.substr(0, path.rfind('/'));
  if (const auto fault = FaultOfDirectory(directory)) {
    *remedy = fault->remedy;
    return Failed(ErrorCode::kInvalidArgument, path, fault->message);
  }
  RETURN_IF_ERROR(MakeRoom(path, remedy));
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return Failed(ErrorCode::kUnavailable, path, std::strerror(errno));
  const sockaddr_un address = AddressOf(path);
  struct stat parent {};
  int error = 0;
  if (bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    error = errno;
  } else {
    // A group that we are not in we cannot give it to: then the server must be of our own user.
    if (stat(directory.c_str(), &parent) == 0)
      (void)!chown(path.c_str(), static_cast<uid_t>(-1), parent.st_gid);
    if (chmod(path.c_str(), kSocketMode) != 0 || listen(fd, kBacklog) != 0) {
      error = errno;
      unlink(path.c_str());
    }
  }
  if (error == 0) return fd;
  close(fd);
  *remedy = fmt::format("let the user that runs varved write to {}", directory);
  return Failed(ErrorCode::kUnavailable, path, std::strerror(error));
}

}  // namespace

struct Frame::Message {
  zmq::message_t zmq;
};

Frame::Frame() = default;
Frame::~Frame() = default;
Frame::Frame(Frame&&) noexcept = default;
Frame& Frame::operator=(Frame&&) noexcept = default;

std::string_view Frame::bytes() const {
  if (message_ == nullptr) return {};
  return {static_cast<const char*>(message_->zmq.data()), message_->zmq.size()};
}

struct PullSocket::Rep {
  ~Rep() {
    struct stat entry {};
    // Not one that somebody else has put there meanwhile.
    if (lstat(path.c_str(), &entry) == 0 && entry.st_ino == inode) unlink(path.c_str());
  }
  std::string path;
  ino_t inode = 0;
  // In this order: the context's end waits for the socket's.
  zmq::context_t context{1};
  zmq::socket_t socket;
};

PullSocket::PullSocket(std::unique_ptr<Rep> rep) : rep_(std::move(rep)) {}
PullSocket::~PullSocket() = default;

base::Result<std::unique_ptr<PullSocket>> PullSocket::Bind(const std::string& endpoint, std::string* remedy) {
  const std::string path = PathOf(endpoint);
  if (!HasDescriptors()) {
    *remedy = "raise the limit of open files (ulimit -n) of varved";
    return Failed(ErrorCode::kUnavailable, path, "too few free file descriptors");
  }
  ASSIGN_OR_RETURN(const int listener, Listen(path, remedy));
  try {
    auto rep = std::make_unique<Rep>();
    rep->path = path;
    struct stat entry {};
    if (lstat(path.c_str(), &entry) == 0) rep->inode = entry.st_ino;
    rep->socket = zmq::socket_t(rep->context, zmq::socket_type::pull);
    rep->socket.set(zmq::sockopt::linger, 0);
    rep->socket.set(zmq::sockopt::rcvhwm, kReceiveHighWaterMark);
    rep->socket.set(zmq::sockopt::maxmsgsize, kMessageBytesMax);
    rep->socket.set(zmq::sockopt::use_fd, listener);
    rep->socket.bind(endpoint);
    std::unique_ptr<PullSocket> made(new PullSocket(std::move(rep)));
    made->fd_ = made->rep_->socket.get(zmq::sockopt::fd);
    return made;
  } catch (const zmq::error_t& error) {
    return Failed(ErrorCode::kUnavailable, path, error.what());
  }
}

base::Result<std::optional<Frame>> PullSocket::TryReceive() {
  for (;;) {
    try {
      auto message = std::make_unique<Frame::Message>();
      if (!rep_->socket.recv(message->zmq, zmq::recv_flags::dontwait)) return std::optional<Frame>();
      Frame frame;
      frame.message_ = std::move(message);
      return std::optional<Frame>(std::move(frame));
    } catch (const zmq::error_t& error) {
      if (error.num() == EINTR) continue;
      return Failed(ErrorCode::kUnavailable, rep_->path, error.what());
    }
  }
}

bool PullSocket::IsInPlace() const {
  struct stat entry {};
  return lstat(rep_->path.c_str(), &entry) == 0 && entry.st_ino == rep_->inode;
}

}  // namespace varve::bus
