// SPDX-License-Identifier: PostgreSQL
#include "plugin/wire/publisher.h"

#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zmq.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "sidecar/wire/decoder.h"
#include "tests/support/catch.h"
#include "tests/support/temporary_directory.h"

namespace varve {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr wire::SessionId kSession{0x0123456789abcdef, 0xfedcba9876543210};
constexpr size_t kBodies = 4;
constexpr uint64_t kQueueBytes = 1 << 20;

// A PULL socket on a path of its own.
class Reader {
 public:
  ~Reader() { Close(); }
  std::string path() const { return directory_.path() + "/s"; }
  void Bind() {
    context_ = zmq_ctx_new();
    socket_ = zmq_socket(context_, ZMQ_PULL);
    const int one = 1;
    zmq_setsockopt(socket_, ZMQ_RCVHWM, &one, sizeof(one));
    REQUIRE(zmq_bind(socket_, ("ipc://" + path()).c_str()) == 0);
  }
  void Close() {
    if (context_ == nullptr) return;
    zmq_close(socket_);
    zmq_ctx_term(context_);
    context_ = nullptr;
  }
  std::optional<std::string> Receive(int timeout_ms = 3000) {
    zmq_pollitem_t item = {socket_, 0, ZMQ_POLLIN, 0};
    if (zmq_poll(&item, 1, timeout_ms) <= 0) return std::nullopt;
    zmq_msg_t message;
    zmq_msg_init(&message);
    REQUIRE(zmq_msg_recv(&message, socket_, 0) >= 0);
    std::string bytes(static_cast<const char*>(zmq_msg_data(&message)), zmq_msg_size(&message));
    zmq_msg_close(&message);
    return bytes;
  }

 private:
  const test::TemporaryDirectory directory_;
  void* context_ = nullptr;
  void* socket_ = nullptr;
};

// The walsender's part: messages outside transactions, each a transaction of its own.
struct Body {
  VarveWire* wire = varve_wire_open();
  std::vector<VarveTransaction> transactions;
  std::vector<VarveChange> changes;
  std::string heap;
  VarveBatchParts parts{};
  Body() = default;
  ~Body() { varve_wire_close(wire); }
  Body(const Body&) = delete;
  Body& operator=(const Body&) = delete;
};

class Walsender {
 public:
  explicit Walsender(const std::string& path, uint32_t coalesce_us = 1000, uint32_t unreachable_ms = 200)
      : path_(path), bodies_(kBodies) {
    for (const Body& body : bodies_) publisher_bodies_.push_back({body.wire, &body.parts});
    handshake_.server_version_num = 150000;
    options_ = {path_.c_str(), publisher_bodies_.data(), kBodies, kQueueBytes, coalesce_us, unreachable_ms};
    status_ = varve_publisher_start(&options_, &publisher_);
  }
  ~Walsender() {
    if (publisher_ != nullptr) CHECK(varve_publisher_stop(publisher_, 500));
  }

  VarvePublisherStatus started() const { return status_; }
  VarvePublisher* publisher() { return publisher_; }
  bool WaitForRoom(int timeout_ms) {
    const auto until = steady_clock::now() + milliseconds(timeout_ms);
    while (!varve_publisher_has_room(publisher_)) {
      pollfd entry{varve_publisher_room_fd(publisher_), POLLIN, 0};
      if (steady_clock::now() > until) return false;
      if (poll(&entry, 1, 10) > 0) {
        uint64_t count = 0;
        REQUIRE(read(entry.fd, &count, sizeof(count)) == sizeof(count));
      }
    }
    return true;
  }
  // Answers whether a batch was opened for it.
  bool Write(const std::string& content, bool close = false) {
    const bool opened = !varve_publisher_enter(publisher_);
    if (opened) {
      REQUIRE(varve_publisher_has_room(publisher_));
      sequence_ = varve_publisher_next(publisher_);
      body().transactions.clear();
      body().changes.clear();
      body().heap.clear();
      varve_publisher_open(publisher_);
    }
    Append(content);
    varve_publisher_leave(publisher_, close, content.size());
    return opened;
  }
  void Append(const std::string& content) {
    Body& to = body();
    VarveTransaction transaction{};
    transaction.position = ++position_;
    transaction.first_change = static_cast<uint32_t>(to.changes.size());
    transaction.count = 1;
    transaction.flags =
        VARVE_TRANSACTION_BEGIN | VARVE_TRANSACTION_COMMIT | VARVE_TRANSACTION_NON_TRANSACTIONAL;
    VarveChange change{};
    change.op = VARVE_OP_MESSAGE;
    change.relation = VARVE_NO_RELATION;
    change.new_offset = static_cast<uint32_t>(to.heap.size());
    change.new_length = static_cast<uint32_t>(content.size());
    to.heap += content;
    to.transactions.push_back(transaction);
    to.changes.push_back(change);
    FillParts(&to);
  }
  void FillParts(Body* of) {
    of->parts = {kSession.high,
                 kSession.low,
                 sequence_,
                 sequence_ == 0 ? &handshake_ : nullptr,
                 nullptr,
                 0,
                 of->transactions.data(),
                 of->transactions.size(),
                 of->changes.data(),
                 of->changes.size(),
                 of->heap.data(),
                 of->heap.size()};
  }
  Body& body() { return bodies_[sequence_ % kBodies]; }

 private:
  const std::string path_;
  std::vector<Body> bodies_;
  std::vector<VarvePublisherBody> publisher_bodies_;
  VarveHandshake handshake_{};
  VarvePublisherOptions options_{};
  VarvePublisher* publisher_ = nullptr;
  VarvePublisherStatus status_;
  uint64_t sequence_ = 0;
  uint64_t position_ = 0;
};

// What arrives, decoded as varved does it: batches in order, none missing.
std::vector<std::string> ReadContents(Reader* reader, wire::Decoder* decoder, size_t count) {
  std::vector<std::string> contents;
  while (contents.size() < count) {
    const auto bytes = reader->Receive();
    REQUIRE(bytes);
    const auto batch = decoder->Decode(*bytes);
    REQUIRE(batch);
    for (const auto& change : batch->changes) contents.emplace_back(change.new_image);
  }
  return contents;
}

TEST_CASE("what is left open is sent soon, and transactions share a batch") {
  Reader reader;
  reader.Bind();
  Walsender walsender(reader.path(), 20'000);
  REQUIRE(walsender.started() == VARVE_PUBLISHER_OK);
  CHECK(walsender.Write("a"));
  CHECK_FALSE(walsender.Write("b"));
  const auto message = reader.Receive();
  REQUIRE(message);
  wire::Decoder decoder(kSession);
  const auto batch = decoder.Decode(*message);
  REQUIRE(batch);
  CHECK(batch->pieces.size() == 2);
  CHECK(walsender.Write("c"));
}

TEST_CASE("nothing is lost or doubled between a walsender and a reader of any speed") {
  Reader reader;
  reader.Bind();
  Walsender walsender(reader.path(), 50);
  wire::Decoder decoder(kSession);
  constexpr size_t kCount = 20'000;
  std::vector<std::string> contents;
  std::thread reading([&] { contents = ReadContents(&reader, &decoder, kCount); });
  for (size_t i = 0; i < kCount; ++i) {
    if (!walsender.WaitForRoom(5000)) break;
    walsender.Write(std::to_string(i), i % 37 == 0);
    if (i % 1000 == 0) std::this_thread::sleep_for(milliseconds(2));
  }
  reading.join();
  REQUIRE(contents.size() == kCount);
  for (size_t i = 0; i < kCount; ++i) REQUIRE(contents[i] == std::to_string(i));
}

TEST_CASE("a reader who takes nothing makes the queue full, and room comes back with him") {
  Reader reader;
  reader.Bind();
  Walsender walsender(reader.path());
  wire::Decoder decoder(kSession);
  const std::string large(200'000, 'x');
  size_t written = 0;
  while (written < 100 && walsender.WaitForRoom(300)) {
    walsender.Write(large, true);
    ++written;
  }
  CHECK(written < 100);
  int error = 0;
  // He is there: a connection would be accepted.
  CHECK(varve_publisher_status(walsender.publisher(), &error) == VARVE_PUBLISHER_OK);
  std::thread reading([&] { ReadContents(&reader, &decoder, written + 1); });
  CHECK(walsender.WaitForRoom(3000));
  walsender.Write("last");
  reading.join();
}

TEST_CASE("the bytes that wait are bounded, whatever the number of batches") {
  Reader reader;
  Walsender walsender(reader.path());
  walsender.Write(std::string(kQueueBytes, 'x'), true);
  CHECK_FALSE(varve_publisher_has_room(walsender.publisher()));
}

TEST_CASE("a socket that refuses is a failure with its errno, not silence") {
  Reader reader;
  int error = 0;
  SECTION("there is none") {
    Walsender walsender(reader.path());
    walsender.Write("a");
    for (int i = 0; i < 300 && varve_publisher_status(walsender.publisher(), &error) == 0; ++i) {
      std::this_thread::sleep_for(milliseconds(10));
    }
    CHECK(varve_publisher_status(walsender.publisher(), &error) == VARVE_PUBLISHER_UNREACHABLE);
    CHECK(error == ENOENT);
  }
  SECTION("nobody listens any more") {
    reader.Bind();
    Walsender walsender(reader.path());
    walsender.Write("a");
    REQUIRE(reader.Receive());
    reader.Close();
    walsender.Write("b");
    for (int i = 0; i < 300 && varve_publisher_status(walsender.publisher(), &error) == 0; ++i) {
      std::this_thread::sleep_for(milliseconds(10));
      walsender.Write("c");
    }
    CHECK(varve_publisher_status(walsender.publisher(), &error) == VARVE_PUBLISHER_UNREACHABLE);
    CHECK((error == ECONNREFUSED || error == ENOENT));
  }
}

TEST_CASE("a reader who comes late gets everything") {
  Reader reader;
  Walsender walsender(reader.path(), 1000, 60'000);
  wire::Decoder decoder(kSession);
  walsender.Write("a", true);
  walsender.Write("b", true);
  reader.Bind();
  CHECK(ReadContents(&reader, &decoder, 2) == std::vector<std::string>{"a", "b"});
}

TEST_CASE("without free descriptors it does not start, where ZeroMQ would abort") {
  Reader reader;
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
  const int used = dup(0);
  REQUIRE(used >= 0);
  close(used);
  const rlimit few{static_cast<rlim_t>(used) + 10, before.rlim_max};
  REQUIRE(setrlimit(RLIMIT_NOFILE, &few) == 0);
  Walsender walsender(reader.path());
  CHECK(walsender.started() == VARVE_PUBLISHER_NO_DESCRIPTORS);
  REQUIRE(setrlimit(RLIMIT_NOFILE, &before) == 0);
}

TEST_CASE("its threads take no signal of the process") {
  static volatile sig_atomic_t caught_by = 0;
  const auto old = signal(SIGUSR2, [](int) { caught_by = gettid(); });
  Reader reader;
  reader.Bind();
  Walsender walsender(reader.path());
  walsender.Write("a");
  REQUIRE(reader.Receive());
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR2);
  // Only a thread that has it unblocked gets it; the socket of the test has blocked it in its own.
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  kill(getpid(), SIGUSR2);
  std::this_thread::sleep_for(milliseconds(50));
  CHECK(caught_by == 0);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  CHECK(caught_by == gettid());
  signal(SIGUSR2, old);
}

}  // namespace
}  // namespace varve
