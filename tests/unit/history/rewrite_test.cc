// SPDX-License-Identifier: PostgreSQL
#include "tests/support/catch.h"
#include "tests/unit/history/fixture.h"

// Tables that ALTER TABLE writes anew, with the rows that it wrote.
namespace varve::test {
namespace {

using base::ErrorCode;
using base::Position;
using history::ChangeKind;
using history::ChangeView;
using history::TableState;
using model::Op;

constexpr uint32_t kInt8 = 20;

std::string Int8(int32_t value) { return std::string(4, value < 0 ? '\xff' : '\0') + Int4(value); }

// accounts with a note of another type.
RelationPtr WithNote(uint32_t type) {
  return MakeRelation(
      16384, "accounts",
      {MakeColumn(1, "id", kInt4, 1), MakeColumn(2, "name", kText), MakeColumn(3, "note", type)});
}

struct Shown {
  ChangeKind kind;
  std::optional<Cells> before;
  std::optional<Cells> after;
  std::vector<uint16_t> changed;
  bool operator==(const Shown&) const = default;
};

history::ChangeCallback Collect(std::vector<Shown>* shown) {
  return [shown](const ChangeView& view) -> base::Result<bool> {
    if (view.kind == ChangeKind::kSchema) return true;
    Shown change{view.kind, {}, {}, view.changed};
    if (view.before != nullptr) change.before = CellsOf(*view.before);
    if (view.after != nullptr) change.after = CellsOf(*view.after);
    shown->push_back(change);
    return true;
  };
}

std::vector<Shown> Diff(const HistoryFixture& f, uint64_t from, uint64_t to) {
  std::vector<Shown> shown;
  REQUIRE(f.history->Diff(Position{from}, Position{to}, f.accounts->oid, false, Collect(&shown)));
  return shown;
}

std::vector<Shown> HistoryOf(const HistoryFixture& f, int32_t id, uint64_t to) {
  std::vector<Shown> shown;
  REQUIRE(f.history->RowHistory(f.accounts->oid, KeyOf(*f.accounts, {{1, Int4(id)}}), Position{kFirstLsn},
                                Position{to}, Collect(&shown)));
  return shown;
}

Position Since(const HistoryFixture& f, int32_t id, uint64_t lsn) {
  const auto row = f.history->Get(f.accounts->oid, KeyOf(*f.accounts, {{1, Int4(id)}}), Position{lsn});
  REQUIRE(row.has_value());
  REQUIRE(row->has_value());
  return (*row)->since;
}

bool IsReadable(const HistoryFixture& f, uint64_t lsn) {
  return f.history->RelationAt(f.accounts->oid, Position{lsn}).has_value();
}

}  // namespace

TEST_CASE("rows that a rewrite leaves as they were keep their date, others are updates of it") {
  HistoryFixture f;
  f.Start({Account(1, "ann", "a"), Account(2, "bob", "b")});
  f.Apply(TestTransaction{1100, 701, 2'000'000}.Update(f.accounts, Account(2, "bob", "c")));
  f.Apply(TestTransaction{1200, 702, 3'000'000}.Rewrite(f.accounts,
                                                        {Account(2, "bob", "c"), Account(1, "ann", "A")}));
  for (int round = 0; round < 2; ++round) {
    CHECK(f.Scan(1199) == std::vector<Cells>{Account(1, "ann", "a"), Account(2, "bob", "c")});
    CHECK(f.Scan(1200) == std::vector<Cells>{Account(1, "ann", "A"), Account(2, "bob", "c")});
    CHECK(Since(f, 1, 1200) == Position{1200});
    CHECK(Since(f, 2, 1200) == Position{1100});
    CHECK(Diff(f, 1100, 1200) ==
          std::vector<Shown>{{ChangeKind::kUpdate, Account(1, "ann", "a"), Account(1, "ann", "A"), {3}}});
    CHECK(HistoryOf(f, 1, 1200).size() == 1);
    CHECK(HistoryOf(f, 2, 1200).size() == 1);
    CHECK(f.history->GetTransaction(Position{1200})->tables.at(f.accounts->oid).updates == 1);
    f.Reopen();
  }
}

TEST_CASE("another type is another image, and no difference where the value is shown alike") {
  HistoryFixture f;
  const RelationPtr narrow = WithNote(kInt4);
  const RelationPtr wide = WithNote(kInt8);
  const RelationPtr text = WithNote(kText);
  f.accounts = narrow;
  const auto row = [](int32_t id, std::optional<std::string> note) {
    return Cells{{1, Int4(id)}, {2, "x"}, {3, std::move(note)}};
  };
  REQUIRE(CopyTables(f.history.get(), {{narrow, {row(1, Int4(5)), row(2, std::nullopt)}}}));
  f.Apply(TestTransaction{1100, 701, 2'000'000}
              .Rewrite(wide, {row(1, Int8(5)), row(2, std::nullopt)})
              .Table(Op::kRelation, wide));
  f.Apply(TestTransaction{1200, 702, 3'000'000}.Rewrite(text, {row(1, "5!"), row(2, std::nullopt)}));
  CHECK(f.Scan(1000) == std::vector<Cells>{row(1, Int4(5)), row(2, std::nullopt)});
  CHECK(f.Scan(1100) == std::vector<Cells>{row(1, Int8(5)), row(2, std::nullopt)});
  CHECK(f.Scan(1200) == std::vector<Cells>{row(1, "5!"), row(2, std::nullopt)});
  CHECK(Diff(f, 1000, 1100).empty());
  CHECK(Diff(f, 1100, 1000).empty());
  CHECK(Diff(f, 1000, 1200) == std::vector<Shown>{{ChangeKind::kUpdate, row(1, Int4(5)), row(1, "5!"), {3}}});
  const std::vector<Shown> versions = HistoryOf(f, 1, 1200);
  REQUIRE(versions.size() == 2);
  CHECK(versions[0].changed.empty());
  CHECK(versions[1].changed == std::vector<uint16_t>{3});
}

TEST_CASE("changes before, between and after two rewrites of one transaction") {
  HistoryFixture f;
  f.Start({Account(1, "ann"), Account(2, "bob"), Account(3, "cid")});
  TestTransaction transaction{1100, 701, 2'000'000};
  transaction.Update(f.accounts, Account(1, "anna"))
      .Delete(f.accounts, Account(2, "bob"))
      .Insert(f.accounts, Account(4, "dan"))
      .Rewrite(f.accounts, {Account(1, "ANNA"), Account(3, "CID"), Account(4, "DAN")})
      .Update(f.accounts, Account(5, "dan"), Account(4, "DAN"))
      .Insert(f.accounts, Account(2, "new"))
      .Rewrite(f.accounts, {Account(5, "dan!"), Account(1, "ANNA"), Account(2, "new!"), Account(3, "CID!")})
      .Delete(f.accounts, Account(3, "CID!"));
  // In pieces: a rewrite may end in a later batch than it began.
  for (size_t at = 0; at < transaction.changes.size(); at += 4) {
    REQUIRE(
        f.history->Append(PieceOf(transaction, at, std::min<size_t>(4, transaction.changes.size() - at))));
  }
  REQUIRE(f.history->Publish());
  for (int round = 0; round < 2; ++round) {
    CHECK(f.Scan(1099) == std::vector<Cells>{Account(1, "ann"), Account(2, "bob"), Account(3, "cid")});
    CHECK(f.Scan(1100) == std::vector<Cells>{Account(1, "ANNA"), Account(2, "new!"), Account(5, "dan!")});
    CHECK(Diff(f, 1000, 1100).size() == 4);
    f.Reopen();
  }
}

TEST_CASE("a column with a volatile default, and one whose default no row was written with") {
  HistoryFixture f;
  f.Start({Account(1, "ann"), Account(2, "bob")});
  model::Column added = MakeColumn(4, "tier", kText);
  added.missing = "gold";
  const auto with = [&](std::vector<model::Column> more) {
    std::vector<model::Column> columns = f.accounts->columns;
    columns.insert(columns.end(), more.begin(), more.end());
    return MakeRelation(16384, "accounts", columns);
  };
  const auto row = [](int32_t id, const std::string& name, const std::string& stamp) {
    Cells cells = Account(id, name);
    cells[4] = "gold";
    if (!stamp.empty()) cells[5] = stamp;
    return cells;
  };
  f.Apply(TestTransaction{1100, 701, 2'000'000}.Table(Op::kRelation, with({added})));
  added.missing.reset();
  const RelationPtr stamped = with({added, MakeColumn(5, "stamp", kText)});
  f.Apply(
      TestTransaction{1200, 702, 3'000'000}.Rewrite(with({added}), {row(1, "ann", ""), row(2, "bob", "")}));
  CHECK(Since(f, 1, 1200) == Position{kFirstLsn});
  f.Apply(TestTransaction{1300, 703, 4'000'000}.Rewrite(stamped, {row(1, "ann", "s1"), row(2, "bob", "s2")}));
  CHECK(f.Scan(1100) == std::vector<Cells>{row(1, "ann", ""), row(2, "bob", "")});
  CHECK(f.Scan(1200) == f.Scan(1100));
  CHECK(f.Scan(1300) == std::vector<Cells>{row(1, "ann", "s1"), row(2, "bob", "s2")});
}

TEST_CASE("a rewrite that does not fit ends the table, at its place and not before") {
  HistoryFixture f;
  f.Start({Account(1, "ann"), Account(2, "bob")});
  TestTransaction transaction{1100, 701, 2'000'000};
  ErrorCode code = ErrorCode::kInternal;
  SECTION("a row is missing") { transaction.Rewrite(f.accounts, {Account(1, "ann")}); }
  SECTION("a row is missing before another change") {
    transaction.Rewrite(f.accounts, {Account(1, "ann")}).Delete(f.accounts, Account(2, "bob"));
  }
  SECTION("one comes twice in the place of another") {
    transaction.Rewrite(f.accounts, {Account(1, "ann"), Account(1, "ann")});
  }
  SECTION("rows without a rewrite") {
    transaction.Rewrite(f.accounts, {Account(1, "a"), Account(2, "b")});
    transaction.changes.erase(transaction.changes.begin());
  }
  SECTION("other keys") {
    transaction.Rewrite(f.accounts, {Account(2, "ann"), Account(4, "bob")});
    code = ErrorCode::kSchemaChanged;
  }
  SECTION("a key of another type") {
    const RelationPtr named =
        MakeRelation(16384, "accounts", {MakeColumn(1, "id", kText, 1), MakeColumn(2, "name", kText)}, 3);
    transaction.Rewrite(named, {{{1, "1"}, {2, "ann"}}, {{1, "2"}, {2, "bob"}}});
    code = ErrorCode::kSchemaChanged;
  }
  f.Apply(transaction);
  for (int round = 0; round < 2; ++round) {
    CHECK(f.TableNamed("accounts").state == TableState::kBroken);
    CHECK(f.Scan(1099) == std::vector<Cells>{Account(1, "ann"), Account(2, "bob")});
    CHECK(ErrorOf(f.history->RelationAt(f.accounts->oid, Position{1100})).code == code);
    f.Reopen();
  }
}

TEST_CASE("an integer key that becomes wider leaves each row what it was") {
  HistoryFixture f;
  f.Start({Account(-1, "ann"), Account(2, "bob")});
  const RelationPtr wide = MakeRelation(
      16384, "accounts",
      {MakeColumn(1, "id", kInt8, 1), MakeColumn(2, "name", kText), MakeColumn(3, "note", kText)});
  const auto row = [](int32_t id, const std::string& name) {
    Cells cells = Account(id, name);
    cells[1] = Int8(id);
    return cells;
  };
  f.Apply(TestTransaction{1100, 701, 2'000'000}.Rewrite(wide, {row(2, "bob"), row(-1, "ann")}));
  const Cells large{{1, std::string("\x01\0\0\0\0\0\0\0", 8)}, {2, "cid"}, {3, std::nullopt}};
  f.Apply(TestTransaction{1200, 702, 3'000'000}
              .Update(wide, row(2, "bo"))
              .Delete(wide, row(-1, "ann"))
              .Insert(wide, large));
  for (int round = 0; round < 2; ++round) {
    CHECK(f.Scan(1099) == std::vector<Cells>{Account(-1, "ann"), Account(2, "bob")});
    CHECK(f.Scan(1100) == std::vector<Cells>{row(-1, "ann"), row(2, "bob")});
    CHECK(f.Scan(1200) == std::vector<Cells>{row(2, "bo"), large});
    CHECK(Diff(f, 1000, 1100).empty());
    CHECK(HistoryOf(f, 2, 1200).size() == 2);
    f.Reopen();
  }
}

TEST_CASE("half a rewrite leaves nothing, and comes again whole") {
  HistoryFixture f;
  f.Start({Account(1, "ann"), Account(2, "bob"), Account(3, "cid")});
  const RelationPtr wide =
      MakeRelation(16384, "accounts", {MakeColumn(1, "id", kInt4, 1), MakeColumn(2, "name", kText)}, 3);
  const auto row = [](int32_t id, const std::string& name) { return Cells{{1, Int4(id)}, {2, name}}; };
  TestTransaction transaction{1100, 701, 2'000'000};
  transaction.Rewrite(wide, {row(3, "C"), row(1, "A"), row(2, "B")});
  for (size_t sent = 1; sent < transaction.changes.size(); ++sent) {
    REQUIRE(f.history->Append(PieceOf(transaction, 0, sent)));
    f.Reopen();
    CHECK(f.Scan(1000) == std::vector<Cells>{Account(1, "ann"), Account(2, "bob"), Account(3, "cid")});
  }
  f.Apply(transaction);
  f.Apply(transaction);  // what is known comes again and changes nothing
  CHECK(IsReadable(f, 1100));
  CHECK(f.Scan(1100) == std::vector<Cells>{row(1, "A"), row(2, "B"), row(3, "C")});
}

}  // namespace varve::test
