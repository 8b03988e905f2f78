// SPDX-License-Identifier: PostgreSQL
#include "sidecar/history/bag.h"

#include <map>
#include <random>

#include "tests/unit/history/fixture.h"

// Tables without a key: rows as a multiset.
namespace varve::test {
namespace {

using base::Position;
using base::Result;
using history::ChangeKind;
using history::ChangeView;

constexpr uint32_t kBagOid = 16400;

RelationPtr BagRelation(std::vector<model::Column> more = {}, const std::string& name = "bag") {
  std::vector<model::Column> columns{MakeColumn(1, "a", kInt4), MakeColumn(2, "b", kText)};
  for (model::Column& column : more) columns.push_back(std::move(column));
  return MakeRelation(kBagOid, name, columns, 0, 'f');
}

model::Column WithMissing(model::Column column, std::string missing) {
  column.missing = std::move(missing);
  return column;
}

Cells Row(int32_t a, std::optional<std::string> b) { return {{1, Int4(a)}, {2, std::move(b)}}; }

using Bag = std::map<Cells, int>;

Bag ScanBag(const history::History& history, uint64_t lsn) {
  Bag rows;
  const auto status =
      history.Scan(base::TableOid{kBagOid}, Position{lsn}, {}, [&](const history::Row& row) -> Result<bool> {
        CHECK(row.key.size() == history::kBagKeyBytes);
        ++rows[CellsOf(row)];
        return true;
      });
  if (!status) FAIL(status.error().message);
  return rows;
}

void AddUpdate(TestTransaction* transaction, const RelationPtr& relation, const Cells& before,
               const Cells& after, const std::map<uint16_t, model::CellKind>& kinds = {}) {
  TestChange change{model::Op::kUpdate, relation->oid, relation, ImageOf(*relation, after, kinds),
                    ImageOf(*relation, before)};
  change.old_is_full = true;
  transaction->changes.push_back(std::move(change));
}

void AddDelete(TestTransaction* transaction, const RelationPtr& relation, const Cells& row) {
  TestChange change{model::Op::kDelete, relation->oid, relation, {}, ImageOf(*relation, row)};
  change.old_is_full = true;
  transaction->changes.push_back(std::move(change));
}

struct BagFixture {
  TemporaryDirectory directory;
  FixedClock clock;
  std::unique_ptr<history::History> history = OpenHistory(directory.path(), &clock);
  RelationPtr bag = BagRelation();

  void Start(const std::vector<Cells>& rows) {
    REQUIRE(CopyTables(history.get(), {{bag, rows}}));
    REQUIRE(history->BeginSession(kXidNear));
  }
  void Apply(const TestTransaction& transaction) {
    REQUIRE(AppendWhole(history.get(), transaction));
    REQUIRE(history->Publish());
  }
  std::string StopReason() const {
    for (const history::TableInfo& info : history->Tables()) {
      if (info.state == history::TableState::kBroken) return info.reason;
    }
    return {};
  }
};

TEST_CASE("the digest of a row does not change when a column comes with a default") {
  const RelationPtr before = BagRelation();
  const RelationPtr after =
      BagRelation({WithMissing(MakeColumn(3, "c", kText), "x"), MakeColumn(4, "d", kText)});
  const model::RowDefaults defaults = history::DefaultsOf(*after);
  const auto digest = [&](const RelationPtr& relation, const Cells& cells) {
    const std::string image = ImageOf(*relation, cells);
    return model::RowDigest(*model::DecodeImage(*relation, image), defaults);
  };
  const Cells with{{1, Int4(1)}, {2, "b"}, {3, "x"}, {4, std::nullopt}};
  CHECK(digest(before, Row(1, "b")) == digest(after, with));
  Cells other = with;
  other[3] = std::nullopt;
  CHECK(digest(after, other) != digest(after, with));
  other = with;
  other[4] = "";
  CHECK(digest(after, other) != digest(after, with));
  CHECK(digest(before, Row(1, std::nullopt)) != digest(before, Row(1, "")));
  // Persisted: these bytes are in stores.
  std::string hex;
  for (const char c : digest(before, Row(1, "b"))) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    hex += {kDigits[static_cast<unsigned char>(c) >> 4], kDigits[static_cast<unsigned char>(c) & 15]};
  }
  CHECK(hex == "5cb7446af88abf6538282de0d2d10d1a");
}

TEST_CASE("places are counted with few looks") {
  for (uint32_t count : {0U, 1U, 2U, 3U, 7U, 8U, 100U, 1000U, 123456U}) {
    int looks = 0;
    const auto counted = history::CountPlaces([&](uint32_t place) -> Result<bool> {
      ++looks;
      return place < count;
    });
    REQUIRE(counted);
    CHECK(*counted == count);
    CHECK(looks <= (count < 2 ? 2 : 40));
  }
}

TEST_CASE("rows without a key are kept as often as they are there") {
  BagFixture f;
  f.Start({Row(1, "x"), Row(1, "x"), Row(2, std::nullopt)});
  CHECK(ScanBag(*f.history, kFirstLsn) == Bag{{Row(1, "x"), 2}, {Row(2, std::nullopt), 1}});
  TestTransaction first{1100, 701, 2'000'000};
  first.Insert(f.bag, Row(1, "x"));
  AddDelete(&first, f.bag, Row(2, std::nullopt));
  AddUpdate(&first, f.bag, Row(1, "x"), Row(3, "y"));
  f.Apply(first);
  TestTransaction second{1200, 702, 3'000'000};
  // Unchanged large values are in the old row.
  AddUpdate(&second, f.bag, Row(1, "x"), Row(7, "x"), {{2, model::CellKind::kUnchanged}});
  AddUpdate(&second, f.bag, Row(3, "y"), Row(3, "y"));
  f.Apply(second);
  CHECK(ScanBag(*f.history, 1100) == Bag{{Row(1, "x"), 2}, {Row(3, "y"), 1}});
  CHECK(ScanBag(*f.history, 1200) == Bag{{Row(1, "x"), 1}, {Row(7, "x"), 1}, {Row(3, "y"), 1}});
  CHECK(ScanBag(*f.history, kFirstLsn) == Bag{{Row(1, "x"), 2}, {Row(2, std::nullopt), 1}});
}

TEST_CASE("what cannot be found without a key ends the table by name") {
  BagFixture f;
  f.Start({Row(1, "x")});
  TestTransaction transaction{1100, 701, 2'000'000};
  SECTION("a row that is not there") { AddDelete(&transaction, f.bag, Row(2, "x")); }
  SECTION("one delete more than there are rows") {
    AddDelete(&transaction, f.bag, Row(1, "x"));
    AddDelete(&transaction, f.bag, Row(1, "x"));
  }
  SECTION("an old row that is not whole") {
    AddDelete(&transaction, f.bag, Row(1, "x"));
    transaction.changes.back().old_is_full = false;
  }
  SECTION("a column that is dropped") {
    transaction.Table(model::Op::kRelation,
                      MakeRelation(kBagOid, "bag", {MakeColumn(1, "a", kInt4)}, 2, 'f'));
  }
  SECTION("a column of another type") {
    transaction.Table(
        model::Op::kRelation,
        MakeRelation(kBagOid, "bag", {MakeColumn(1, "a", kText), MakeColumn(2, "b", kText)}, 2, 'f'));
  }
  SECTION("a key that comes") {
    transaction.Table(
        model::Op::kRelation,
        MakeRelation(kBagOid, "bag", {MakeColumn(1, "a", kInt4, 1), MakeColumn(2, "b", kText)}, 2, 'f'));
  }
  f.Apply(transaction);
  CHECK_FALSE(f.StopReason().empty());
  CHECK_FALSE(f.history->RelationAt(base::TableOid{kBagOid}, Position{1100}));
  CHECK(ScanBag(*f.history, kFirstLsn) == Bag{{Row(1, "x"), 1}});
}

// A random life of a bag, and what it held at each moment.
class RandomBag {
 public:
  explicit RandomBag(uint32_t seed) : random_(seed), clock_() {
    relation_ = BagRelation();
    for (uint32_t i = Random(20); i > 0; --i) copy_.push_back(RandomRow());
    for (const Cells& row : copy_) ++rows_[row];
    moments_.emplace_back(kFirstLsn, rows_);
    relations_.push_back(relation_);
    for (int i = 0; i < 25; ++i) AddTransaction();
  }

  void Run() {
    history_ = OpenHistory(directory_.path(), &clock_);
    REQUIRE(CopyTables(history_.get(), {{BagRelation(), copy_}}));
    REQUIRE(history_->BeginSession(kXidNear));
    for (size_t next = 0; next < transactions_.size();) {
      const TestTransaction& transaction = transactions_[next];
      const size_t count = transaction.changes.size();
      const size_t cut = Random(3) == 0 && count > 1 ? 1 + Random(static_cast<uint32_t>(count - 1)) : count;
      REQUIRE(history_->Append(PieceOf(transaction, 0, cut)));
      if (cut < count && Random(3) == 0) {
        // Half of it is written; the server sends it again.
        REQUIRE(history_->Publish());
        next = Reopen();
        continue;
      }
      if (cut < count) REQUIRE(history_->Append(PieceOf(transaction, cut, count - cut)));
      if (Random(3) == 0) REQUIRE(history_->Publish());
      ++next;
    }
    REQUIRE(history_->Publish());
    Check();
    Reopen();
    Check();
  }

 private:
  uint32_t Random(uint32_t below) { return static_cast<uint32_t>(random_()) % below; }

  // The transaction to go on with.
  size_t Reopen() {
    history_.reset();
    history_ = OpenHistory(directory_.path(), &clock_);
    REQUIRE(history_->BeginSession(kXidNear));
    const uint64_t published = history_->GetStatus().published_through.value;
    size_t next = 0;
    while (next < transactions_.size() && transactions_[next].lsn <= published) ++next;
    return next;
  }

  Cells RandomRow() {
    Cells row;
    for (const model::Column& column : relation_->columns) {
      if (column.type_oid == kInt4) {
        row[column.attnum] = Int4(static_cast<int32_t>(Random(3)));
      } else {
        row[column.attnum] =
            Random(3) == 0 ? std::nullopt
                           : std::optional<std::string>(std::string(1, static_cast<char>('a' + Random(2))));
      }
    }
    return row;
  }
  Cells PresentRow() {
    auto at = rows_.begin();
    std::advance(at, Random(static_cast<uint32_t>(rows_.size())));
    return at->first;
  }
  void Remove(const Cells& row) {
    if (--rows_[row] == 0) rows_.erase(row);
  }

  void AddColumn(TestTransaction* transaction) {
    std::vector<model::Column> columns = relation_->columns;
    model::Column column =
        MakeColumn(static_cast<uint16_t>(columns.size() + 1), "c" + std::to_string(columns.size()), kText);
    if (Random(2) == 0) column.missing = std::string(1, static_cast<char>('a' + Random(2)));
    columns.push_back(column);
    relation_ = MakeRelation(kBagOid, "bag", columns, 0, 'f');
    Bag wider;
    for (const auto& [row, count] : rows_) {
      Cells cells = row;
      cells[column.attnum] = column.missing;
      wider[cells] = count;
    }
    rows_ = wider;
    transaction->Table(model::Op::kRelation, relation_);
  }

  void AddTransaction() {
    TestTransaction transaction{moments_.back().first + 100, static_cast<uint32_t>(701 + moments_.size()),
                                static_cast<int64_t>(2'000'000 + moments_.size())};
    for (uint32_t i = 1 + Random(6); i > 0; --i) {
      const uint32_t what = Random(20);
      if (what == 0 && relation_->columns.size() < 6) {
        AddColumn(&transaction);
      } else if (what == 1) {
        transaction.Table(model::Op::kTruncate, relation_);
        rows_.clear();
      } else if (what < 9 || rows_.empty()) {
        const Cells row = RandomRow();
        transaction.Insert(relation_, row);
        ++rows_[row];
      } else if (what < 15) {
        const Cells before = PresentRow();
        Cells after = RandomRow();
        std::map<uint16_t, model::CellKind> kinds;
        if (before.at(2)) {
          after[2] = before.at(2);
          kinds[2] = model::CellKind::kUnchanged;
        }
        AddUpdate(&transaction, relation_, before, after, kinds);
        Remove(before);
        ++rows_[after];
      } else {
        const Cells row = PresentRow();
        AddDelete(&transaction, relation_, row);
        Remove(row);
      }
    }
    transactions_.push_back(transaction);
    moments_.emplace_back(transaction.lsn, rows_);
    relations_.push_back(relation_);
  }

  // Counts under the later schema: what older rows have in columns that came is their default.
  Bag Under(const Bag& rows, const RelationPtr& relation) const {
    Bag shown;
    for (const auto& [row, count] : rows) {
      Cells cells = row;
      for (const model::Column& column : relation->columns) {
        if (cells.count(column.attnum) == 0) cells[column.attnum] = column.missing;
      }
      shown[cells] += count;
    }
    return shown;
  }

  void CheckDiff(size_t from, size_t to) {
    Bag net;
    const auto status =
        history_->Diff(Position{moments_[from].first}, Position{moments_[to].first}, base::TableOid{kBagOid},
                       false, [&](const ChangeView& view) -> Result<bool> {
                         if (view.kind == ChangeKind::kSchema) return true;
                         REQUIRE((view.kind == ChangeKind::kInsert || view.kind == ChangeKind::kDelete));
                         const bool is_new = view.kind == ChangeKind::kInsert;
                         Cells cells = CellsOf(is_new ? *view.after : *view.before);
                         const Bag one = Under({{cells, is_new ? 1 : -1}}, relations_[to]);
                         for (const auto& [row, count] : one) net[row] += count;
                         return true;
                       });
    if (!status) FAIL(status.error().message);
    Bag expected = moments_[to].second;
    for (const auto& [row, count] : Under(moments_[from].second, relations_[to])) expected[row] -= count;
    const auto is_zero = [](const auto& entry) { return entry.second == 0; };
    std::erase_if(net, is_zero);
    std::erase_if(expected, is_zero);
    REQUIRE(net == expected);
  }

  void Check() {
    for (size_t i = 0; i < moments_.size(); ++i) {
      REQUIRE(ScanBag(*history_, moments_[i].first) == moments_[i].second);
      CheckDiff(0, i);
      CheckDiff(i, moments_.size() - 1);
      if (i == 0) continue;
      size_t steps = 0;
      const auto shown =
          history_->Show(Position{moments_[i].first}, [&](const ChangeView& view) -> Result<bool> {
            if (view.kind != ChangeKind::kSchema) ++steps;
            return true;
          });
      if (!shown) FAIL(shown.error().message);
      size_t expected = 0;
      for (const TestChange& change : transactions_[i - 1].changes)
        expected += change.op != model::Op::kRelation;
      REQUIRE(steps == expected);
    }
  }

  std::mt19937 random_;
  FixedClock clock_;
  TemporaryDirectory directory_;
  std::unique_ptr<history::History> history_;
  RelationPtr relation_;
  std::vector<RelationPtr> relations_;  // at each moment
  std::vector<Cells> copy_;
  Bag rows_;
  std::vector<TestTransaction> transactions_;
  std::vector<std::pair<uint64_t, Bag>> moments_;
};

TEST_CASE("random bags read back exactly at every position") {
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    INFO("seed " << seed);
    RandomBag(seed).Run();
  }
}

}  // namespace
}  // namespace varve::test
