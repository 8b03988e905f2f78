// SPDX-License-Identifier: PostgreSQL
#include <cstdlib>
#include <set>

#include "tests/support/catch.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/history/reference_model.h"

// Random histories against a model that keeps every version of everything in full. Every read verb is asked
// at every position. The seed is printed with each failure.
namespace varve::test {
namespace {

using base::Position;
using base::Result;
using history::ChangeKind;
using history::ChangeView;

void Must(const base::Status& status) {
  if (!status) FAIL(status.error().message);
}

void CheckScans(const history::History& history, const ReferenceModel& model, uint64_t lsn) {
  for (const auto& entry : model.MomentAt(lsn).tables) {
    const auto& oid = entry.first;  // clang 14 captures no structured binding
    const auto& table = entry.second;
    auto expected = table.rows.begin();
    Must(history.Scan(oid, Position{lsn}, {}, [&](const history::Row& row) -> Result<bool> {
      REQUIRE(expected != table.rows.end());
      REQUIRE(CellsOf(row) == expected->second.cells);
      REQUIRE(*row.relation == *table.relation);
      ++expected;
      return true;
    }));
    REQUIRE(expected == table.rows.end());
    REQUIRE((*history.RelationAt(oid, Position{lsn}))->version == table.relation->version);
  }
}

void CheckGets(const history::History& history, const ReferenceModel& model, uint64_t lsn) {
  for (const auto& [oid, table] : model.MomentAt(lsn).tables) {
    for (const std::string& key : model.Keys(oid)) {
      const auto row = history.Get(oid, key, Position{lsn});
      if (!row) FAIL(row.error().message);
      const auto expected = table.rows.find(key);
      REQUIRE(row->has_value() == (expected != table.rows.end()));
      if (*row) REQUIRE(CellsOf(*(*row)->relation, (*row)->cells) == expected->second.cells);
    }
  }
}

struct Net {
  ChangeKind kind;
  std::optional<Cells> before;
  std::optional<Cells> after;
  bool operator==(const Net&) const = default;
};

std::string Words(const Net& change) {
  const auto text = [](const std::optional<Cells>& cells) {
    std::string out;
    if (!cells) return std::string("-");
    for (const auto& [attnum, value] : *cells) {
      out += " " + std::to_string(attnum) + "=" + (value ? Catch::Detail::stringify(*value) : "null");
    }
    return out;
  };
  return std::string(history::ChangeKindName(change.kind)) + text(change.before) + " ->" + text(change.after);
}

std::map<std::string, Net> ExpectedDiff(const ReferenceModel& model, base::TableOid oid, uint64_t from,
                                        uint64_t to) {
  const ModelTable& low = model.MomentAt(std::min(from, to)).tables.at(oid);
  const ModelTable& high = model.MomentAt(std::max(from, to)).tables.at(oid);
  std::map<std::string, Net> net;
  for (const auto& [key, row] : low.rows) {
    const auto other = high.rows.find(key);
    if (other == high.rows.end()) {
      net[key] = Net{ChangeKind::kDelete, row.cells, {}};
    } else if (Convert(row.cells, *low.relation, *high.relation) != other->second.cells) {
      net[key] = Net{ChangeKind::kUpdate, row.cells, other->second.cells};
    }
  }
  for (const auto& [key, row] : high.rows) {
    if (low.rows.count(key) == 0) net[key] = Net{ChangeKind::kInsert, {}, row.cells};
  }
  if (from <= to) return net;
  for (auto& [key, change] : net) {
    std::swap(change.before, change.after);
    if (change.kind != ChangeKind::kUpdate) {
      change.kind = change.kind == ChangeKind::kInsert ? ChangeKind::kDelete : ChangeKind::kInsert;
    }
  }
  return net;
}

void CheckDiff(const history::History& history, const ReferenceModel& model, uint64_t from, uint64_t to) {
  for (const auto& [oid, table] : model.moments().front().tables) {
    std::map<std::string, Net> net;
    std::string last_key;
    Must(history.Diff(Position{from}, Position{to}, oid, false, [&](const ChangeView& view) -> Result<bool> {
      if (view.kind == ChangeKind::kSchema) {
        REQUIRE_FALSE(view.detail.empty());
        return true;
      }
      Net change{view.kind, {}, {}};
      if (view.before != nullptr) change.before = CellsOf(*view.before);
      if (view.after != nullptr) change.after = CellsOf(*view.after);
      const history::Row& row = view.before != nullptr ? *view.before : *view.after;
      const std::string key = KeyOf(*row.relation, CellsOf(row));
      REQUIRE(last_key <= key);
      last_key = key;
      REQUIRE(net.emplace(key, change).second);
      REQUIRE((view.kind == ChangeKind::kUpdate) == !view.changed.empty());
      return true;
    }));
    REQUIRE(net == ExpectedDiff(model, oid, from, to));
  }
}

// What the versions of a row should be, told backwards from the model.
std::vector<Net> ExpectedHistory(const ReferenceModel& model, base::TableOid oid, std::string key,
                                 uint64_t from, uint64_t to) {
  std::vector<Net> changes;
  const auto& moments = model.moments();
  for (size_t i = moments.size() - 1; i > 0; --i) {
    if (moments[i].lsn > to || moments[i].lsn <= from) continue;
    const ModelTable& before = moments[i - 1].tables.at(oid);
    const ModelTable& after = moments[i].tables.at(oid);
    const auto row = after.rows.find(key);
    bool touched = false;
    std::string old_key = key;
    for (const ModelStep& step : moments[i].steps) {
      if (step.table != oid) continue;
      const auto is_it = [&](const std::optional<Cells>& cells) {
        return cells && KeyOf(*after.relation, *cells) == key;
      };
      touched = touched || is_it(step.before) || is_it(step.after) || step.op == model::Op::kTruncate;
    }
    if (!touched) continue;
    if (row != after.rows.end() && row->second.origin != key) old_key = row->second.origin;
    const auto old_row = before.rows.find(old_key);
    if (old_row == before.rows.end() && row == after.rows.end()) {
      continue;
    }
    Net change{ChangeKind::kUpdate, {}, {}};
    if (old_row != before.rows.end()) {
      change.before = Convert(old_row->second.cells, *before.relation, *after.relation);
    }
    if (row != after.rows.end()) change.after = row->second.cells;
    if (!change.before) change.kind = ChangeKind::kInsert;
    if (!change.after) change.kind = ChangeKind::kDelete;
    // A TRUNCATE that left the row alone, because it came back as it was, cannot be: it has other cells.
    changes.push_back(change);
    key = old_key;
  }
  std::reverse(changes.begin(), changes.end());
  return changes;
}

void CheckRowHistories(const history::History& history, const ReferenceModel& model, uint64_t from,
                       uint64_t to) {
  for (const auto& [oid, table] : model.moments().front().tables) {
    for (const std::string& key : model.Keys(oid)) {
      std::vector<Net> changes;
      Must(history.RowHistory(
          oid, key, Position{from}, Position{to}, [&](const ChangeView& view) -> Result<bool> {
            // A row that a TRUNCATE removed is gone, as one that was deleted.
            Net change{view.kind == ChangeKind::kTruncate ? ChangeKind::kDelete : view.kind, {}, {}};
            if (view.before != nullptr) change.before = CellsOf(*view.before);
            if (view.after != nullptr) change.after = CellsOf(*view.after);
            changes.push_back(change);
            return true;
          }));
      const std::vector<Net> expected = ExpectedHistory(model, oid, key, from, to);
      std::string words;
      for (const Net& change : changes) words += "\n  is       " + Words(change);
      for (const Net& change : expected) words += "\n  expected " + Words(change);
      INFO("history of a row in " << table.relation->name << words);
      REQUIRE(changes.size() == expected.size());
      for (size_t i = 0; i < changes.size(); ++i) REQUIRE(changes[i] == expected[i]);
    }
  }
}

void CheckSteps(const std::vector<ModelStep>& expected,
                const std::function<base::Status(const history::ChangeCallback&)>& walk) {
  size_t steps = 0;
  Must(walk([&](const ChangeView& view) -> Result<bool> {
    if (view.kind == ChangeKind::kSchema) return true;
    REQUIRE(steps < expected.size());
    const ModelStep& step = expected[steps++];
    REQUIRE(history::ChangeKindName(view.kind) == model::OpName(step.op));
    REQUIRE((view.before != nullptr) == step.before.has_value());
    REQUIRE((view.after != nullptr) == step.after.has_value());
    if (view.before != nullptr) REQUIRE(CellsOf(*view.before) == *step.before);
    if (view.after != nullptr) REQUIRE(CellsOf(*view.after) == *step.after);
    REQUIRE(view.message_prefix == step.prefix);
    return true;
  }));
  REQUIRE(steps == expected.size());
}

void CheckLog(const history::History& history, const ReferenceModel& model) {
  std::vector<ModelStep> all;
  std::vector<const ModelMoment*> in_log;
  for (const ModelMoment& moment : model.moments()) {
    if (moment.in_log) in_log.push_back(&moment);
    all.insert(all.end(), moment.steps.begin(), moment.steps.end());
    CheckSteps(moment.steps, [&](const history::ChangeCallback& callback) {
      return history.Show(Position{moment.lsn}, callback);
    });
  }
  CheckSteps(all, [&](const history::ChangeCallback& callback) {
    return history.Diff(Position{kFirstLsn}, Position{model.moments().back().lsn}, std::nullopt, true,
                        callback);
  });
  size_t at = 0;
  Must(history.Log(Position{}, Position{UINT64_MAX}, true,
                   [&](const history::TransactionInfo& info) -> Result<bool> {
                     REQUIRE(at < in_log.size());
                     const ModelMoment& moment = *in_log[at++];
                     REQUIRE(info.point.position == Position{moment.lsn});
                     REQUIRE(info.point.xid->xid() == moment.xid);
                     REQUIRE(info.point.commit_time.micros == moment.time);
                     uint64_t counted = info.messages;
                     for (const auto& [oid, counts] : info.tables) {
                       counted += counts.inserts + counts.updates + counts.deletes + counts.truncates;
                     }
                     REQUIRE(counted == moment.steps.size());
                     return true;
                   }));
  REQUIRE(at == in_log.size());
}

model::Reference Refer(decltype(model::Reference::base) base, uint32_t back) {
  return model::Reference{std::move(base), back, "the reference"};
}

void CheckReferences(const history::History& history, const ReferenceModel& model) {
  const auto& moments = model.moments();
  int64_t running_max = moments.front().time;
  std::vector<uint64_t> stops{kFirstLsn};  // the first copy, then the log's entries
  uint64_t last = kFirstLsn;
  for (size_t i = 0; i < moments.size(); ++i) {
    const ModelMoment& moment = moments[i];
    if (moment.is_transaction) running_max = std::max(running_max, moment.time);
    if (moment.in_log) {
      last = moment.lsn;
      stops.push_back(moment.lsn);
    }
    const uint64_t next = i + 1 < moments.size() ? moments[i + 1].lsn : moment.lsn + 1;
    for (const uint64_t lsn : {moment.lsn, next - 1}) {
      const auto point = history.Resolve(Refer(model::LsnReference{{}, base::Lsn{lsn}}, 0), std::nullopt);
      REQUIRE(point->position == Position{last});
      for (uint32_t back = 1; back < 4; ++back) {
        const auto earlier =
            history.Resolve(Refer(model::LsnReference{{}, base::Lsn{lsn}}, back), std::nullopt);
        REQUIRE(earlier.has_value() == (back < stops.size()));
        if (earlier) REQUIRE(earlier->position == Position{stops[stops.size() - 1 - back]});
        if (!earlier) REQUIRE(earlier.error().code == base::ErrorCode::kBeforeHistory);
      }
    }
    if (moment.is_transaction && i > 0) {
      const auto point = history.Resolve(Refer(model::XidReference{{}, moment.xid}, 0), std::nullopt);
      REQUIRE(point->position == Position{moment.lsn});
      const auto earlier = history.Resolve(Refer(model::XidReference{{}, moment.xid}, 1), std::nullopt);
      const size_t here = moment.in_log ? stops.size() - 2 : stops.size() - 1;
      REQUIRE(earlier->position == Position{stops[here]});
    }
    // The longest prefix whose commit times are all at or before the time.
    uint64_t expected = 0;
    int64_t max_so_far = 0;
    for (const ModelMoment& candidate : moments) {
      if (!candidate.is_transaction) continue;
      max_so_far = std::max(max_so_far, candidate.time);
      if (max_so_far > moment.time) break;
      if (candidate.in_log || &candidate == &moments.front()) expected = candidate.lsn;
    }
    if (!moment.is_transaction) continue;
    const auto at_time =
        history.Resolve(Refer(model::TimeReference{base::Timestamp{moment.time}}, 0), std::nullopt);
    REQUIRE(at_time.has_value() == (expected != 0));
    if (at_time) REQUIRE(at_time->position == Position{expected});
  }
}

// Sends the transactions in pieces of any size, publishes now and then, and breaks off now and then: by a new
// session or by closing the store. Afterwards it goes on from somewhere at or before what was published.
class Driver {
 public:
  Driver(ReferenceModel* model, uint32_t seed) : model_(model), random_(seed) {
    history_ = OpenHistory(directory_.path(), &clock_);
    Must(CopyTables(history_.get(), model->copy()));
    Must(history_->BeginSession(base::FullXid{700}));
  }

  void Run() {
    size_t next = 0;
    while (next < model_->transactions().size()) {
      const TestTransaction& transaction = model_->transactions()[next];
      bool interrupted = false;
      for (size_t first = 0; first < transaction.changes.size() && !interrupted;) {
        const size_t left = transaction.changes.size() - first;
        const size_t count = Random(3) == 0 ? left : 1 + Random(static_cast<uint32_t>(left));
        Must(history_->Append(PieceOf(transaction, first, count)));
        first += count;
        if (Random(4) == 0) Must(history_->Publish());
        interrupted = first < transaction.changes.size() && Random(8) == 0;
      }
      if (transaction.changes.empty()) Must(history_->Append(PieceOf(transaction, 0, 0)));
      if (interrupted || Random(8) == 0) {
        next = Interrupt();
      } else {
        ++next;
      }
    }
    Must(history_->Publish());
  }

  history::History& history() { return *history_; }
  void Reopen() {
    history_.reset();
    // From writing each change at once to keeping everything until it is published.
    const uint64_t pending_bytes_max = Random(3) == 0 ? 1 : Random(2) == 0 ? 300 : uint64_t{4} << 20;
    history_ = OpenHistory(directory_.path(), &clock_, pending_bytes_max);
    Must(history_->BeginSession(base::FullXid{700}));
  }

 private:
  uint32_t Random(uint32_t below) { return static_cast<uint32_t>(random_()) % below; }

  size_t Interrupt() {
    if (Random(2) == 0) {
      Must(history_->BeginSession(base::FullXid{700}));
    } else {
      Reopen();
    }
    const uint64_t published = history_->GetStatus().published_through.value;
    CheckScans(*history_, *model_, published);
    size_t next = 0;
    while (next < model_->transactions().size() && model_->transactions()[next].lsn <= published) ++next;
    return next - std::min<size_t>(next, Random(3));
  }

  ReferenceModel* model_;
  std::mt19937 random_;
  TemporaryDirectory directory_;
  FixedClock clock_;
  std::unique_ptr<history::History> history_;
};

void RunSeed(uint32_t seed, int transactions) {
  INFO("seed " << seed);
  ReferenceModel model(seed);
  for (int i = 0; i < transactions; ++i) model.AddTransaction();
  Driver driver(&model, seed + 1);
  driver.Run();
  for (int round = 0; round < 2; ++round) {
    const history::History& history = driver.history();
    const uint64_t end = model.moments().back().lsn;
    REQUIRE(history.GetStatus().published_through == Position{end});
    for (const ModelMoment& moment : model.moments()) {
      CheckScans(history, model, moment.lsn);
      CheckGets(history, model, moment.lsn);
      if (moment.lsn > kFirstLsn) CheckScans(history, model, moment.lsn - 1);
      CheckDiff(history, model, moment.lsn, end);
      CheckDiff(history, model, end, moment.lsn);
      CheckDiff(history, model, kFirstLsn, moment.lsn);
      CheckRowHistories(history, model, kFirstLsn, moment.lsn);
      CheckRowHistories(history, model, moment.lsn, end);
    }
    CheckLog(history, model);
    CheckReferences(history, model);
    driver.Reopen();
  }
}

TEST_CASE("random histories read back exactly, by every verb at every position") {
  for (uint32_t seed = 1; seed <= 12; ++seed) RunSeed(seed, 30);
}

TEST_CASE("many random histories read back exactly", "[.slow]") {
  const char* given = getenv("VARVE_TEST_SEED");  // to run one again
  const uint32_t start =
      given == nullptr ? std::random_device{}() : static_cast<uint32_t>(strtoul(given, nullptr, 10));
  WARN("first seed " << start);
  for (uint32_t seed = start; seed < start + 100; ++seed) RunSeed(seed, 60);
}

}  // namespace
}  // namespace varve::test
