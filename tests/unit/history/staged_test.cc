// SPDX-License-Identifier: PostgreSQL
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <map>
#include <random>
#include <thread>

#include "tests/unit/history/fixture.h"
#include "tests/unit/history/reference_model.h"
#include "tests/unit/history/staged_stream.h"

// Transactions that come before they commit: whatever way they came, the history is that of the same
// transactions sent whole.
namespace varve::test {
namespace {

using base::ErrorCode;
using base::Position;
using model::Op;
using model::Staged;

void Must(const base::Status& status) {
  if (!status) FAIL(status.error().message);
}

struct Fixture : HistoryFixture {
  Fixture() { Start({Account(1, "ann"), Account(2, "bob", "x")}); }

  void Append(const model::Batch& batch) { Must(history->Append(batch)); }
  void Publish() { Must(history->Publish()); }
  std::vector<history::PreparedTransaction> Prepared() { return history->GetStatus().prepared; }
  uint64_t Through() { return history->GetStatus().published_through.value; }
  std::string All() { return Everything(*history, Through()); }
};

// The same transactions, whole.
std::string AllOf(const std::vector<TestTransaction>& transactions) {
  Fixture f;
  for (const TestTransaction& transaction : transactions) f.Apply(transaction);
  return f.All();
}

Part All(const TestTransaction& transaction, uint32_t subxid = 0) {
  return {&transaction, subxid == 0 ? transaction.xid : subxid, 0, transaction.changes.size(), 0, true};
}

struct Sample {
  RelationPtr accounts = Accounts();
  TestTransaction one = TestTransaction{1200, 701, 2'000'000}
                            .Insert(accounts, Account(3, "cid"))
                            .Update(accounts, Account(1, "amy"))
                            .Delete(accounts, Account(2, "bob"))
                            .Message("note", "one");
  TestTransaction two = TestTransaction{1300, 702, 3'000'000}
                            .Insert(accounts, Account(7, "gil"))
                            .Update(accounts, Account(3, "cyd"))
                            .Table(Op::kTruncate, accounts)
                            .Insert(accounts, Account(8, "hal"));
};

TEST_CASE("streams beside each other are applied where they commit, as if they had come whole") {
  const Sample s;
  Fixture f;
  f.Append(StreamedPart({&s.two, 702, 0, 1, 0, true}));
  f.Append(StreamedPart({&s.one, 701, 0, 2, 0, true}));
  f.Append(StreamedPart({&s.two, 7021, 1, 2, 1, false}));
  f.Append(StreamedPart({&s.one, 7011, 2, 2, 2, false}));
  f.Publish();
  CHECK(f.Scan(1000).size() == 2);
  CHECK(f.Through() == 1000);
  f.Append(EndOf(s.one, Staged::kStreamCommit, s.one.lsn));
  f.Append(StreamedPart({&s.two, 702, 3, 1, 3, false}));
  f.Append(EndOf(s.two, Staged::kStreamCommit, s.two.lsn));
  f.Publish();
  CHECK(f.Scan(1300) == std::vector<Cells>{Account(8, "hal")});
  CHECK(f.All() == AllOf({s.one, s.two}));
}

TEST_CASE("the end of a transaction says where it comes from, whatever way it came") {
  Sample s;
  s.one.origin = model::Origin{3, "far", base::Lsn{77}};
  Fixture whole;
  whole.Apply(s.one);
  whole.Apply(s.two);
  CHECK(whole.history->GetTransaction(s.one.position())->origin == s.one.origin);
  CHECK_FALSE(whole.history->GetTransaction(s.two.position())->origin.has_value());
  Fixture streamed;
  streamed.Append(StreamedPart(All(s.one)));
  streamed.Append(EndOf(s.one, Staged::kStreamCommit, s.one.lsn));
  streamed.Append(StreamedPart(All(s.two)));
  streamed.Append(EndOf(s.two, Staged::kStreamCommit, s.two.lsn));
  streamed.Publish();
  CHECK(streamed.All() == whole.All());
  // Who commits a prepared one may be another than who prepared it.
  TestTransaction prepared = s.one;
  prepared.origin = model::Origin{4, "near", base::Lsn{7}};
  Fixture in_two_phases;
  in_two_phases.Append(StreamedPart(All(prepared)));
  in_two_phases.Append(EndOf(prepared, Staged::kStreamPrepare, 1100, "gid"));
  in_two_phases.Append(EndOf(s.one, Staged::kCommitPrepared, s.one.lsn, "gid"));
  in_two_phases.Append(PieceOf(s.two, 0, s.two.changes.size()));
  in_two_phases.Publish();
  CHECK(in_two_phases.All() == whole.All());
}

TEST_CASE("what rolled back of a stream is as if it had never come, nested or all of it") {
  const Sample s;
  Fixture f;
  TestTransaction other = s.two;
  other.xid = 701;
  f.Append(StreamedPart({&s.one, 701, 0, 1, 0, true}));
  f.Append(StreamedPart({&other, 7011, 0, 2, 1, false}));
  f.Append(StreamedPart({&other, 7012, 2, 2, 3, false}));
  f.Append(StreamedPart({&s.one, 7013, 1, 2, 5, false}));
  f.Append(AbortOf(701, 7012));
  f.Append(AbortOf(701, 7011));
  f.Append(StreamedPart({&s.one, 701, 3, 1, 7, false}));
  f.Append(StreamedPart(All(s.two)));
  f.Append(AbortOf(702, 702));
  f.Append(EndOf(s.one, Staged::kStreamCommit, s.one.lsn));
  f.Publish();
  CHECK(f.All() == AllOf({s.one}));
}

TEST_CASE("a stream of which nothing is left moves the position and is no transaction") {
  const Sample s;
  Fixture f;
  f.Append(StreamedPart(All(s.one, 7011)));
  f.Append(AbortOf(701, 7011));
  f.Append(EndOf(s.one, Staged::kStreamCommit, s.one.lsn));
  f.Publish();
  CHECK(f.Through() == 1200);
  CHECK(f.history->GetStatus().published.position == Position{1000});
  CHECK(f.Scan(1200).size() == 2);
}

TEST_CASE("of what a stream says of a table only the last that did not roll back counts") {
  const RelationPtr accounts = Accounts();
  std::vector<model::Column> columns = accounts->columns;
  columns.push_back(MakeColumn(4, "extra", kText));
  const RelationPtr wider = MakeRelation(16384, "accounts", columns);
  columns.pop_back();
  columns[0].key_position = 0;
  const RelationPtr keyless = MakeRelation(16384, "accounts", columns);
  Fixture f;
  // The key goes and comes back; a column comes and rolls back.
  const TestTransaction ddl = TestTransaction{1200, 701, 2'000'000}
                                  .Table(Op::kRelation, keyless)
                                  .Table(Op::kRelation, wider)
                                  .Table(Op::kRelation, accounts)
                                  .Insert(accounts, Account(3, "cid"));
  f.Append(StreamedPart({&ddl, 701, 0, 1, 0, true}));
  f.Append(StreamedPart({&ddl, 7011, 1, 1, 1, false}));
  f.Append(AbortOf(701, 7011));
  f.Append(StreamedPart({&ddl, 701, 2, 2, 2, false}));
  f.Append(EndOf(ddl, Staged::kStreamCommit, ddl.lsn));
  f.Publish();
  CHECK(f.All() == AllOf({TestTransaction{1200, 701, 2'000'000}
                              .Table(Op::kRelation, accounts)
                              .Insert(accounts, Account(3, "cid"))}));
  // An Untrack counts whatever follows it, once.
  const TestTransaction out = TestTransaction{1300, 702, 3'000'000}
                                  .Gone(Op::kUntrack, 16384)
                                  .Gone(Op::kUntrack, 16384)
                                  .Table(Op::kRelation, accounts);
  f.Append(StreamedPart(All(out)));
  f.Append(EndOf(out, Staged::kStreamCommit, out.lsn));
  f.Publish();
  CHECK(f.TableNamed("accounts").state != history::TableState::kTracked);
  CHECK(f.TableNamed("accounts").since == Position{1300});
}

TEST_CASE("a prepared transaction is seen when it is committed, after any number of openings of the store") {
  const Sample s;
  const bool streamed = GENERATE(false, true);
  const bool between = GENERATE(false, true);
  Fixture f;
  if (streamed) {
    f.Append(StreamedPart(All(s.one)));
    f.Append(EndOf(s.one, Staged::kStreamPrepare, 1100, "a b"));
  } else {
    f.Append(PreparedPart({&s.one, 701, 0, 2, 0, true}, 1100, false, ""));
    CHECK(f.Prepared().empty());
    f.Append(PreparedPart({&s.one, 701, 2, 2, 2, false}, 1100, true, "a b"));
  }
  f.Publish();
  if (between) f.Reopen();
  if (between) f.Reopen();
  REQUIRE(f.Prepared().size() == 1);
  CHECK(f.Prepared()[0].gid == "a b");
  CHECK(f.Prepared()[0].xid == base::FullXid{(uint64_t{3} << 32) | 701});
  CHECK(f.Prepared()[0].position == Position{1100});
  CHECK(f.Prepared()[0].time == base::Timestamp{2'000'000});
  CHECK(f.Prepared()[0].changes == 3);
  CHECK(f.Through() == 1100);
  CHECK(f.Scan(1100).size() == 2);
  f.Append(EndOf(s.one, Staged::kCommitPrepared, s.one.lsn, "a b"));
  CHECK(f.Prepared().size() == 1);
  if (between) {
    // Its end was not published, so it comes again.
    f.Reopen();
    CHECK(f.Prepared().size() == 1);
    f.Append(EndOf(s.one, Staged::kCommitPrepared, s.one.lsn, "a b"));
  }
  f.Publish();
  CHECK(f.Prepared().empty());
  CHECK(f.All() == AllOf({s.one}));
  f.Reopen();
  CHECK(f.Prepared().empty());
  f.Append(EndOf(s.one, Staged::kCommitPrepared, s.one.lsn, "a b"));
  CHECK(f.All() == AllOf({s.one}));
}

TEST_CASE("a prepared transaction that rolls back leaves nothing, and its identifier can be used again") {
  const Sample s;
  Fixture f;
  f.Append(PreparedPart(All(s.two), 1050, true, "g"));
  f.Append(EndOf(s.two, Staged::kRollbackPrepared, 1060, "g"));
  f.Append(PreparedPart(All(s.one), 1100, true, "g"));
  f.Publish();
  REQUIRE(f.Prepared().size() == 1);
  CHECK(f.Prepared()[0].xid.xid() == 701);
  f.Append(EndOf(s.one, Staged::kCommitPrepared, s.one.lsn, "g"));
  // Of one that nobody sent.
  f.Append(EndOf(s.two, Staged::kRollbackPrepared, 1250, "g"));
  f.Publish();
  CHECK(f.Through() == 1250);
  f.Reopen();
  CHECK(f.Prepared().empty());
  f.Append(PreparedPart(All(s.two), 1260, true, "g"));
  f.Append(EndOf(s.two, Staged::kCommitPrepared, s.two.lsn, "g"));
  f.Publish();
  CHECK(f.All() == AllOf({s.one, s.two}));
}

TEST_CASE("the commit of a transaction that never came is loss, and ends with words that say so") {
  const Sample s;
  Fixture f;
  f.Append(PreparedPart(All(s.one), 1100, true, "g"));
  f.Publish();
  const auto status = f.history->Append(EndOf(s.one, Staged::kCommitPrepared, s.one.lsn, "other"));
  CHECK(ErrorOf(status).code == ErrorCode::kHistoryGap);
  CHECK(Contains(status.error().message, "transaction 701, prepared as 'other', was committed at 0/4B0"));
  CHECK_FALSE(f.history->Publish());
  f.Reopen();
  CHECK(f.Through() == 1100);
  CHECK(f.Prepared().size() == 1);
}

TEST_CASE("a PREPARE below what is durable is taken, replaces itself, and does not outlive its session") {
  const Sample s;
  Fixture f;
  Must(f.history->Advance(Position{1150}));
  f.Publish();
  f.Append(PreparedPart(All(s.two), 900, true, "g"));
  f.Publish();
  CHECK(f.Prepared().empty());
  f.Reopen();
  CHECK_FALSE(f.history->Append(EndOf(s.two, Staged::kCommitPrepared, 1200, "g")));
  f.Reopen();
  // With another one's changes first: the second time counts.
  TestTransaction other = s.two;
  other.xid = s.one.xid;
  f.Append(PreparedPart(All(other), 900, true, "g"));
  f.Append(PreparedPart(All(s.one), 900, true, "g"));
  f.Append(EndOf(s.one, Staged::kCommitPrepared, s.one.lsn, "g"));
  f.Publish();
  CHECK(f.All() == AllOf({s.one}));
}

TEST_CASE("a prepared transaction that comes again stays, whatever else was durable before") {
  const Sample s;
  Fixture f;
  f.Append(PreparedPart(All(s.one), 1100, true, "g"));
  f.Publish();
  f.Reopen();
  f.Append(PreparedPart(All(s.one), 1100, true, "g"));
  f.Publish();
  f.Reopen();
  REQUIRE(f.Prepared().size() == 1);
  f.Append(EndOf(s.one, Staged::kCommitPrepared, s.one.lsn, "g"));
  f.Publish();
  CHECK(f.All() == AllOf({s.one}));
  // Both ends published: both come again and leave nothing behind.
  f.Append(PreparedPart(All(s.one), 1100, true, "g"));
  f.Append(EndOf(s.one, Staged::kCommitPrepared, s.one.lsn, "g"));
  f.Publish();
  f.Reopen();
  CHECK(f.Prepared().empty());
  CHECK(f.All() == AllOf({s.one}));
}

TEST_CASE("another transaction where this one is known is a conflict in a stream too") {
  const Sample s;
  Fixture f;
  f.Apply(s.one);
  TestTransaction other = s.two;
  other.lsn = s.one.lsn;
  f.Append(StreamedPart(All(other)));
  CHECK(ErrorOf(f.history->Append(EndOf(other, Staged::kStreamCommit, other.lsn))).code ==
        ErrorCode::kConflict);
}

TEST_CASE("a relation that only a prepared transaction names is there when it commits in another session") {
  Fixture f;
  std::vector<model::Column> columns = f.accounts->columns;
  columns.push_back(MakeColumn(4, "extra", kText));
  const RelationPtr wider = MakeRelation(16384, "accounts", columns);
  Cells row = Account(3, "cid");
  row[4] = "more";
  const TestTransaction ddl =
      TestTransaction{1200, 701, 2'000'000}.Table(Op::kRelation, wider).Insert(wider, row);
  f.Append(PreparedPart(All(ddl), 1100, true, "g"));
  f.Publish();
  f.Reopen();
  f.Append(EndOf(ddl, Staged::kCommitPrepared, ddl.lsn, "g"));
  f.Publish();
  f.Reopen();
  CHECK(f.Get(3, 1200) == row);
  CHECK(f.All() == AllOf({ddl}));
}

// As the plugin would send them whole: of what becomes of a table it says the last alone.
std::vector<TestTransaction> Spread(const std::vector<TestTransaction>& transactions) {
  std::vector<TestTransaction> out;
  for (TestTransaction transaction : transactions) {
    std::map<base::TableOid, size_t> last;
    for (size_t i = 0; i < transaction.changes.size(); ++i) {
      if (transaction.changes[i].op == Op::kRelation) last[transaction.changes[i].table] = i;
    }
    std::vector<TestChange> changes;
    for (size_t i = 0; i < transaction.changes.size(); ++i) {
      const TestChange& change = transaction.changes[i];
      if (change.op != Op::kRelation || last.at(change.table) == i) changes.push_back(change);
    }
    transaction.changes = std::move(changes);
    transaction.lsn = kFirstLsn + (transaction.lsn - kFirstLsn) * 20;
    out.push_back(std::move(transaction));
  }
  return out;
}

struct Made {
  explicit Made(uint32_t seed, int count) : model(seed) {
    for (int i = 0; i < count; ++i) model.AddTransaction();
    transactions = Spread(model.transactions());
    FixedClock clock;
    const TemporaryDirectory directory;
    const auto history = OpenHistory(directory.path(), &clock);
    Must(CopyTables(history.get(), model.copy()));
    Must(history->BeginSession(base::FullXid{700}));
    for (const TestTransaction& transaction : transactions) Must(AppendWhole(history.get(), transaction));
    Must(history->Publish());
    end = transactions.back().lsn;
    expected = Everything(*history, end);
  }
  ReferenceModel model;
  std::vector<TestTransaction> transactions;
  uint64_t end = 0;
  std::string expected;
};

TEST_CASE("random transactions in every way, with sessions that end anywhere") {
  const uint32_t seed = GENERATE(1U, 2U, 3U, 4U, 5U, 6U);
  INFO("seed " << seed);
  const Made made(seed, 60);
  const StagedStream stream(made.transactions, seed);
  std::mt19937 random(seed);
  const TemporaryDirectory directory;
  FixedClock clock;
  auto history = OpenHistory(directory.path(), &clock);
  Must(CopyTables(history.get(), made.model.copy()));
  for (int session = 0; history->GetStatus().published_through.value < made.end; ++session) {
    REQUIRE(session < 1000);
    if (session % 2 == 0) {
      history.reset();
      history = OpenHistory(directory.path(), &clock, session % 3 == 0 ? 300 : uint64_t{4} << 20);
    }
    Must(history->BeginSession(base::FullXid{700}));
    const auto batches = stream.Session(history->GetStatus().published_through.value, session % 3 == 1);
    uint32_t left = session < 30 ? 1 + static_cast<uint32_t>(random()) % 80 : UINT32_MAX;
    for (const model::Batch& batch : batches) {
      Must(history->Append(batch));
      if (static_cast<uint32_t>(random()) % 5 == 0) Must(history->Publish());
      if (--left == 0) break;
    }
    if (left != 0) Must(history->Publish());
  }
  CHECK(Everything(*history, made.end) == made.expected);
  CHECK(history->GetStatus().prepared.empty());
}

void StreamStaged(const std::string& directory, const StagedStream& stream, uint32_t seed, int told) {
  FixedClock clock;
  std::mt19937 random(seed);
  auto history = OpenHistory(directory, &clock, seed % 3 == 0 ? uint64_t{4} << 20 : 300);
  if (!history->BeginSession(base::FullXid{700})) _exit(2);
  for (const model::Batch& batch :
       stream.Session(history->GetStatus().published_through.value, seed % 2 == 0)) {
    if (!history->Append(batch)) _exit(3);
    if (static_cast<uint32_t>(random()) % 4 != 0) continue;
    if (!history->Publish()) _exit(4);
    if (write(told, "", 1) != 1) _exit(5);
  }
  if (!history->Publish()) _exit(4);
  history.reset();
  _exit(0);
}

TEST_CASE("a writer of staged transactions killed at any moment goes on to the same history") {
  const Made made(21, 400);
  const StagedStream stream(made.transactions, 21);
  std::mt19937 random(21);
  const TemporaryDirectory directory;
  FixedClock clock;
  {
    const auto history = OpenHistory(directory.path(), &clock);
    Must(CopyTables(history.get(), made.model.copy()));
  }
  for (uint32_t kills = 0;; ++kills) {
    int pipe_ends[2];
    REQUIRE(pipe(pipe_ends) == 0);
    const pid_t child = fork();
    if (child == 0) {
      close(pipe_ends[0]);
      StreamStaged(directory.path(), stream, kills, pipe_ends[1]);
    }
    close(pipe_ends[1]);
    char published = 0;
    for (uint32_t left = static_cast<uint32_t>(random()) % 30; left > 0; --left) {
      if (read(pipe_ends[0], &published, 1) != 1) break;
    }
    if (kills < 12) {
      std::this_thread::sleep_for(std::chrono::microseconds(static_cast<uint32_t>(random()) % 4000));
      kill(child, SIGKILL);
    }
    while (read(pipe_ends[0], &published, 1) == 1) continue;
    close(pipe_ends[0]);
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    INFO("kill " << kills << " status " << status);
    REQUIRE((WIFSIGNALED(status) || (WIFEXITED(status) && WEXITSTATUS(status) == 0)));
    if (!WIFSIGNALED(status)) break;
  }
  const auto history = OpenHistory(directory.path(), &clock);
  REQUIRE(history->GetStatus().published_through.value == made.end);
  CHECK(Everything(*history, made.end) == made.expected);
  CHECK(history->GetStatus().prepared.empty());
}

}  // namespace
}  // namespace varve::test
