// SPDX-License-Identifier: PostgreSQL
#include <thread>

#include "sidecar/store/record_format.h"
#include "sidecar/store/store.h"
#include "tests/unit/history/fixture.h"

namespace varve::test {
namespace {

using base::ErrorCode;
using base::Position;

std::unique_ptr<store::Store> OpenStore(const HistoryFixture& f) {
  return std::move(store::Store::Open({f.directory.path() + "/store", uint64_t{16} << 20}).value());
}

base::Error OpenError(const HistoryFixture& f) {
  history::Options options;
  options.data_dir = f.directory.path();
  options.memory_bytes = uint64_t{16} << 20;
  const auto opened = history::History::Open(options, &f.clock);
  REQUIRE_FALSE(opened.has_value());
  return opened.error();
}

TEST_CASE(
    "nothing is readable until the first copy is finished, and an unfinished one leaves only whose it was") {
  HistoryFixture f;
  REQUIRE(f.history->BeginBaseline(SampleIdentity()));
  REQUIRE(f.history->AddBaselineTable(*f.accounts));
  REQUIRE(f.history->AddBaselineRow(f.accounts->oid, ImageOf(*f.accounts, Account(1, "old"))));
  CHECK(f.history->Tables().at(0).state == history::TableState::kCopying);
  CHECK_FALSE(f.history->GetStatus().baseline_complete);
  CHECK(ErrorOf(f.Resolve("now")).code == ErrorCode::kUnavailable);
  CHECK(ErrorOf(f.history->FindTable("accounts")).code == ErrorCode::kUnavailable);
  CHECK(ErrorOf(f.history->Publish()).code == ErrorCode::kUnavailable);
  f.history.reset();
  f.history = OpenHistory(f.directory.path(), &f.clock);
  CHECK(f.history->Tables().empty());
  // By which the slot that was made for it is known.
  CHECK(f.history->GetIdentity() == SampleIdentity());
  CHECK_FALSE(f.history->GetStatus().baseline_complete);
  CHECK(ErrorOf(f.history->AddBaselineTable(*f.accounts)).code == ErrorCode::kInvalidArgument);
  // Begun, and begun again without being finished.
  REQUIRE(f.history->BeginBaseline(SampleIdentity()));
  REQUIRE(f.history->AddBaselineTable(*f.accounts));
  REQUIRE(f.history->AddBaselineRow(f.accounts->oid, ImageOf(*f.accounts, Account(7, "older"))));
  f.Start({Account(2, "new")});
  CHECK(f.Scan(1000) == std::vector<Cells>{Account(2, "new")});
  CHECK(ErrorOf(f.history->BeginBaseline(SampleIdentity())).code == ErrorCode::kExists);
}

TEST_CASE("a thousand rows of many sizes from several threads come back in key order, page by page") {
  HistoryFixture f;
  constexpr int32_t kRows = 3000;
  const auto row_of = [](int32_t id) { return Account(id, std::string(static_cast<size_t>(id % 700), 'x')); };
  REQUIRE(f.history->BeginBaseline(SampleIdentity()));
  REQUIRE(f.history->AddBaselineTable(*f.accounts));
  std::vector<std::string> images;
  for (int32_t id = 0; id < kRows; ++id) images.push_back(ImageOf(*f.accounts, row_of(id)));
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  for (int32_t thread = 0; thread < 3; ++thread) {
    threads.emplace_back([&, thread] {
      for (int32_t id = kRows - 1 - thread; id >= 0; id -= 3) {
        if (!f.history->AddBaselineRow(f.accounts->oid, images[static_cast<size_t>(id)])) ++failures;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(failures == 0);
  REQUIRE(f.history->FinishBaseline(Position{kFirstLsn}, base::Timestamp{kFirstTime}));
  REQUIRE(f.history->BeginSession(kXidNear));
  f.Apply(TestTransaction{1100, 701, 2'000'000}.Insert(f.accounts, Account(-5, "first")));
  for (int round = 0; round < 2; ++round) {
    const std::vector<Cells> rows = f.Scan(1000);
    REQUIRE(rows.size() == kRows);
    for (int32_t id = 0; id < kRows; ++id) REQUIRE(rows[static_cast<size_t>(id)] == row_of(id));
    CHECK(f.Scan(1100).size() == kRows + 1);
    for (const int32_t id : {0, 1, 255, 256, 257, 1500, kRows - 1}) CHECK(f.Get(id, 1100) == row_of(id));
    CHECK(f.Get(kRows, 1100) == std::nullopt);
    history::ScanOptions options;
    options.after_key = KeyOf(*f.accounts, {{1, Int4(2997)}});
    CHECK(f.Scan(1100, options) == std::vector<Cells>{row_of(2998), row_of(2999)});
    f.Reopen();
  }
}

TEST_CASE("rows and tables that the first copy cannot take are refused by name") {
  HistoryFixture f;
  const RelationPtr keyless = MakeRelation(17000, "keyless", {MakeColumn(1, "a", kText)});
  const RelationPtr left_out = Accounts(17001, "left_out");
  REQUIRE(f.history->BeginBaseline(SampleIdentity()));
  for (const RelationPtr& relation : {f.accounts, keyless, left_out}) {
    REQUIRE(f.history->AddBaselineTable(*relation));
  }
  const auto add = [&](const RelationPtr& relation, const std::string& image) {
    return f.history->AddBaselineRow(relation->oid, image);
  };
  REQUIRE(add(f.accounts, ImageOf(*f.accounts, Account(1, "a"))));
  const auto twice = add(f.accounts, ImageOf(*f.accounts, Account(1, "b")));
  CHECK(ErrorOf(twice).code == ErrorCode::kInvalidArgument);
  CHECK(twice.error().message == "two rows of the first copy of public.accounts have the key 1");
  CHECK(ErrorOf(add(f.accounts, "junk")).code == ErrorCode::kInvalidArgument);
  CHECK(ErrorOf(add(keyless, ImageOf(*keyless, {{1, "x"}}))).code == ErrorCode::kNotTracked);
  REQUIRE(add(left_out, ImageOf(*left_out, Account(1, "a"))));
  REQUIRE(f.history->ExcludeBaselineTable(left_out->oid, "no SELECT right"));
  CHECK(ErrorOf(add(left_out, ImageOf(*left_out, Account(2, "a")))).code == ErrorCode::kNotTracked);
  CHECK(ErrorOf(f.history->ExcludeBaselineTable(base::TableOid{5}, "x")).code == ErrorCode::kInvalidArgument);
  CHECK(ErrorOf(f.history->AddBaselineTable(*f.accounts)).code == ErrorCode::kInvalidArgument);
  model::Relation forged = *Accounts(17002, "forged");
  forged.version.value ^= 1;
  CHECK(ErrorOf(f.history->AddBaselineTable(forged)).code == ErrorCode::kInvalidArgument);
  REQUIRE(f.history->FinishBaseline(Position{kFirstLsn}, base::Timestamp{kFirstTime}));
  f.Reopen();
  CHECK(f.Scan(1000) == std::vector<Cells>{Account(1, "a")});
  CHECK(Contains(f.TableNamed("keyless").reason, "alter table public.keyless replica identity"));
  CHECK(Contains(f.TableNamed("left_out").reason, "no SELECT right"));
  CHECK(Contains(ErrorOf(f.history->FindTable("left_out")).message, "no SELECT right"));
  // Its changes are counted and not kept.
  f.Apply(TestTransaction{1100, 701, 2'000'000}.Insert(left_out, Account(1, "a")));
  CHECK(f.TableNamed("left_out").changes == 1);
}

TEST_CASE("another store version, a foreign database and a second varved are refused") {
  HistoryFixture f;
  CHECK(OpenError(f).code == ErrorCode::kUnavailable);
  f.Start({Account(1, "a")});
  f.history.reset();
  {
    const auto store = OpenStore(f);
    REQUIRE(store->Put(store::Family::kCatalog, store::CatalogKey(store::CatalogTag::kStoreVersion),
                       store::EncodeNumber(99), store::Durability::kSynced));
  }
  CHECK(OpenError(f).code == ErrorCode::kInvalidArgument);
  CHECK(Contains(OpenError(f).message, "the store has version 99"));
  {
    const auto store = OpenStore(f);
    store::Batch batch(store.get());
    batch.Delete(store::Family::kCatalog, store::CatalogKey(store::CatalogTag::kStoreVersion));
    REQUIRE(store->Write(&batch, store::Durability::kSynced));
  }
  CHECK(OpenError(f).code == ErrorCode::kInvalidArgument);
}

TEST_CASE("damaged records are errors where they are read, never a crash") {
  HistoryFixture f;
  f.Start({Account(1, "a"), Account(2, "b")});
  f.Apply(TestTransaction{1100, 701, 2'000'000}.Update(f.accounts, Account(1, "c")));
  f.Apply(TestTransaction{1200, 702, 3'000'000}.Update(f.accounts, Account(1, "d")));
  f.history.reset();
  const std::string row_key = store::RowKey(f.accounts->oid, KeyOf(*f.accounts, {{1, Int4(1)}}));
  const auto damage = [&](store::Family family, const std::string& key, const std::string& value) {
    const auto store = OpenStore(f);
    REQUIRE(store->Get(family, key).value().has_value());
    REQUIRE(store->Put(family, key, value, store::Durability::kSynced));
  };
  SECTION("rows, log and transactions") {
    damage(store::Family::kHead, row_key, "junk");
    damage(store::Family::kRewind, store::RewindKey(row_key, Position{1200}), "junk");
    damage(store::Family::kLog, store::LogKey({Position{1200}, base::Seq{0}}), "j");
    damage(store::Family::kTransaction, store::PositionKey(Position{1200}), "junk");
    f.history = OpenHistory(f.directory.path(), &f.clock);
    const auto row = f.history->Get(f.accounts->oid, store::RowKeyBytes(row_key), Position{1200});
    CHECK(ErrorOf(row).message == "the store holds a damaged row version");
    const auto scan = f.history->Scan(f.accounts->oid, Position{1100}, {},
                                      [](const history::Row&) -> base::Result<bool> { return true; });
    CHECK(ErrorOf(scan).code == ErrorCode::kInternal);
    CHECK(ErrorOf(f.history->GetTransaction(Position{1200})).message ==
          "the store holds a damaged transaction");
    const auto steps = f.history->Diff(Position{1000}, Position{1200}, std::nullopt, true,
                                       [](const history::ChangeView&) -> base::Result<bool> { return true; });
    CHECK(ErrorOf(steps).code == ErrorCode::kInternal);
  }
  SECTION("the catalog") {
    damage(store::Family::kCatalog, store::CatalogKey(store::CatalogTag::kPublished), "junk");
    CHECK(OpenError(f).message == "the store holds a damaged published position");
  }
  SECTION("a relation version") {
    damage(store::Family::kCatalog, store::RelationKey(f.accounts->version, 0), "junk");
    CHECK(OpenError(f).message == "the store holds a damaged relation version");
  }
}

}  // namespace
}  // namespace varve::test
