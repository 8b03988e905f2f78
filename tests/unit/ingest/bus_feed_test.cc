// SPDX-License-Identifier: PostgreSQL
// A sender in this process in the place of the output plugin.
#include "sidecar/ingest/bus_feed.h"

#include <poll.h>

#include "tests/support/catch.h"
#include "tests/support/push_socket.h"
#include "tests/support/stream_builder.h"
#include "tests/support/temporary_directory.h"

namespace varve::ingest {
namespace {

using base::Lsn;
using Outcome = BusFeed::Outcome;

const wire::SessionId kSession{1, 2};

std::string Batch(uint64_t sequence, uint64_t session_low = 2) {
  test::StreamBuilder builder;
  builder.session_low = session_low;
  builder.sequence = sequence;
  builder.handshake = sequence == 0;
  return builder.Build();
}

std::string Marker(uint64_t count) {
  std::string marker = "VRVM";
  for (const uint64_t number : {kSession.high, kSession.low, count}) {
    for (int shift = 56; shift >= 0; shift -= 8) marker.push_back(static_cast<char>(number >> shift));
  }
  return marker;
}

struct Fixture {
  Fixture() {
    socket = std::move(bus::PullSocket::Bind(endpoint, &remedy)).value();
    feed = std::make_unique<BusFeed>(socket.get(), kSession);
    sender = std::make_unique<test::PushSocket>(endpoint);
  }
  // The next outcome but "nothing", which is waited away.
  base::Result<Outcome> Next() {
    for (int i = 0; i < 50; ++i) {
      auto outcome = feed->Next(0, &item);
      if (!outcome || *outcome != Outcome::kNothing) return outcome;
      pollfd entry{feed->fd(), POLLIN, 0};
      (void)poll(&entry, 1, 100);
    }
    return Outcome::kNothing;
  }
  test::TemporaryDirectory directory;
  std::string endpoint = "ipc://" + directory.path() + "/s";
  std::string remedy;
  std::unique_ptr<bus::PullSocket> socket;
  std::unique_ptr<BusFeed> feed;
  std::unique_ptr<test::PushSocket> sender;
  Received item;
};

TEST_CASE("batches and positions come in the order in which they may be applied") {
  Fixture fixture;
  REQUIRE(fixture.feed->Marker(Marker(2)));
  fixture.feed->Keepalive(Lsn{100});
  REQUIRE(fixture.sender->Send(Batch(0)));
  REQUIRE(fixture.sender->Send(Batch(1)));
  CHECK(fixture.Next().value() == Outcome::kItem);
  CHECK(fixture.item.message == Batch(0));
  CHECK(fixture.Next().value() == Outcome::kItem);
  CHECK(fixture.item.message == Batch(1));
  CHECK(fixture.Next().value() == Outcome::kItem);
  CHECK(fixture.item.message.empty());
  CHECK(fixture.item.keepalive_end == Lsn{100});
  // Lower ones begin a session; they say nothing new.
  fixture.feed->Keepalive(Lsn{50});
  CHECK(fixture.feed->Next(0, &fixture.item).value() == Outcome::kNothing);
}

TEST_CASE("a batch that is lost on its way ends the session") {
  Fixture fixture;
  REQUIRE(fixture.sender->Send(Batch(0)));
  REQUIRE(fixture.sender->Send(Batch(2)));
  CHECK(fixture.Next().value() == Outcome::kItem);
  CHECK_FALSE(fixture.Next());
}

TEST_CASE("a batch that comes twice ends the session") {
  Fixture fixture;
  REQUIRE(fixture.sender->Send(Batch(0)));
  REQUIRE(fixture.sender->Send(Batch(0)));
  CHECK(fixture.Next().value() == Outcome::kItem);
  CHECK_FALSE(fixture.Next());
}

TEST_CASE("an announced batch that does not come ends the session") {
  Fixture fixture;
  REQUIRE(fixture.feed->Marker(Marker(1)));
  int64_t now = 10'000;
  REQUIRE(fixture.feed->Next(now, &fixture.item));
  fixture.feed->SawWalEnd(Lsn{500}, now);
  fixture.feed->Keepalive(Lsn{500});
  while (now < 20'000 && fixture.feed->Next(now, &fixture.item)) now += 100;
  CHECK(now == 15'000);
}

TEST_CASE("batches of another session and garbage are dropped, between ours too") {
  Fixture fixture;
  test::PushSocket other(fixture.endpoint);
  const std::string foreign[] = {Batch(7, 3), "", "x", std::string(100'000, '\xEE'), Batch(0).substr(0, 20)};
  for (const std::string& message : foreign) {
    REQUIRE(other.Send(message));
    CHECK(fixture.Next().value() == Outcome::kDropped);
  }
  REQUIRE(fixture.sender->Send(Batch(0)));
  CHECK(fixture.Next().value() == Outcome::kItem);
  REQUIRE(other.Send(Batch(1, 3)));
  CHECK(fixture.Next().value() == Outcome::kDropped);
  REQUIRE(fixture.sender->Send(Batch(1)));
  CHECK(fixture.Next().value() == Outcome::kItem);
}

TEST_CASE("what is no marker in the COPY stream ends the session") {
  Fixture fixture;
  CHECK_FALSE(fixture.feed->Marker(Batch(0)));
}

}  // namespace
}  // namespace varve::ingest
