// SPDX-License-Identifier: PostgreSQL
#include "sidecar/wire/head.h"

#include <random>

#include "tests/support/catch.h"
#include "tests/support/stream_builder.h"

namespace varve::wire {
namespace {

const SessionId kSession{0x0123456789abcdef, 0xfedcba9876543210};

std::string Message(uint64_t sequence) {
  test::StreamBuilder builder;
  builder.session_high = kSession.high;
  builder.session_low = kSession.low;
  builder.sequence = sequence;
  builder.relations = {test::KeyedRelation()};
  return builder.Build();
}

std::string Marker(SessionId session, uint64_t count) {
  std::string marker = "VRVM";
  for (const uint64_t number : {session.high, session.low, count}) {
    for (int shift = 56; shift >= 0; shift -= 8) marker.push_back(static_cast<char>(number >> shift));
  }
  return marker;
}

TEST_CASE("a head says session and sequence, also of the first batch, at any alignment") {
  for (const uint64_t sequence : {uint64_t{0}, uint64_t{1}, UINT64_MAX}) {
    const std::string message = Message(sequence);
    for (size_t shift = 0; shift < 8; ++shift) {
      const std::string moved = std::string(shift, 'x') + message;
      const auto head = ReadHead(std::string_view(moved).substr(shift));
      REQUIRE(head);
      CHECK(head->session == kSession);
      CHECK(head->sequence == sequence);
    }
  }
}

TEST_CASE("what is cut, longer or of another kind has no head") {
  const std::string message = Message(7);
  for (size_t size = 0; size < message.size(); ++size) {
    CHECK_FALSE(ReadHead(std::string_view(message).substr(0, size)));
  }
  CHECK_FALSE(ReadHead(message + "x"));
  std::string other = message;
  other[8] = 'X';
  CHECK_FALSE(ReadHead(other));
}

// Sanitizers watch that nothing outside of the message is read.
TEST_CASE("bytes that were changed at random are read within their bounds") {
  std::mt19937_64 random(1);
  const std::string message = Message(7);
  for (int i = 0; i < 200'000; ++i) {
    std::string changed = message;
    for (int j = 0; j < 3; ++j) changed[4 + random() % 60] = static_cast<char>(random());
    (void)ReadHead(changed);
  }
}

TEST_CASE("a marker says how many batches its session has announced") {
  CHECK(ReadMarker(Marker(kSession, 1), kSession).value() == 1);
  CHECK(ReadMarker(Marker(kSession, 0x0102030405060708), kSession).value() == 0x0102030405060708);
  CHECK_FALSE(ReadMarker(Marker({1, 2}, 1), kSession));
  CHECK_FALSE(ReadMarker(Marker(kSession, 1) + "x", kSession));
  CHECK_FALSE(ReadMarker(Marker(kSession, 1).substr(0, 27), kSession));
  CHECK_FALSE(ReadMarker("VRVX" + Marker(kSession, 1).substr(4), kSession));
  CHECK_FALSE(ReadMarker(Message(0), kSession));
}

}  // namespace
}  // namespace varve::wire
