// SPDX-License-Identifier: PostgreSQL
#include "tests/unit/history/fixture.h"

namespace varve::test {
namespace {

using base::ErrorCode;
using base::Position;
using history::ChangeKind;
using history::ChangeView;
using history::TableState;
using model::Op;

std::vector<std::string> SchemaWords(const history::History& history, uint64_t from, uint64_t to, bool raw) {
  std::vector<std::string> words;
  const auto status = history.Diff(Position{from}, Position{to}, std::nullopt, raw,
                                   [&](const ChangeView& view) -> base::Result<bool> {
                                     if (view.kind == ChangeKind::kSchema) words.push_back(view.detail);
                                     return true;
                                   });
  if (!status) FAIL(status.error().message);
  return words;
}

uint64_t RowChanges(const history::History& history, uint64_t from, uint64_t to) {
  uint64_t changes = 0;
  const auto status = history.Diff(Position{from}, Position{to}, std::nullopt, false,
                                   [&](const ChangeView& view) -> base::Result<bool> {
                                     if (view.kind != ChangeKind::kSchema) ++changes;
                                     return true;
                                   });
  if (!status) FAIL(status.error().message);
  return changes;
}

TEST_CASE("columns added, dropped and renamed are told in words and make no row change") {
  HistoryFixture f;
  f.Start({Account(1, "ann", "x"), Account(2, "bob")});
  model::Column added = MakeColumn(4, "tier", kText);
  added.missing = "free";
  added.default_expression = "'free'::text";
  const RelationPtr wide = MakeRelation(
      16384, "accounts", {MakeColumn(1, "id", kInt4, 1), MakeColumn(2, "mail", kText), added}, 4);
  f.Apply(TestTransaction{1100, 701, 2'000'000}.Table(Op::kRelation, wide));
  for (int round = 0; round < 2; ++round) {
    CHECK(f.Get(1, 1099) == Account(1, "ann", "x"));
    CHECK(f.Get(1, 1100) == Cells{{1, Int4(1)}, {2, "ann"}, {4, "free"}});
    const std::vector<std::string> words = {"column name renamed to mail", "column note dropped",
                                            "column tier text added"};
    CHECK(SchemaWords(*f.history, 1000, 1100, false) == words);
    CHECK(SchemaWords(*f.history, 1000, 1100, true) == words);
    CHECK(SchemaWords(*f.history, 1100, 1000, false) ==
          std::vector<std::string>{"column mail renamed to name", "column tier dropped",
                                   "column note text added"});
    CHECK(RowChanges(*f.history, 1000, 1100) == 0);
    CHECK(RowChanges(*f.history, 1100, 1000) == 0);
    f.Reopen();
  }
  // Only the new column of one row differs from its default: that row changed, and only it.
  f.Apply(TestTransaction{1200, 702, 3'000'000}.Update(wide, {{1, Int4(2)}, {2, "bob"}, {4, "gold"}}));
  CHECK(RowChanges(*f.history, 1000, 1200) == 1);
  CHECK(RowChanges(*f.history, 1200, 1000) == 1);
  // A transaction of DDL alone is an entry of the log; one that changed nothing that is tracked is not.
  f.Apply(TestTransaction{1300, 703, 4'000'000}.Table(Op::kRelation, wide));
  for (const char* present : {"now", "lsn:0/514", "xid:702", "time:2000-01-01T00:00:04Z"}) {
    CHECK(f.Resolve(present)->position == Position{1200});
    CHECK(f.Resolve(std::string(present) + "^")->position == Position{1100});
    CHECK(f.Resolve(std::string(present) + "^^")->position == Position{1000});
  }
  CHECK(f.Resolve("xid:703")->position == Position{1300});
  CHECK(f.Resolve("xid:703^")->position == Position{1200});
  CHECK(f.history->GetTransaction(Position{1100})->tables.at(f.accounts->oid).definitions == 1);
}

TEST_CASE("a version that is defined anew with other types or defaults is read as of the moment") {
  HistoryFixture f;
  f.Start({Account(1, "ann")});
  auto changed = std::make_shared<model::Relation>(*f.accounts);
  changed->columns[1].default_expression = "'x'::text";
  changed->types[1].json_cast = true;
  REQUIRE(changed->version == f.accounts->version);
  f.Apply(TestTransaction{1100, 701, 2'000'000}.Table(Op::kRelation, changed));
  f.Apply(TestTransaction{1200, 702, 3'000'000}.Update(changed, Account(1, "amy")));
  for (int round = 0; round < 2; ++round) {
    CHECK(**f.history->RelationAt(f.accounts->oid, Position{1099}) == *f.accounts);
    CHECK(**f.history->RelationAt(f.accounts->oid, Position{1100}) == *changed);
    CHECK(SchemaWords(*f.history, 1000, 1200, false) ==
          std::vector<std::string>{"column name has the default 'x'::text"});
    f.Reopen();
  }
}

TEST_CASE("a column whose type changed without a rewrite is shown only where the bytes mean the same") {
  HistoryFixture f;
  f.Start({Account(1, "ann"), Account(2, "bob")});
  model::Column note = MakeColumn(3, "note", 26);  // oid: a cast from int4 rewrites nothing
  note.width = 4;
  const RelationPtr other =
      MakeRelation(16384, "accounts", {MakeColumn(1, "id", kInt4, 1), MakeColumn(2, "name", kText), note}, 3);
  f.Apply(TestTransaction{1100, 701, 2'000'000}.Table(Op::kRelation, other));
  const auto row = f.history->Get(f.accounts->oid, KeyOf(*f.accounts, {{1, Int4(1)}}), Position{1100});
  CHECK(ErrorOf(row).code == ErrorCode::kSchemaChanged);
  CHECK(Contains(row.error().message, "column note of public.accounts changed its type from text"));
  CHECK(f.Get(1, 1099) == Account(1, "ann"));
}

namespace {

constexpr uint32_t kMood = 16500;
constexpr uint32_t kMoods = 16501;
constexpr uint32_t kRange = 16502;
constexpr uint32_t kPair = 16503;

// accounts with a last column of a type that its labels and fields are part of.
RelationPtr WithTypes(uint32_t column_type, const std::vector<model::TypeField>& labels,
                      const std::vector<model::TypeField>& fields, uint16_t attnum = 3) {
  model::Relation relation = *MakeRelation(
      16384, "accounts",
      {MakeColumn(1, "id", kInt4, 1), MakeColumn(2, "name", kText), MakeColumn(attnum, "last", column_type)});
  relation.columns.back().form = model::Form::kText;
  for (const model::Type& type :
       std::initializer_list<model::Type>{{kMood, "public", "mood", 'e', 0, ',', labels, false},
                                          {kMoods, "public", "_mood", 'A', kMood, ',', {}, false},
                                          {kPair, "public", "pair", 'c', 0, ',', fields, false},
                                          {kRange, "public", "pairs", 'r', kPair, ',', {}, false}}) {
    relation.types.push_back(type);
  }
  relation.version = model::ComputeVersion(relation);
  return std::make_shared<const model::Relation>(std::move(relation));
}

}  // namespace

TEST_CASE("a text is shown only while the labels and fields that it was written with are there") {
  const std::vector<model::TypeField> labels = {{"ok", 1}, {"bad", 2}};
  const std::vector<model::TypeField> more = {{"ok", 1}, {"bad", 2}, {"best", 3}};
  const std::vector<model::TypeField> renamed = {{"fine", 1}, {"bad", 2}};
  const std::vector<model::TypeField> exchanged = {{"bad", 1}, {"ok", 2}};
  const std::vector<model::TypeField> fields = {{"x", kMood}};
  const std::vector<model::TypeField> other = {{"y", kMood}};
  const auto readable = [&](uint32_t type, const auto& now_labels, const auto& now_fields) {
    HistoryFixture f;
    const RelationPtr before = WithTypes(type, labels, fields);
    REQUIRE(CopyTables(f.history.get(), {{before, {{{1, Int4(1)}, {2, "ann"}, {3, "ok"}}}}}));
    const RelationPtr after = WithTypes(type, now_labels, now_fields);
    REQUIRE(before->version != after->version);
    f.Apply(TestTransaction{1100, 701, 2'000'000}.Table(Op::kRelation, after));
    const auto row = f.history->Get(after->oid, KeyOf(*after, {{1, Int4(1)}}), Position{1100});
    if (row) return f.Get(1, 1100) == Cells{{1, Int4(1)}, {2, "ann"}, {3, "ok"}};
    CHECK(row.error().code == ErrorCode::kSchemaChanged);
    CHECK(Contains(row.error().message, "column last of public.accounts changed what its type"));
    // Written again it is shown, and the past as it was.
    f.Apply(TestTransaction{1200, 702, 3'000'000}.Update(after, {{1, Int4(1)}, {2, "ann"}, {3, "new"}}));
    CHECK(f.Get(1, 1200) == Cells{{1, Int4(1)}, {2, "ann"}, {3, "new"}});
    CHECK(f.Get(1, 1099) == Cells{{1, Int4(1)}, {2, "ann"}, {3, "ok"}});
    return false;
  };
  for (const uint32_t type : {kMood, kMoods, kPair, kRange}) {
    CAPTURE(type);
    CHECK(readable(type, more, fields));
    CHECK_FALSE(readable(type, renamed, fields));
    CHECK_FALSE(readable(type, exchanged, fields));
  }
  for (const uint32_t type : {kPair, kRange}) CHECK_FALSE(readable(type, labels, other));
  CHECK(readable(kMood, labels, other));
}

TEST_CASE("a row that was written before somebody else's DDL and commits after it does not turn that back") {
  HistoryFixture f;
  const RelationPtr before = WithTypes(kMood, {{"ok", 1}}, {});
  const RelationPtr after = WithTypes(kMood, {{"fine", 1}}, {});
  const Cells first{{1, Int4(1)}, {2, "ann"}, {3, "ok"}};
  const Cells second{{1, Int4(2)}, {2, "bob"}, {3, "ok"}};
  REQUIRE(CopyTables(f.history.get(), {{before, {first}}}));
  f.Apply(TestTransaction{1100, 702, 2'000'000}.Table(Op::kRelation, after));
  f.Apply(TestTransaction{1200, 701, 3'000'000}.Insert(before, second));
  for (int round = 0; round < 2; ++round) {
    CHECK(**f.history->RelationAt(after->oid, Position{1200}) == *after);
    for (const int id : {1, 2}) {
      const auto row = f.history->Get(after->oid, KeyOf(*after, {{1, Int4(id)}}), Position{1200});
      CHECK(ErrorOf(row).code == ErrorCode::kSchemaChanged);
    }
    CHECK(f.history->GetTransaction(Position{1200})->tables.at(after->oid).definitions == 0);
    f.Reopen();
  }
  // A change of its own says when a table is again what it was.
  f.Apply(TestTransaction{1300, 703, 4'000'000}.Table(Op::kRelation, before));
  CHECK(f.Get(1, 1300) == first);
  CHECK(f.Get(2, 1300) == second);
}

TEST_CASE("the default of rows older than a column is shown only while its label is there") {
  HistoryFixture f;
  f.Start({Account(1, "ann")});
  const auto with = [](const std::vector<model::TypeField>& labels) {
    model::Relation relation = *WithTypes(kMood, labels, {}, 4);
    relation.columns.back().missing = "ok";
    relation.version = model::ComputeVersion(relation);
    return std::make_shared<const model::Relation>(std::move(relation));
  };
  f.Apply(TestTransaction{1100, 701, 2'000'000}.Table(Op::kRelation, with({{"ok", 1}})));
  CHECK(f.Get(1, 1100) == Cells{{1, Int4(1)}, {2, "ann"}, {4, "ok"}});
  f.Apply(TestTransaction{1200, 702, 3'000'000}.Table(Op::kRelation, with({{"fine", 1}})));
  const auto row = f.history->Get(f.accounts->oid, KeyOf(*f.accounts, {{1, Int4(1)}}), Position{1200});
  CHECK(ErrorOf(row).code == ErrorCode::kSchemaChanged);
  CHECK(f.Get(1, 1199) == Cells{{1, Int4(1)}, {2, "ann"}, {4, "ok"}});
}

TEST_CASE("a key of an enum whose label was renamed breaks the table") {
  const auto with = [](const std::vector<model::TypeField>& labels) {
    model::Relation relation = *MakeRelation(16384, "accounts", {MakeColumn(1, "mood", kMood, 1)});
    relation.columns[0].form = model::Form::kText;
    relation.types.push_back({kMood, "public", "mood", 'e', 0, ',', labels, false});
    relation.version = model::ComputeVersion(relation);
    return std::make_shared<const model::Relation>(std::move(relation));
  };
  HistoryFixture f;
  const RelationPtr before = with({{"ok", 1}});
  const base::Status status = CopyTables(f.history.get(), {{before, {{{1, "ok"}}}}});
  if (!status) FAIL(status.error().message);
  f.Apply(TestTransaction{1100, 701, 2'000'000}.Table(Op::kRelation, with({{"ok", 1}, {"bad", 2}})));
  CHECK(f.history->RelationAt(before->oid, Position{1100}));
  f.Apply(TestTransaction{1200, 702, 3'000'000}.Table(Op::kRelation, with({{"fine", 1}, {"bad", 2}})));
  CHECK(ErrorOf(f.history->RelationAt(before->oid, Position{1200})).code == ErrorCode::kSchemaChanged);
}

TEST_CASE("a rewritten table refuses reads from there on and is read as before up to there") {
  HistoryFixture f;
  f.Start({Account(1, "ann")});
  f.Apply(TestTransaction{1100, 701, 2'000'000}.Table(Op::kRewrite, f.accounts));
  f.Apply(TestTransaction{1200, 702, 3'000'000}.Insert(f.accounts, Account(1, "whatever")));
  for (int round = 0; round < 2; ++round) {
    const history::TableInfo info = f.TableNamed("accounts");
    CHECK(info.state == TableState::kBroken);
    CHECK(info.since == Position{1100});
    CHECK(info.changes == 1);  // counted, not kept
    CHECK(f.Get(1, 1099) == Account(1, "ann"));
    const auto late = f.history->RelationAt(f.accounts->oid, Position{1100});
    CHECK(ErrorOf(late).code == ErrorCode::kSchemaChanged);
    CHECK(Contains(late.error().message, "public.accounts was rewritten by ALTER TABLE at 0/44C"));
    const auto diff = f.history->Diff(Position{1000}, Position{1200}, f.accounts->oid, false,
                                      [](const ChangeView&) -> base::Result<bool> { return true; });
    CHECK(ErrorOf(diff).code == ErrorCode::kSchemaChanged);
    CHECK(SchemaWords(*f.history, 1000, 1200, false).size() == 1);
    // The row's history goes up to the rewrite and says why it ends.
    std::vector<std::string> details;
    REQUIRE(f.history->RowHistory(f.accounts->oid, KeyOf(*f.accounts, {{1, Int4(1)}}), Position{1000},
                                  Position{1200}, [&](const ChangeView& view) -> base::Result<bool> {
                                    details.push_back(view.detail);
                                    return true;
                                  }));
    REQUIRE(details.size() == 1);
    CHECK(Contains(details[0], "was rewritten by ALTER TABLE"));
    f.Reopen();
  }
}

TEST_CASE("names with dots that make one text of two are refused") {
  HistoryFixture f;
  const auto named = [](uint32_t oid, const std::string& schema, const std::string& name) {
    model::Relation relation = *Accounts(oid, name);
    relation.schema = schema;
    relation.version = model::ComputeVersion(relation);
    return std::make_shared<const model::Relation>(std::move(relation));
  };
  REQUIRE(CopyTables(f.history.get(),
                     {{named(1, "a.b", "c"), {}}, {named(2, "a", "b.c"), {}}, {Accounts(), {}}}));
  CHECK(ErrorOf(f.history->FindTable("a.b.c")).code == ErrorCode::kInvalidArgument);
  CHECK(f.history->FindTable("accounts")->value == 16384);
}

TEST_CASE("another key, or none, breaks the table with a remedy") {
  HistoryFixture f;
  f.Start({Account(1, "ann")});
  SECTION("none") {
    const RelationPtr keyless =
        MakeRelation(16384, "accounts", {MakeColumn(1, "id", kInt4), MakeColumn(2, "name", kText)}, 3, 'f');
    f.Apply(TestTransaction{1100, 701, 2'000'000}.Insert(keyless, {{1, Int4(5)}, {2, "x"}}));
    const auto late = f.history->RelationAt(f.accounts->oid, Position{1100});
    CHECK(ErrorOf(late).code == ErrorCode::kSchemaChanged);
    CHECK(Contains(late.error().message, "alter table public.accounts replica identity"));
  }
  SECTION("another column") {
    const RelationPtr other =
        MakeRelation(16384, "accounts", {MakeColumn(1, "id", kInt4), MakeColumn(2, "name", kText, 1)}, 3);
    f.Apply(TestTransaction{1100, 701, 2'000'000}.Table(Op::kRelation, other));
    const auto late = f.history->RelationAt(f.accounts->oid, Position{1100});
    CHECK(Contains(ErrorOf(late).message, "its key changed to other columns"));
  }
  CHECK(f.TableNamed("accounts").state == TableState::kBroken);
  CHECK(f.Get(1, 1099) == Account(1, "ann"));
}

TEST_CASE("a dropped table is read up to its drop, by its name, also when another one takes the name") {
  HistoryFixture f;
  f.Start({Account(1, "ann")});
  f.Apply(TestTransaction{1100, 701, 2'000'000}.Gone(Op::kDrop, 16384).Gone(Op::kDrop, 99));
  CHECK(f.TableNamed("accounts").state == TableState::kDropped);
  CHECK(f.history->FindTable("accounts").value() == f.accounts->oid);
  CHECK(f.Get(1, 1099) == Account(1, "ann"));
  const auto late = f.history->RelationAt(f.accounts->oid, Position{1100});
  CHECK(ErrorOf(late).code == ErrorCode::kNotTracked);
  CHECK(Contains(late.error().message, "public.accounts was dropped at 0/44C"));
  f.Apply(TestTransaction{1200, 702, 3'000'000}.Insert(Accounts(17000), Account(1, "new")));
  CHECK(f.history->FindTable("public.accounts").value() == f.accounts->oid);
}

TEST_CASE("a table that is taken out of the publication, or came after the first copy, says so") {
  HistoryFixture f;
  f.Start({Account(1, "ann")});
  const RelationPtr late = Accounts(17000, "late");
  f.Apply(TestTransaction{1100, 701, 2'000'000}.Insert(late, Account(1, "x")).Insert(late, Account(1, "x")));
  f.Apply(TestTransaction{1200, 702, 3'000'000}.Gone(Op::kUntrack, 16384).Gone(Op::kUntrack, 99));
  for (int round = 0; round < 2; ++round) {
    const auto found = f.history->FindTable("late");
    CHECK(ErrorOf(found).code == ErrorCode::kNotTracked);
    CHECK(Contains(found.error().message, "added to the publication after the first copy"));
    CHECK(f.TableNamed("late").state == TableState::kBroken);
    CHECK(f.TableNamed("late").changes == 2);
    CHECK(ErrorOf(f.history->RelationAt(late->oid, Position{1200})).code == ErrorCode::kNotTracked);
    CHECK(ErrorOf(f.history->RelationAt(late->oid, Position{1000})).code == ErrorCode::kNotTracked);
    const auto untracked = f.history->RelationAt(f.accounts->oid, Position{1200});
    CHECK(Contains(ErrorOf(untracked).message, "taken out of the publication at 0/4B0"));
    CHECK(f.Get(1, 1199) == Account(1, "ann"));
    CHECK(f.history->Tables().size() == 2);
    f.Reopen();
  }
  CHECK(ErrorOf(f.history->FindTable("nope")).message.substr(0, 41) ==
        "public.nope is not tracked: `varve doctor");
  // Only changes of tracked tables make an entry of the log.
  CHECK(f.Resolve("now")->position == Position{1200});
  CHECK(f.Resolve("now^")->position == Position{1000});
  CHECK(f.Resolve("xid:701^")->position == Position{1000});
}

TEST_CASE("a truncate removes what was there before it, in its own transaction too") {
  HistoryFixture f;
  f.Start({Account(1, "ann"), Account(2, "bob")});
  f.Apply(TestTransaction{1100, 701, 2'000'000}
              .Update(f.accounts, Account(1, "amy"))
              .Table(Op::kTruncate, f.accounts)
              .Insert(f.accounts, Account(1, "new")));
  f.Apply(TestTransaction{1200, 702, 3'000'000}.Insert(f.accounts, Account(2, "back")));
  for (int round = 0; round < 2; ++round) {
    CHECK(f.Scan(1099) == std::vector<Cells>{Account(1, "ann"), Account(2, "bob")});
    CHECK(f.Scan(1100) == std::vector<Cells>{Account(1, "new")});
    CHECK(f.Get(2, 1199) == std::nullopt);
    CHECK(f.Scan(1200) == std::vector<Cells>{Account(1, "new"), Account(2, "back")});
    const auto info = f.history->GetTransaction(Position{1100});
    CHECK(info->tables.at(f.accounts->oid).truncates == 1);
    f.Reopen();
  }
}

}  // namespace
}  // namespace varve::test
