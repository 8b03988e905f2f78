// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "sidecar/base/result.h"

namespace varve::bus {

// One message as ZeroMQ holds it; bytes() stay where they are when the frame is moved.
class Frame {
 public:
  Frame();
  ~Frame();
  Frame(Frame&&) noexcept;
  Frame& operator=(Frame&&) noexcept;
  std::string_view bytes() const;

 private:
  friend class PullSocket;
  struct Message;
  std::unique_ptr<Message> message_;
};

// Where the output plugin sends batches with transport=zmq: a ZeroMQ PULL socket on a Unix socket, which
// takes the group of its directory and mode 0660, so that a server of another user can be let in by a shared
// group. Owns the file, ZeroMQ's context and its thread; all are gone when it is destroyed. Holds a few
// messages of each sender and makes senders wait when nobody receives. One thread at a time.
class PullSocket {
 public:
  // Replaces a file that nobody answers on. Errors: kExists when another process answers there,
  // kInvalidArgument for a directory that is missing or open to everybody, or for something else than a
  // socket at the path; kUnavailable else. The message names the path, the remedy goes to `remedy`.
  static base::Result<std::unique_ptr<PullSocket>> Bind(const std::string& endpoint, std::string* remedy);
  ~PullSocket();
  PullSocket(const PullSocket&) = delete;
  PullSocket& operator=(const PullSocket&) = delete;

  // The next message if one is here. Errors: kUnavailable when ZeroMQ fails.
  base::Result<std::optional<Frame>> TryReceive();

  // Becomes readable when there may be more, but only after TryReceive has found nothing.
  int fd() const { return fd_; }
  // False when the file was removed or replaced: no new sender finds us.
  bool IsInPlace() const;

 private:
  struct Rep;
  explicit PullSocket(std::unique_ptr<Rep> rep);

  const std::unique_ptr<Rep> rep_;
  int fd_ = -1;
};

}  // namespace varve::bus
