// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/unit/history/stream.h"

namespace varve::test {

// A piece of a transaction that is sent before it commits: changes [first, first + count) of `transaction`,
// which must outlive it, as those of a subtransaction, numbered from `seq`.
struct Part {
  const TestTransaction* transaction = nullptr;
  uint32_t subxid = 0;
  size_t first = 0;
  size_t count = 0;
  uint32_t seq = 0;
  bool begin = false;
};
model::Batch StreamedPart(const Part& part);
// Of a transaction that is sent whole when it is prepared; `last` has the identifier.
model::Batch PreparedPart(const Part& part, uint64_t lsn, bool last, const std::string& gid);
// kStreamAbort of a subtransaction, or with `subxid` = xid of all.
model::Batch AbortOf(uint32_t xid, uint32_t subxid);
// The other ends; `gid` empty for kStreamCommit.
model::Batch EndOf(const TestTransaction& transaction, model::Staged staged, uint64_t lsn,
                   const std::string& gid = {});

// All that a history answers about positions up to `through`, as text.
std::string Everything(const history::History& history, uint64_t through);

// Transactions as PostgreSQL would send them with streaming and two_phase: some whole, some in blocks between
// those of others and with subtransactions that roll back, some prepared.
class StagedStream {
 public:
  // The transactions must outlive it; the distance between two positions is at least 20.
  StagedStream(const std::vector<TestTransaction>& transactions, uint32_t seed);

  // What a session that starts at the position receives. `again`: also what a server repeats.
  std::vector<model::Batch> Session(uint64_t start, bool again) const;

 private:
  enum class Way { kWhole, kStreamed, kRolledBack, kPrepared, kStreamPrepared, kLatePrepared };
  struct Plan {
    const TestTransaction* transaction = nullptr;
    Way way = Way::kWhole;
    std::string gid;
    uint64_t prepare_lsn = 0;
    std::vector<Part> parts;
    std::set<uint32_t> voided;
  };
  struct Event {
    enum class Kind { kPart, kAbort, kPrepare, kEnd } kind = Kind::kEnd;
    size_t plan = 0;
    size_t part = 0;
    uint32_t subxid = 0;
    uint64_t lsn = 0;  // of kPrepare and kEnd
  };

  uint32_t Random(uint32_t below) { return static_cast<uint32_t>(random_()) % below; }
  void MakeParts(Plan* plan);
  void Schedule();
  void AddParts(size_t plan, size_t count);
  void AddPrepare(size_t plan, uint64_t lsn);
  bool IsDue(const Event& event, uint64_t start, bool again) const;
  void Send(const Event& event, std::vector<model::Batch>* out) const;

  std::mt19937 random_;
  std::vector<Plan> plans_;
  std::vector<size_t> sent_;  // parts of each plan that are scheduled
  std::vector<Event> events_;
};

}  // namespace varve::test
