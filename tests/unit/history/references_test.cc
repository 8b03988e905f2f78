// SPDX-License-Identifier: PostgreSQL
#include <thread>

#include "tests/unit/history/fixture.h"

namespace varve::test {
namespace {

using base::ErrorCode;
using base::Position;

// Three transactions whose clocks step back and stand still.
void ThreeTransactions(HistoryFixture* f) {
  f->Start({Account(1, "a")});
  f->Apply(TestTransaction{1100, 701, 5'000'000}.Update(f->accounts, Account(1, "b")));
  f->Apply(TestTransaction{1200, 702, 4'000'000}.Update(f->accounts, Account(1, "c")));
  f->Apply(TestTransaction{1300, 703, 5'000'000}.Update(f->accounts, Account(1, "d")));
}

TEST_CASE("a time means the longest prefix of history whose commit times are all at or before it") {
  HistoryFixture f;
  ThreeTransactions(&f);
  f.clock.now = 6'000'000;
  const auto at = [&](int64_t micros) {
    return f.Resolve("time:" + base::FormatTimestamp(base::Timestamp{micros}));
  };
  CHECK(at(kFirstTime)->position == Position{kFirstLsn});
  CHECK_FALSE(at(kFirstTime)->xid.has_value());
  CHECK(at(4'500'000)->position == Position{kFirstLsn});  // 702 committed before it, but 701 did not
  CHECK(at(5'000'000)->position == Position{1300});       // ties: the last of them
  CHECK(at(5'500'000)->position == Position{1300});
  CHECK(ErrorOf(at(kFirstTime - 1)).code == ErrorCode::kBeforeHistory);
  CHECK(Contains(ErrorOf(at(kFirstTime - 1)).message, "which begins at 0/3E8 (2000-01-01T00:00:01Z)"));
  CHECK(ErrorOf(at(6'000'001)).code == ErrorCode::kInTheFuture);
}

TEST_CASE("positions, steps back, xids and what they cannot be") {
  HistoryFixture f;
  ThreeTransactions(&f);
  CHECK(f.Resolve("now")->position == Position{1300});
  CHECK(f.Resolve("now")->commit_time == base::Timestamp{5'000'000});
  CHECK(f.Resolve("now^")->position == Position{1200});
  CHECK(f.Resolve("now^3")->position == Position{kFirstLsn});
  CHECK(ErrorOf(f.Resolve("now^4")).code == ErrorCode::kBeforeHistory);
  CHECK(f.Resolve("first")->position == Position{kFirstLsn});
  CHECK(ErrorOf(f.Resolve("first^")).code == ErrorCode::kBeforeHistory);
  CHECK(f.Resolve("0/4B1")->position == Position{1200});
  CHECK(f.Resolve("lsn:0:0/4B0")->position == Position{1200});
  CHECK(f.Resolve("0/4B1^")->position == Position{1100});
  CHECK(ErrorOf(f.Resolve("0/3E7")).code == ErrorCode::kBeforeHistory);
  CHECK(ErrorOf(f.Resolve("0/515")).code == ErrorCode::kBehind);
  CHECK(ErrorOf(f.Resolve("lsn:1:0/4B0")).code == ErrorCode::kUnknownReference);
  CHECK(f.Resolve("xid:702")->position == Position{1200});
  CHECK(f.Resolve("xid:3:702")->position == Position{1200});
  CHECK(f.Resolve("xid:702^")->position == Position{1100});
  CHECK(ErrorOf(f.Resolve("xid:2:702")).code == ErrorCode::kUnknownReference);
  CHECK(ErrorOf(f.Resolve("xid:9")).code == ErrorCode::kUnknownReference);
  CHECK(ErrorOf(f.Resolve("branch:b")).code == ErrorCode::kUnknownReference);
  CHECK(ErrorOf(f.Resolve("tag:t")).code == ErrorCode::kUnknownReference);
}

TEST_CASE("of several transactions with one 32-bit xid the latest is meant, the epoch names the others") {
  HistoryFixture f;
  f.Start({Account(1, "a")});
  REQUIRE(f.history->BeginSession(base::FullXid{0x1FFFFFFF0}));
  f.Apply(TestTransaction{1100, 0xFFFFFFF5, 2'000'000}.Update(f.accounts, Account(1, "b")));
  f.Apply(TestTransaction{1200, 5, 3'000'000}.Update(f.accounts, Account(1, "c")));  // wrapped around
  REQUIRE(f.history->BeginSession(base::FullXid{0x2FFFFFFF0}));
  f.Apply(TestTransaction{1300, 0xFFFFFFF5, 4'000'000}.Update(f.accounts, Account(1, "d")));
  CHECK(f.Resolve("xid:4294967285")->position == Position{1300});
  CHECK(f.Resolve("xid:1:4294967285")->position == Position{1100});
  CHECK(f.Resolve("xid:5")->xid == base::FullXid{0x200000005});
}

TEST_CASE("a message outside a transaction is logged at its own place and is no step") {
  HistoryFixture f;
  f.Start({Account(1, "a")});
  f.Apply(TestTransaction{1100, 701, 2'000'000}.Message("app", "in"));
  TestTransaction outside{1200, 0, 0, true, {}};
  outside.Message("app", "out", false);
  f.Apply(outside);
  CHECK(f.history->GetStatus().published_through == Position{1200});
  CHECK(f.Resolve("now")->position == Position{1100});
  CHECK(f.Resolve("now^")->position == Position{kFirstLsn});
  std::string seen;
  REQUIRE(f.history->Diff(Position{1000}, Position{1200}, std::nullopt, true,
                          [&](const history::ChangeView& view) -> base::Result<bool> {
                            seen += std::string(view.message_prefix) + "=" +
                                    std::string(view.message_content) + " ";
                            return true;
                          }));
  CHECK(seen == "app=in app=out ");
}

TEST_CASE("tags keep their moment, are unique, have names of a kind and outlive the process") {
  HistoryFixture f;
  ThreeTransactions(&f);
  const history::ReadPoint point = f.Resolve("xid:702").value();
  REQUIRE(f.history->CreateTag("before/x-1", point));
  CHECK(ErrorOf(f.history->CreateTag("before/x-1", point)).code == ErrorCode::kExists);
  CHECK(ErrorOf(f.history->CreateTag("no^", point)).code == ErrorCode::kInvalidArgument);
  CHECK(ErrorOf(f.history->CreateTag("", point)).code == ErrorCode::kInvalidArgument);
  f.Reopen();
  CHECK(f.Resolve("tag:before/x-1")->position == Position{1200});
  CHECK(f.Resolve("tag:before/x-1^")->position == Position{1100});
  REQUIRE(f.history->Tags().size() == 1);
  CHECK(f.history->Tags()[0].point.xid == point.xid);
  REQUIRE(f.history->DeleteTag("before/x-1"));
  CHECK(ErrorOf(f.history->DeleteTag("before/x-1")).code == ErrorCode::kNotFound);
  f.Reopen();
  CHECK(f.history->Tags().empty());
}

TEST_CASE("waiting ends when the position is published, or says how far the history is") {
  HistoryFixture f;
  f.Start({Account(1, "a")});
  const auto late = f.history->WaitFor(Position{1100}, std::chrono::milliseconds(20));
  CHECK(ErrorOf(late).code == ErrorCode::kBehind);
  CHECK(Contains(late.error().message, "0/44C is not here yet: the history reaches 0/3E8"));
  base::Status waited;
  std::thread waiter([&] { waited = f.history->WaitFor(Position{1100}, std::chrono::seconds(30)); });
  f.Apply(TestTransaction{1100, 701, 2'000'000}.Update(f.accounts, Account(1, "b")));
  waiter.join();
  CHECK(waited.has_value());
}

}  // namespace
}  // namespace varve::test
