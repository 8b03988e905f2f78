// SPDX-License-Identifier: PostgreSQL
#include "sidecar/ingest/batch_order.h"

#include "tests/support/catch.h"

namespace varve::ingest {
namespace {

using base::Lsn;

const wire::SessionId kSession{1, 2};

bool Takes(BatchOrder* order, uint64_t sequence) {
  const auto taken = order->Arrive({kSession, sequence});
  return taken && *taken;
}

TEST_CASE("batches are taken from 0 on without a gap, those of other sessions are not") {
  BatchOrder order(kSession);
  CHECK(Takes(&order, 0));
  CHECK(Takes(&order, 1));
  CHECK_FALSE(order.Arrive({{1, 3}, 2}).value());
  CHECK_FALSE(order.Arrive({{2, 2}, 0}).value());
  CHECK(Takes(&order, 2));
  CHECK_FALSE(order.Arrive({kSession, 4}));
  CHECK_FALSE(order.Arrive({kSession, 2}));
  CHECK(order.Arrive({kSession, 4}).error().message ==
        "batch 4 came over the bus where 3 was expected: batches are missing");
}

TEST_CASE("a first batch that is not number 0 is a gap") {
  BatchOrder order(kSession);
  CHECK_FALSE(order.Arrive({kSession, 1}));
}

TEST_CASE("a position holds once all batches that were announced before it have arrived") {
  BatchOrder order(kSession);
  order.Keepalive(Lsn{10});
  CHECK(order.NextPosition() == Lsn{10});
  CHECK_FALSE(order.NextPosition());
  REQUIRE(order.Announce(1));
  order.Keepalive(Lsn{20});
  REQUIRE(order.Announce(2));
  order.Keepalive(Lsn{30});
  order.Keepalive(Lsn{40});
  CHECK_FALSE(order.NextPosition());
  CHECK(Takes(&order, 0));
  CHECK(order.NextPosition() == Lsn{20});
  CHECK_FALSE(order.NextPosition());
  CHECK(Takes(&order, 1));
  CHECK(order.NextPosition() == Lsn{40});
  CHECK_FALSE(order.NextPosition());
}

TEST_CASE("a batch may overtake its marker") {
  BatchOrder order(kSession);
  CHECK(Takes(&order, 0));
  CHECK(Takes(&order, 1));
  REQUIRE(order.Announce(1));
  order.Keepalive(Lsn{20});
  CHECK(order.NextPosition() == Lsn{20});
  REQUIRE(order.Announce(2));
  CHECK_FALSE(order.missing());
}

TEST_CASE("markers may repeat themselves and never go back") {
  BatchOrder order(kSession);
  REQUIRE(order.Announce(3));
  REQUIRE(order.Announce(3));
  CHECK_FALSE(order.Announce(2));
}

// Checks each 100 ms, as the receiver does; the time of the error, 0 for none.
int64_t TimeOfError(BatchOrder* order, int64_t from_ms, int64_t to_ms) {
  for (int64_t now = from_ms; now <= to_ms; now += 100) {
    if (!order->CheckMissing(now)) return now;
  }
  return 0;
}

TEST_CASE("a batch that the walsender has let go is lost after 5 s") {
  BatchOrder order(kSession);
  CHECK(TimeOfError(&order, 1'000, 60'000) == 0);
  REQUIRE(order.Announce(1));
  CHECK(TimeOfError(&order, 60'100, 61'000) == 0);
  CHECK_FALSE(order.Late(61'000));
  CHECK(order.Late(61'100));
  order.SawWalEnd(Lsn{500}, 61'000);
  order.SawKeepalive(Lsn{500});
  CHECK(TimeOfError(&order, 61'100, 80'000) == 65'100);
}

TEST_CASE("while the walsender may still fill it a batch is not lost") {
  BatchOrder order(kSession);
  REQUIRE(order.CheckMissing(1'000));
  REQUIRE(order.Announce(1));
  REQUIRE(order.CheckMissing(1'100));
  // Read before the marker: what is being decoded may lie behind it.
  order.SawWalEnd(Lsn{400}, 1'000);
  order.SawKeepalive(Lsn{450});
  CHECK(TimeOfError(&order, 1'200, 20'000) == 0);
  order.SawWalEnd(Lsn{500}, 1'300);
  order.SawKeepalive(Lsn{499});
  CHECK(TimeOfError(&order, 20'100, 40'000) == 0);
  order.SawKeepalive(Lsn{501});
  CHECK(TimeOfError(&order, 40'100, 50'000) == 40'100);
}

TEST_CASE("each batch that arrives gives the next one its time, and so does a full queue") {
  BatchOrder order(kSession);
  REQUIRE(order.CheckMissing(1'000));
  REQUIRE(order.Announce(3));
  REQUIRE(order.CheckMissing(1'100));
  order.SawWalEnd(Lsn{500}, 1'100);
  order.SawKeepalive(Lsn{500});
  CHECK(TimeOfError(&order, 1'200, 6'000) == 0);
  CHECK(Takes(&order, 0));
  CHECK(TimeOfError(&order, 6'100, 20'000) == 0);
  order.SawWalEnd(Lsn{500}, 6'200);
  order.SawKeepalive(Lsn{500});
  order.HoldUp();
  CHECK(TimeOfError(&order, 20'100, 40'000) == 0);
}

TEST_CASE("who was stopped for a while takes nothing for lost") {
  BatchOrder order(kSession);
  REQUIRE(order.CheckMissing(1'000));
  REQUIRE(order.Announce(1));
  REQUIRE(order.CheckMissing(1'100));
  order.SawWalEnd(Lsn{500}, 1'100);
  order.SawKeepalive(Lsn{500});
  REQUIRE(order.CheckMissing(30'000));
  CHECK(TimeOfError(&order, 30'100, 40'000) == 0);
}

}  // namespace
}  // namespace varve::ingest
