// SPDX-License-Identifier: PostgreSQL
#include "sidecar/bus/pull_socket.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

#include "tests/support/catch.h"
#include "tests/support/push_socket.h"
#include "tests/support/temporary_directory.h"

namespace varve::bus {
namespace {

struct Fixture {
  std::unique_ptr<PullSocket> Bind() { return std::move(PullSocket::Bind(endpoint, &remedy)).value(); }
  base::ErrorCode Refused() {
    const auto bound = PullSocket::Bind(endpoint, &remedy);
    REQUIRE_FALSE(bound);
    CHECK_FALSE(remedy.empty());
    return bound.error().code;
  }
  test::TemporaryDirectory directory;
  std::string path = directory.path() + "/ingest.sock";
  std::string endpoint = "ipc://" + path;
  std::string remedy;
};

// As the receiver does it: takes all, and waits on the descriptor only after that.
std::string ReceiveOne(PullSocket* socket) {
  for (int i = 0; i < 50; ++i) {
    auto frame = socket->TryReceive();
    REQUIRE(frame);
    if (*frame) return std::string((*frame)->bytes());
    pollfd entry{socket->fd(), POLLIN, 0};
    (void)poll(&entry, 1, 100);
  }
  return "nothing";
}

TEST_CASE("what is sent is received, whole and in order, and the descriptor tells") {
  Fixture fixture;
  const auto socket = fixture.Bind();
  test::PushSocket sender(fixture.endpoint);
  const std::string large(200'000, 'x');
  REQUIRE(sender.Send("a"));
  REQUIRE(sender.Send(large));
  REQUIRE(sender.Send(""));
  CHECK(ReceiveOne(socket.get()) == "a");
  CHECK(ReceiveOne(socket.get()) == large);
  CHECK(ReceiveOne(socket.get()).empty());
  pollfd entry{socket->fd(), POLLIN, 0};
  REQUIRE(socket->TryReceive());
  CHECK(poll(&entry, 1, 0) == 0);
  REQUIRE(sender.Send("b"));
  CHECK(poll(&entry, 1, 5'000) == 1);
  CHECK(ReceiveOne(socket.get()) == "b");
}

TEST_CASE("a frame's bytes stay where they are when it is moved") {
  Fixture fixture;
  const auto socket = fixture.Bind();
  test::PushSocket sender(fixture.endpoint);
  REQUIRE(sender.Send("small"));
  std::optional<Frame> frame;
  for (int i = 0; i < 50 && !frame; ++i) {
    frame = std::move(socket->TryReceive()).value();
    usleep(frame ? 0 : 100'000);
  }
  REQUIRE(frame);
  const std::string_view bytes = frame->bytes();
  const Frame moved = *std::move(frame);
  CHECK(moved.bytes().data() == bytes.data());
  CHECK(bytes == "small");
}

TEST_CASE("a sender waits while nobody receives") {
  Fixture fixture;
  const auto socket = fixture.Bind();
  test::PushSocket sender(fixture.endpoint);
  const std::string batch(1 << 20, 'x');
  int sent = 0;
  while (sent < 1'000 && sender.Send(batch, 300)) ++sent;
  CHECK(sent < 60);
  for (int i = 0; i < sent; ++i) CHECK(ReceiveOne(socket.get()).size() == batch.size());
  CHECK(sender.Send("more"));
  CHECK(ReceiveOne(socket.get()) == "more");
}

TEST_CASE("a stranger who does not speak ZeroMQ disturbs nobody") {
  Fixture fixture;
  const auto socket = fixture.Bind();
  const int stranger = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, fixture.path.c_str());
  REQUIRE(connect(stranger, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0);
  const std::string garbage(100'000, '\xEE');
  (void)!send(stranger, garbage.data(), garbage.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  test::PushSocket sender(fixture.endpoint);
  REQUIRE(sender.Send("a"));
  // What looks like messages of an old version of the protocol comes along.
  std::string received = ReceiveOne(socket.get());
  while (received[0] == garbage[0]) received = ReceiveOne(socket.get());
  CHECK(received == "a");
  close(stranger);
}

TEST_CASE("the file has mode 0660 and the group of its directory, and goes with the socket") {
  Fixture fixture;
  struct stat entry {};
  {
    const auto socket = fixture.Bind();
    REQUIRE(stat(fixture.path.c_str(), &entry) == 0);
    CHECK((entry.st_mode & 07777) == 0660);
    struct stat directory {};
    REQUIRE(stat(fixture.directory.path().c_str(), &directory) == 0);
    CHECK(entry.st_gid == directory.st_gid);
    CHECK(socket->IsInPlace());
    unlink(fixture.path.c_str());
    CHECK_FALSE(socket->IsInPlace());
  }
  { const auto socket = fixture.Bind(); }
  CHECK(stat(fixture.path.c_str(), &entry) != 0);
  // At once again, as sessions follow each other.
  for (int i = 0; i < 20; ++i) {
    const auto socket = fixture.Bind();
    test::PushSocket sender(fixture.endpoint);
    REQUIRE(sender.Send("a"));
    CHECK(ReceiveOne(socket.get()) == "a");
  }
}

TEST_CASE("a socket of the dead is replaced, one of the living and another file are not") {
  Fixture fixture;
  const int dead = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, fixture.path.c_str());
  REQUIRE(bind(dead, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0);
  close(dead);
  {
    const auto socket = fixture.Bind();
    CHECK(fixture.Refused() == base::ErrorCode::kExists);
    CHECK(socket->IsInPlace());
  }
  std::ofstream(fixture.path) << "x";
  CHECK(fixture.Refused() == base::ErrorCode::kInvalidArgument);
  unlink(fixture.path.c_str());
  chmod(fixture.directory.path().c_str(), 0755);
  CHECK(fixture.Refused() == base::ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace varve::bus
