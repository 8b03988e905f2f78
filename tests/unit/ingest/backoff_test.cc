// SPDX-License-Identifier: PostgreSQL
#include "sidecar/ingest/backoff.h"

#include "tests/support/catch.h"

namespace varve::ingest {
namespace {

TEST_CASE("waits double from half a second to half a minute, give or take a fifth") {
  Backoff backoff(1);
  int wanted_ms = 500;
  for (int i = 0; i < 10; ++i) {
    const int wait_ms = backoff.NextMs();
    INFO("wait " << i << " is " << wait_ms);
    CHECK(wait_ms >= wanted_ms * 4 / 5);
    CHECK(wait_ms <= wanted_ms * 6 / 5);
    wanted_ms = std::min(wanted_ms * 2, 30'000);
  }
  backoff.Reset();
  CHECK(backoff.NextMs() <= 600);
  CHECK(backoff.LongestMs() >= 24'000);
}

}  // namespace
}  // namespace varve::ingest
