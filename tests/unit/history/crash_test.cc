// SPDX-License-Identifier: PostgreSQL
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <random>
#include <thread>

#include "tests/unit/history/fixture.h"
#include "tests/unit/history/reference_model.h"

// A child appends and is killed at a random moment; whoever opens the store next must find exactly what some
// published position had, and be able to go on from there to the same end.
namespace varve::test {
namespace {

using base::Position;

void Stream(const std::string& directory, const ReferenceModel& model, uint32_t seed, int told) {
  FixedClock clock;
  std::mt19937 random(seed);
  auto history = OpenHistory(directory, &clock, seed % 3 == 0 ? uint64_t{4} << 20 : 300);
  if (!history->BeginSession(base::FullXid{700})) _exit(2);
  const uint64_t published = history->GetStatus().published_through.value;
  for (const TestTransaction& transaction : model.transactions()) {
    if (transaction.lsn + 200 < published) continue;  // sends some again
    for (size_t first = 0; first < transaction.changes.size();) {
      const size_t count = 1 + static_cast<uint32_t>(random()) % (transaction.changes.size() - first);
      if (!history->Append(PieceOf(transaction, first, count))) _exit(3);
      first += count;
    }
    if (transaction.changes.empty() && !history->Append(PieceOf(transaction, 0, 0))) _exit(3);
    if (static_cast<uint32_t>(random()) % 4 != 0) continue;
    if (!history->Publish()) _exit(4);
    // What was published is told to the parent, who holds the store to it.
    const uint64_t through = history->GetStatus().published_through.value;
    if (write(told, &through, sizeof(through)) != sizeof(through)) _exit(5);
  }
  if (!history->Publish()) _exit(4);
  history.reset();
  _exit(0);
}

void CheckMoment(const history::History& history, const ModelMoment& moment, uint64_t lsn) {
  for (const auto& entry : moment.tables) {
    const auto& oid = entry.first;  // clang 14 captures no structured binding
    const auto& table = entry.second;
    auto expected = table.rows.begin();
    const auto status =
        history.Scan(oid, Position{lsn}, {}, [&](const history::Row& row) -> base::Result<bool> {
          REQUIRE(expected != table.rows.end());
          REQUIRE(CellsOf(row) == expected->second.cells);
          ++expected;
          return true;
        });
    if (!status) FAIL(status.error().message);
    REQUIRE(expected == table.rows.end());
  }
}

void RunKills(uint32_t seed, int kills_max, int transactions) {
  INFO("seed " << seed);
  std::mt19937 random(seed);
  ReferenceModel model(seed);
  for (int i = 0; i < transactions; ++i) model.AddTransaction();
  const uint64_t end = model.moments().back().lsn;
  const TemporaryDirectory directory;
  FixedClock clock;
  {
    const auto history = OpenHistory(directory.path(), &clock);
    REQUIRE(CopyTables(history.get(), model.copy()));
  }
  uint64_t told = kFirstLsn;
  for (int kills = 0;; ++kills) {
    int pipe_ends[2];
    REQUIRE(pipe(pipe_ends) == 0);
    const pid_t child = fork();
    if (child == 0) {
      close(pipe_ends[0]);
      Stream(directory.path(), model, seed + static_cast<uint32_t>(kills), pipe_ends[1]);
    }
    close(pipe_ends[1]);
    // Killed some moments after it has published for the n-th time, or while it opens the store.
    int left = static_cast<int>(static_cast<uint32_t>(random()) % 40);
    uint64_t through = 0;
    while (left-- > 0 && read(pipe_ends[0], &through, sizeof(through)) == sizeof(through)) {
      told = std::max(told, through);
    }
    if (kills < kills_max) {
      std::this_thread::sleep_for(std::chrono::microseconds(static_cast<uint32_t>(random()) % 4000));
      kill(child, SIGKILL);
    }
    while (read(pipe_ends[0], &through, sizeof(through)) == sizeof(through)) told = std::max(told, through);
    close(pipe_ends[0]);
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    REQUIRE((WIFSIGNALED(status) || (WIFEXITED(status) && WEXITSTATUS(status) == 0)));
    const auto history = OpenHistory(directory.path(), &clock);
    const uint64_t published = history->GetStatus().published_through.value;
    REQUIRE(published >= told);

    CheckMoment(*history, model.MomentAt(published), published);
    const uint64_t some = kFirstLsn + static_cast<uint32_t>(random()) % (published - kFirstLsn + 1);
    CheckMoment(*history, model.MomentAt(some), some);
    if (published == end) break;
  }
  const auto history = OpenHistory(directory.path(), &clock);
  for (const ModelMoment& moment : model.moments()) CheckMoment(*history, moment, moment.lsn);
}

TEST_CASE("a writer killed at any moment loses nothing that it published and leaves nothing else") {
  RunKills(11, 6, 1500);
}

TEST_CASE("many writers killed", "[.slow]") {
  const char* given = getenv("VARVE_TEST_SEED");
  const uint32_t start =
      given == nullptr ? std::random_device{}() : static_cast<uint32_t>(strtoul(given, nullptr, 10));
  WARN("first seed " << start);
  for (uint32_t seed = start; seed < start + 10; ++seed) RunKills(seed, 20, 4000);
}

}  // namespace
}  // namespace varve::test
