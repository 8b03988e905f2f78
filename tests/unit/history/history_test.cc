// SPDX-License-Identifier: PostgreSQL
#include <functional>

#include "tests/unit/history/fixture.h"

namespace varve::test {
namespace {

using base::ErrorCode;
using base::Position;

using Fixture = HistoryFixture;

TEST_CASE("rows of the first copy are there from the consistent point on, across changes and reopening") {
  Fixture f;
  f.Start({Account(1, "ann"), Account(2, "bob", "x"), Account(3, "cid")});
  f.Apply(TestTransaction{1100, 701, 2'000'000}.Update(f.accounts, Account(2, "bea", "y")));
  f.Apply(TestTransaction{1200, 702, 3'000'000}
              .Delete(f.accounts, Account(1, "ann"))
              .Insert(f.accounts, Account(4, "dee")));
  for (int round = 0; round < 2; ++round) {
    CHECK(f.Scan(1000) == std::vector<Cells>{Account(1, "ann"), Account(2, "bob", "x"), Account(3, "cid")});
    CHECK(f.Scan(1099) == f.Scan(1000));
    CHECK(f.Scan(1100) == std::vector<Cells>{Account(1, "ann"), Account(2, "bea", "y"), Account(3, "cid")});
    CHECK(f.Scan(1200) == std::vector<Cells>{Account(2, "bea", "y"), Account(3, "cid"), Account(4, "dee")});
    CHECK(f.Get(2, 1050) == Account(2, "bob", "x"));
    CHECK(f.Get(2, 1200) == Account(2, "bea", "y"));
    CHECK(f.Get(1, 1200) == std::nullopt);
    CHECK(f.Get(4, 1150) == std::nullopt);
    f.Reopen();
  }
  CHECK(f.history->GetStatus().published.position == Position{1200});
  CHECK(f.history->GetStatus().published.xid == base::FullXid{(uint64_t{3} << 32) | 702});
  CHECK(f.history->GetIdentity() == SampleIdentity());
}

TEST_CASE("a scan goes on behind a key, stops at its limit and filters by value") {
  Fixture f;
  f.Start({Account(1, "ann"), Account(2, "bob", "x"), Account(3, "cid", "x"), Account(5, "eve")});
  f.Apply(TestTransaction{1100, 701, 2'000'000}.Update(f.accounts, Account(5, "eve", "x")));
  history::ScanOptions options;
  options.after_key = KeyOf(*f.accounts, {{1, Int4(2)}});
  CHECK(f.Scan(1100, options) == std::vector<Cells>{Account(3, "cid", "x"), Account(5, "eve", "x")});
  options.limit = 1;
  CHECK(f.Scan(1100, options) == std::vector<Cells>{Account(3, "cid", "x")});
  history::ScanOptions filter;
  filter.where = {{"note", "x"}};
  CHECK(f.Scan(1000, filter) == std::vector<Cells>{Account(2, "bob", "x"), Account(3, "cid", "x")});
  filter.where = {{"note", "x"}, {"id", "5"}};
  CHECK(f.Scan(1100, filter) == std::vector<Cells>{Account(5, "eve", "x")});
  filter.where = {{"nope", "x"}};
  const auto status = f.history->Scan(f.accounts->oid, Position{1100}, filter,
                                      [](const history::Row&) -> base::Result<bool> { return true; });
  REQUIRE_FALSE(status);
  CHECK(status.error().code == ErrorCode::kInvalidArgument);
  CHECK(status.error().message == "public.accounts has no column nope");
}

TEST_CASE("what is appended stays invisible until it is published") {
  Fixture f;
  f.Start({Account(1, "ann")});
  const TestTransaction update = TestTransaction{1100, 701, 2'000'000}.Update(f.accounts, Account(1, "amy"));
  REQUIRE(AppendWhole(f.history.get(), update));
  CHECK(f.history->GetStatus().published.position == Position{1000});
  const auto early = f.history->Get(f.accounts->oid, KeyOf(*f.accounts, {{1, Int4(1)}}), Position{1100});
  REQUIRE_FALSE(early);
  CHECK(early.error().code == ErrorCode::kBehind);
  CHECK(f.Get(1, 1000) == Account(1, "ann"));
  REQUIRE(f.history->Publish());
  CHECK(f.Get(1, 1100) == Account(1, "amy"));
  CHECK(f.Get(1, 1000) == Account(1, "ann"));
}

TEST_CASE("a session that starts anew sends again what was not published, and what was is skipped") {
  Fixture f;
  f.Start({Account(1, "ann")});
  const TestTransaction one = TestTransaction{1100, 701, 2'000'000}.Update(f.accounts, Account(1, "a1"));
  const TestTransaction two = TestTransaction{1200, 702, 3'000'000}
                                  .Update(f.accounts, Account(1, "a2"))
                                  .Insert(f.accounts, Account(2, "b2"));
  f.Apply(one);
  REQUIRE(f.history->Append(PieceOf(two, 0, 1)));  // half of it
  REQUIRE(f.history->Publish());
  REQUIRE(f.history->BeginSession(base::FullXid{700}));
  f.Apply(one);  // sent again: skipped
  f.Apply(two);
  f.Apply(two);
  CHECK(f.Get(1, 1100) == Account(1, "a1"));
  CHECK(f.Get(1, 1200) == Account(1, "a2"));
  CHECK(f.history->Tables().at(0).changes == 3);
  uint64_t entries = 0;
  REQUIRE(
      f.history->Log(Position{}, Position{UINT64_MAX}, true,
                     [&](const history::TransactionInfo&) -> base::Result<bool> { return ++entries > 0; }));
  CHECK(entries == 2);
}

TEST_CASE("what comes again must be what came before") {
  HistoryFixture f;
  f.Start({Account(1, "ann")});
  const TestTransaction known = TestTransaction{1100, 701, 2'000'000}.Insert(f.accounts, Account(2, "bob"));
  f.Apply(known);
  f.Apply(TestTransaction{1300, 703, 4'000'000}.Insert(f.accounts, Account(4, "dan")));
  const auto again = [&](const TestTransaction& transaction) {
    f.Reopen();
    return AppendWhole(f.history.get(), transaction);
  };
  CHECK(again(known));
  TestTransaction other = known;
  other.xid = 702;
  CHECK(again(other).error().code == ErrorCode::kConflict);
  other = known;
  other.time += 1;
  CHECK(Contains(again(other).error().message, "this history has transaction 701 of"));
  other = known;
  other.lsn = 1200;
  CHECK(Contains(again(other).error().message, "this history has none: it was restored from a backup"));
  // A new session may be told of tables where the one before was not.
  CHECK(again(TestTransaction{1200, 702, 3'000'000}.Table(model::Op::kRelation, f.accounts)));
  // What lies at or before the first copy was in it.
  CHECK(again(TestTransaction{900, 699, 500'000}.Insert(f.accounts, Account(1, "ann"))));
}

TEST_CASE("a keepalive moves the position without a transaction, never back, never within a transaction") {
  Fixture f;
  f.Start({Account(1, "ann")});
  REQUIRE(f.history->Advance(Position{1500}));
  REQUIRE(f.history->Publish());
  CHECK(f.history->GetStatus().published_through == Position{1500});
  CHECK(f.history->GetStatus().published.position == Position{1000});
  REQUIRE(f.history->Advance(Position{1400}));
  REQUIRE(f.history->Publish());
  CHECK(f.history->GetStatus().published_through == Position{1500});
  // Up to where the server said that it has sent everything nothing can come that is not here.
  const TestTransaction late = TestTransaction{1500, 701, 2'000'000}.Update(f.accounts, Account(1, "no"));
  CHECK(AppendWhole(f.history.get(), late).error().code == ErrorCode::kConflict);
  f.Reopen();
  CHECK(f.Get(1, 1500) == Account(1, "ann"));
  const TestTransaction big = TestTransaction{1600, 702, 3'000'000}
                                  .Update(f.accounts, Account(1, "a"))
                                  .Update(f.accounts, Account(1, "b"));
  REQUIRE(f.history->Append(PieceOf(big, 0, 1)));
  REQUIRE(f.history->Advance(Position{1599}));
  REQUIRE(f.history->Publish());
  CHECK(f.history->GetStatus().published_through == Position{1500});
  REQUIRE(f.history->Append(PieceOf(big, 1, 1)));
  REQUIRE(f.history->Publish());
  CHECK(f.history->GetStatus().published_through == Position{1600});
  f.Reopen();
  CHECK(f.history->GetStatus().published_through == Position{1600});
  CHECK(f.Get(1, 1599) == Account(1, "ann"));
}

TEST_CASE("a change that contradicts what is stored ends its table, by name and position, and no other") {
  const auto refuse = [](const std::function<void(Fixture*, TestTransaction*)>& add,
                         const std::string& words) {
    Fixture f;
    f.Start({Account(1, "ann")});
    TestTransaction transaction{1100, 701, 1};
    add(&f, &transaction);
    f.Apply(transaction);
    f.Apply(TestTransaction{1200, 702, 2}.Update(f.accounts, Account(1, "later")));
    for (int round = 0; round < 2; ++round) {
      CHECK(f.Get(1, 1000) == Account(1, "ann"));
      CHECK(f.history->GetStatus().published_through == Position{1200});
      const auto key = KeyOf(*f.accounts, {{1, Int4(1)}});
      const base::Error error = ErrorOf(f.history->Get(f.accounts->oid, key, Position{1100}));
      CHECK(error.code == ErrorCode::kInternal);
      INFO(error.message);
      CHECK(Contains(error.message, words));
      CHECK(Contains(error.message, "public.accounts"));
      CHECK(f.TableNamed("accounts").state == history::TableState::kBroken);
      f.Reopen();
    }
  };
  refuse([](Fixture* f, TestTransaction* t) { t->Insert(f->accounts, Account(1, "x")); },
         "there is a row with this key already");
  refuse([](Fixture* f, TestTransaction* t) { t->Update(f->accounts, Account(9, "x")); },
         "key 9 at 0/44C change 0");
  refuse([](Fixture* f, TestTransaction* t) { t->Delete(f->accounts, Account(9, "x")); },
         "there is no such row");
  refuse(
      [](Fixture* f, TestTransaction* t) {
        t->Insert(f->accounts, Account(2, "x")).Update(f->accounts, Account(2, "y"), Account(1, "ann"));
      },
      "there is a row with its new key already");
  refuse(
      [](Fixture* f, TestTransaction* t) {
        const auto image = ImageOf(*f->accounts, Account(1, "x", "y"), {{3, model::CellKind::kUnchanged}});
        t->changes.push_back({model::Op::kUpdate, f->accounts->oid, f->accounts, image, {}});
      },
      "column note is unchanged, but the row before has no value for it");
}

TEST_CASE("an unchanged cell takes the value of the version before, also across a key change") {
  Fixture f;
  f.Start({Account(1, "ann", "long")});
  TestTransaction one{1100, 701, 1};
  one.changes.push_back({model::Op::kUpdate,
                         f.accounts->oid,
                         f.accounts,
                         ImageOf(*f.accounts, Account(1, "amy", "-"), {{3, model::CellKind::kUnchanged}}),
                         {}});
  f.Apply(one);
  CHECK(f.Get(1, 1100) == Account(1, "amy", "long"));
  TestTransaction two{1200, 702, 1};
  two.changes.push_back({model::Op::kUpdate, f.accounts->oid, f.accounts,
                         ImageOf(*f.accounts, Account(2, "bea", "-"), {{3, model::CellKind::kUnchanged}}),
                         ImageOf(*f.accounts, {{1, Int4(1)}})});
  f.Apply(two);
  CHECK(f.Get(1, 1200) == std::nullopt);
  CHECK(f.Get(2, 1200) == Account(2, "bea", "long"));
}

}  // namespace
}  // namespace varve::test
