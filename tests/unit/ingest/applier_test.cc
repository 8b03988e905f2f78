// SPDX-License-Identifier: PostgreSQL
#include "sidecar/ingest/applier.h"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "tests/support/catch.h"
#include "tests/support/stream_builder.h"
#include "tests/unit/ingest/fake_history.h"

namespace varve::ingest {
namespace {

using base::Lsn;

const wire::SessionId kSession{1, 2};

Received Message(const std::string& bytes) {
  auto* data = static_cast<char*>(std::malloc(bytes.size()));
  std::memcpy(data, bytes.data(), bytes.size());
  Received item;
  item.buffer = pg::CopyBuffer(data, bytes.size());
  item.message = item.buffer.bytes();
  return item;
}

Received Keepalive(uint64_t lsn) {
  Received item;
  item.keepalive_end = Lsn{lsn};
  return item;
}

// One transaction with one insert, as a batch of its own.
std::string Batch(uint64_t sequence, uint64_t end_lsn) {
  test::StreamBuilder builder;
  const model::Relation relation = test::KeyedRelation();
  builder.sequence = sequence;
  builder.handshake = sequence == 0;
  builder.relations = {relation};
  builder.refs = {stream::RelationRef(relation.version.value, relation.oid.value, 0)};
  builder.Add(stream::Op::Insert, 0, 0, test::KeyedImage(relation, static_cast<int32_t>(sequence), "v"));
  builder.Commit(end_lsn, 700);
  return builder.Build();
}

template <typename Condition>
bool Eventually(Condition condition) {
  for (int i = 0; i < 500; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

struct Fixture {
  explicit Fixture(ApplierOptions options = {1 << 20, 10, 1 << 20}) {
    history.CompleteAt({}, Lsn{100});
    (void)history.BeginSession(base::FullXid{700});
    applier =
        std::make_unique<Applier>(options, &history, kSession, history::Identity{}, [this] { ++wakes; });
  }
  FakeHistory history;
  std::atomic<int> wakes = 0;
  std::unique_ptr<Applier> applier;
};

TEST_CASE("what is received is appended, published and then confirmed") {
  Fixture fixture;
  CHECK(fixture.applier->confirmed() == Lsn{100});
  fixture.applier->Start();
  Received first = Message(Batch(0, 200));
  Received second = Message(Batch(1, 300));
  CHECK(fixture.applier->TryPush(&first));
  CHECK(fixture.applier->TryPush(&second));
  CHECK(Eventually([&] { return fixture.applier->confirmed() == Lsn{300}; }));
  CHECK(fixture.wakes > 0);
  CHECK(fixture.history.pieces().size() == 2);
  fixture.applier->Stop();
  CHECK_FALSE(fixture.applier->failed());
}

TEST_CASE("a keepalive moves the confirmed position without a transaction") {
  Fixture fixture;
  fixture.applier->Start();
  Received keepalive = Keepalive(250);
  CHECK(fixture.applier->TryPush(&keepalive));
  CHECK(Eventually([&] { return fixture.applier->confirmed() == Lsn{250}; }));
}

TEST_CASE("a gap in the sequence ends the session and is no failure of the history") {
  Fixture fixture;
  fixture.applier->Start();
  Received wrong = Message(Batch(1, 200));
  CHECK(fixture.applier->TryPush(&wrong));
  CHECK(Eventually([&] { return fixture.applier->failed(); }));
  CHECK_FALSE(fixture.applier->history_failed());
  CHECK(fixture.applier->confirmed() == Lsn{100});
  CHECK(fixture.history.pieces().empty());
}

TEST_CASE("a history that cannot be written ends the session, and nothing is confirmed") {
  Fixture fixture;
  fixture.history.FailNext({base::ErrorCode::kStoreFull, "no space"});
  fixture.applier->Start();
  Received item = Message(Batch(0, 200));
  CHECK(fixture.applier->TryPush(&item));
  CHECK(Eventually([&] { return fixture.applier->failed(); }));
  CHECK(fixture.applier->history_failed());
  CHECK(fixture.applier->error().code == base::ErrorCode::kStoreFull);
  fixture.applier->Stop();
  CHECK(fixture.applier->confirmed() == Lsn{100});
}

TEST_CASE("a full queue takes nothing, says so, and wakes the receiver when there is room") {
  Fixture fixture({2000, 10, 1 << 20});
  uint64_t sequence = 0;
  Received item;
  do {
    item = Message(Batch(sequence, 200 + 100 * sequence));
    ++sequence;
  } while (sequence < 100 && fixture.applier->TryPush(&item));
  REQUIRE(sequence < 100);
  CHECK_FALSE(item.message.empty());
  const int wakes = fixture.wakes;
  fixture.applier->Start();
  CHECK(Eventually([&] { return fixture.wakes > wakes; }));
  CHECK(Eventually([&] { return fixture.applier->TryPush(&item); }));
  const Lsn last{200 + 100 * (sequence - 1)};
  CHECK(Eventually([&] { return fixture.applier->confirmed() == last; }));
}

}  // namespace
}  // namespace varve::ingest
