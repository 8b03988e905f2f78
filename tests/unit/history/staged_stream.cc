// SPDX-License-Identifier: PostgreSQL
#include "tests/unit/history/staged_stream.h"

#include <algorithm>

#include <fmt/format.h>

#include "tests/support/catch.h"

namespace varve::test {

using base::Position;
using base::Result;
using model::Staged;

namespace {

void AddGid(const std::string& gid, model::Batch* batch) {
  model::Change change;
  change.op = model::Op::kGid;
  change.seq = base::Seq{static_cast<uint32_t>(batch->changes.size())};
  batch->bytes = gid + std::string(64, '\0');  // so that a move leaves the bytes where they are
  change.new_image = std::string_view(batch->bytes).substr(0, gid.size());
  batch->changes.push_back(change);
  ++batch->pieces[0].count;
}

std::string CellsText(const history::Row* row) {
  if (row == nullptr) return "-";
  std::string out = fmt::format("{:016x}@{}", row->relation->version.value, row->since.value);
  for (const auto& [attnum, value] : CellsOf(*row)) {
    out += fmt::format(" {}={}", attnum, value ? Catch::Detail::stringify(*value) : "null");
  }
  return out;
}

std::string ViewText(const history::ChangeView& view) {
  return fmt::format("{} {} {} seq {} {}: {} -> {} {} {} {}\n", view.point.position.value,
                     view.point.xid ? view.point.xid->value : 0, view.point.commit_time.micros,
                     view.seq.value, history::ChangeKindName(view.kind), CellsText(view.before),
                     CellsText(view.after), view.message_prefix, view.message_content, view.detail);
}

void Must(const base::Status& status) {
  if (!status) FAIL(status.error().message);
}

}  // namespace

model::Batch StreamedPart(const Part& part) {
  model::Batch batch = PieceOf(*part.transaction, part.first, part.count);
  model::TransactionPiece& piece = batch.pieces[0];
  piece.staged = Staged::kStreamed;
  piece.end_lsn = {};
  piece.commit_time = {};
  piece.subxid = part.subxid;
  piece.begin = part.begin;
  piece.commit = false;
  for (size_t i = 0; i < batch.changes.size(); ++i) {
    batch.changes[i].seq.value = part.seq + static_cast<uint32_t>(i);
  }
  return batch;
}

model::Batch PreparedPart(const Part& part, uint64_t lsn, bool last, const std::string& gid) {
  model::Batch batch = PieceOf(*part.transaction, part.first, part.count);
  model::TransactionPiece& piece = batch.pieces[0];
  piece.staged = Staged::kPrepared;
  piece.end_lsn = base::Lsn{lsn};
  piece.begin = part.begin;
  piece.commit = last;
  if (last) AddGid(gid, &batch);
  return batch;
}

model::Batch AbortOf(uint32_t xid, uint32_t subxid) {
  model::Batch batch;
  model::TransactionPiece piece;
  piece.xid = xid;
  piece.subxid = subxid;
  piece.staged = Staged::kStreamAbort;
  batch.pieces.push_back(piece);
  return batch;
}

model::Batch EndOf(const TestTransaction& transaction, Staged staged, uint64_t lsn, const std::string& gid) {
  model::Batch batch;
  model::TransactionPiece piece;
  piece.xid = transaction.xid;
  piece.end_lsn = base::Lsn{lsn};
  piece.commit_time = base::Timestamp{transaction.time};
  piece.staged = staged;
  piece.begin = staged == Staged::kCommitPrepared || staged == Staged::kRollbackPrepared;
  piece.commit = true;
  piece.origin = transaction.origin;
  batch.pieces.push_back(piece);
  if (!gid.empty()) AddGid(gid, &batch);
  return batch;
}

std::string Everything(const history::History& history, uint64_t through) {
  std::string out;
  const Position first{kFirstLsn};
  std::vector<Position> positions{first};
  Must(history.Log(first, Position{through}, true, [&](const history::TransactionInfo& info) -> Result<bool> {
    out += fmt::format("log {} {} {} {}", info.point.position.value, info.point.xid->value,
                       info.point.commit_time.micros, info.messages);
    for (const auto& [table, counts] : info.tables) {
      out += fmt::format(" {}: {} {} {} {} {}", table.value, counts.inserts, counts.updates, counts.deletes,
                         counts.truncates, counts.definitions);
    }
    if (info.origin) {
      out += fmt::format(" from {} {} {}", info.origin->id, info.origin->name, info.origin->lsn.value);
    }
    out += '\n';
    positions.push_back(info.point.position);
    return true;
  }));
  const auto add = [&](const history::ChangeView& view) -> Result<bool> {
    out += ViewText(view);
    return true;
  };
  for (const Position position : positions) {
    if (position != first) Must(history.Show(position, add));
  }
  Must(history.Diff(first, Position{through}, std::nullopt, true, add));
  for (const history::TableInfo& table : history.Tables()) {
    out += fmt::format("table {} {} {} {}\n", table.relation->QualifiedName(),
                       history::TableStateName(table.state), table.reason, table.changes);
    for (const Position position : positions) {
      const auto status =
          history.Scan(table.relation->oid, position, {}, [&](const history::Row& row) -> Result<bool> {
            out += CellsText(&row) + "\n";
            const auto key = KeyOf(*row.relation, CellsOf(row));
            Must(history.RowHistory(table.relation->oid, key, first, position, add));
            return true;
          });
      if (!status) out += status.error().message + "\n";
    }
  }
  return out;
}

StagedStream::StagedStream(const std::vector<TestTransaction>& transactions, uint32_t seed) : random_(seed) {
  for (const TestTransaction& transaction : transactions) {
    Plan plan;
    plan.transaction = &transaction;
    if (!transaction.non_transactional && !transaction.changes.empty())
      plan.way = static_cast<Way>(Random(6));
    // What rolls back is another one's changes, and the transaction itself comes whole.
    if (plan.way == Way::kRolledBack) {
      plan.parts.push_back({&transaction, 0, 0, transaction.changes.size(), 0, true});
    } else if (plan.way != Way::kWhole) {
      MakeParts(&plan);
    }
    plan.gid = fmt::format("gid {}", transaction.xid % 3);
    plans_.push_back(std::move(plan));
  }
  sent_.resize(plans_.size());
  Schedule();
}

void StagedStream::MakeParts(Plan* plan) {
  const TestTransaction& transaction = *plan->transaction;
  const bool streamed = plan->way == Way::kStreamed || plan->way == Way::kStreamPrepared;
  uint32_t next_subxid = transaction.xid + 1'000'000;
  uint32_t seq = 0;
  for (size_t first = 0; first < transaction.changes.size();) {
    if (streamed && Random(3) == 0) {
      const size_t some = Random(static_cast<uint32_t>(transaction.changes.size()));
      const size_t count = 1 + Random(static_cast<uint32_t>(transaction.changes.size() - some));
      plan->voided.insert(next_subxid);
      plan->parts.push_back({&transaction, next_subxid++, some, count, seq, plan->parts.empty()});
      seq += static_cast<uint32_t>(count);
    }
    const size_t count = 1 + Random(static_cast<uint32_t>(transaction.changes.size() - first));
    const uint32_t subxid = streamed && Random(2) == 0 ? next_subxid++ : transaction.xid;
    plan->parts.push_back({&transaction, subxid, first, count, seq, plan->parts.empty()});
    seq += static_cast<uint32_t>(count);
    first += count;
  }
}

void StagedStream::AddParts(size_t plan, size_t count) {
  for (; count > 0 && sent_[plan] < plans_[plan].parts.size(); --count, ++sent_[plan]) {
    const Part& part = plans_[plan].parts[sent_[plan]];
    events_.push_back({Event::Kind::kPart, plan, sent_[plan], 0, 0});
    if (plans_[plan].voided.count(part.subxid) != 0) {
      events_.push_back({Event::Kind::kAbort, plan, 0, part.subxid, 0});
    }
  }
}

void StagedStream::AddPrepare(size_t plan, uint64_t lsn) {
  AddParts(plan, SIZE_MAX);
  plans_[plan].prepare_lsn = lsn;
  events_.push_back({Event::Kind::kPrepare, plan, 0, 0, lsn});
}

void StagedStream::Schedule() {
  constexpr size_t kBeside = 4;
  for (size_t i = 0; i < plans_.size(); ++i) {
    uint64_t between = i == 0 ? kFirstLsn : plans_[i - 1].transaction->lsn;
    for (size_t k = i; k < std::min(i + kBeside, plans_.size()); ++k) {
      const Plan& plan = plans_[k];
      if (plan.way == Way::kStreamed || plan.way == Way::kStreamPrepared || plan.way == Way::kRolledBack) {
        if (plan.prepare_lsn == 0) AddParts(k, Random(3));
      }
      const bool prepares = plan.way == Way::kPrepared || plan.way == Way::kStreamPrepared;
      if (prepares && plan.prepare_lsn == 0 && (k == i || Random(3) == 0)) AddPrepare(k, ++between);
    }
    if (plans_[i].way == Way::kLatePrepared) AddPrepare(i, kFirstLsn - 1);
    if (plans_[i].way == Way::kStreamed) AddParts(i, SIZE_MAX);
    if (plans_[i].way == Way::kRolledBack && sent_[i] > 0) {
      events_.push_back({Event::Kind::kAbort, i, 0, plans_[i].transaction->xid, 0});
    }
    events_.push_back({Event::Kind::kEnd, i, 0, 0, plans_[i].transaction->lsn});
  }
}

// A server skips what ended before the start of the session, and never a transaction that it has not
// prepared.
bool StagedStream::IsDue(const Event& event, uint64_t start, bool again) const {
  const Plan& plan = plans_[event.plan];
  const uint64_t lsn = again ? start - std::min<uint64_t>(start, 200) : start;
  if (event.kind == Event::Kind::kEnd) return event.lsn > lsn;
  const bool with_its_end = plan.prepare_lsn == 0 || plan.way == Way::kLatePrepared;
  return (with_its_end ? plan.transaction->lsn : plan.prepare_lsn) > lsn;
}

void StagedStream::Send(const Event& event, std::vector<model::Batch>* out) const {
  const Plan& plan = plans_[event.plan];
  const TestTransaction& transaction = *plan.transaction;
  const bool whole_prepare = plan.way == Way::kPrepared || plan.way == Way::kLatePrepared;
  switch (event.kind) {
    case Event::Kind::kPart:
      if (!whole_prepare) out->push_back(StreamedPart(plan.parts[event.part]));
      return;
    case Event::Kind::kAbort: out->push_back(AbortOf(transaction.xid, event.subxid)); return;
    case Event::Kind::kPrepare:
      if (!whole_prepare) {
        out->push_back(EndOf(transaction, Staged::kStreamPrepare, event.lsn, plan.gid));
        return;
      }
      for (const Part& part : plan.parts) {
        out->push_back(PreparedPart(part, event.lsn, &part == &plan.parts.back(), plan.gid));
      }
      return;
    case Event::Kind::kEnd: break;
  }
  if (plan.way == Way::kWhole || plan.way == Way::kRolledBack) {
    out->push_back(PieceOf(transaction, 0, transaction.changes.size()));
  } else if (plan.way == Way::kStreamed) {
    out->push_back(EndOf(transaction, Staged::kStreamCommit, event.lsn));
  } else {
    out->push_back(EndOf(transaction, Staged::kCommitPrepared, event.lsn, plan.gid));
  }
}

std::vector<model::Batch> StagedStream::Session(uint64_t start, bool again) const {
  std::vector<model::Batch> batches;
  for (const Event& event : events_) {
    if (IsDue(event, start, again)) Send(event, &batches);
  }
  return batches;
}

}  // namespace varve::test
