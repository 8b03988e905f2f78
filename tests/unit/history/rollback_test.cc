// SPDX-License-Identifier: PostgreSQL
#include <string>

#include "tests/unit/history/fixture.h"

namespace varve::test {
namespace {

using base::Position;

using Fixture = HistoryFixture;

// Larger than what the applier keeps in memory, so that each transaction is written before it is published.
const std::string kLarge(size_t{5} << 20, 'x');

TEST_CASE("transactions that were written and not published are taken back, however often they met one row") {
  Fixture f;
  f.Start({Account(1, "ann")});
  const TestTransaction insert =
      TestTransaction{1100, 701, 2'000'000}.Insert(f.accounts, Account(2, "b", kLarge));
  const TestTransaction update = TestTransaction{1200, 702, 3'000'000}
                                     .Update(f.accounts, Account(2, "b2", kLarge))
                                     .Update(f.accounts, Account(1, "a2", kLarge));
  const TestTransaction remove = TestTransaction{1300, 703, 4'000'000}.Delete(f.accounts, Account(2, "b2"));
  for (int round = 0; round < 2; ++round) {
    REQUIRE(AppendWhole(f.history.get(), insert));
    REQUIRE(AppendWhole(f.history.get(), update));
    REQUIRE(AppendWhole(f.history.get(), remove));
    if (round == 0) {
      f.Reopen();
    } else {
      REQUIRE(f.history->BeginSession(kXidNear));
    }
    CHECK(f.Scan(1000).size() == 1);
  }
  f.Apply(insert);
  f.Apply(update);
  f.Apply(remove);
  CHECK(f.Scan(1100).size() == 2);
  CHECK(f.Get(2, 1200) == Account(2, "b2", kLarge));
  CHECK(f.Get(1, 1100) == Account(1, "ann"));
  CHECK_FALSE(f.Get(2, 1300).has_value());
}

}  // namespace
}  // namespace varve::test
