// SPDX-License-Identifier: PostgreSQL
#include "sidecar/ingest/first_copy.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "sidecar/base/log.h"
#include "sidecar/ingest/copy_job.h"
#include "sidecar/pg/clock_ms.h"
#include "sidecar/pg/preflight.h"
#include "sidecar/pg/server_state.h"
#include "sidecar/types/text_key.h"

namespace varve::ingest {
namespace {

using base::ErrorCode;

constexpr int kAttemptsMax = 5;          // of a copy that TRUNCATE or DDL keeps invalidating
constexpr uint64_t kChunkPages = 16384;  // 128 MiB with blocks of 8 KiB
constexpr int kBlockersEveryMs = 2'000;
constexpr int kGuardMs = 60'000;
constexpr auto kGuardSleep = std::chrono::milliseconds(20);
constexpr int kDropTimeoutMs = 3'000;

// Why rows of a table without a key cannot be found again by what they look like; empty when they can.
std::string BagTrouble(const model::Relation& relation) {
  for (const model::Column& column : relation.columns) {
    if (column.form != model::Form::kText) continue;
    const base::Status lasting = types::CheckLastingText(relation, column.base_type_oid);
    if (!lasting)
      return fmt::format("its rows have no key, and column {}: {}", column.name, lasting.error().message);
  }
  return {};
}

// Why rows of the table cannot be told apart by their keys here; empty when they can.
std::string KeyTrouble(const model::Relation& relation) {
  if (relation.KeyColumns().empty()) return BagTrouble(relation);
  for (const model::Column* column : relation.KeyColumns()) {
    if (column->form != model::Form::kText) continue;
    const base::Status usable = types::CheckTextIdentity(relation, column->base_type_oid);
    if (!usable) return fmt::format("key column {}: {}", column->name, usable.error().message);
  }
  return {};
}

std::string JoinBlockers(const std::vector<pg::Blocker>& blockers) {
  std::string text;
  for (const pg::Blocker& blocker : blockers) {
    text += (text.empty() ? "" : "; ") + blocker.description;
  }
  return text;
}

}  // namespace

base::Status FirstCopy::History(base::Status status) {
  if (status) return status;
  return params_.trouble->FromHistory(std::move(status).error());
}

base::Status FirstCopy::Run(const history::Identity& identity, pg::Connection* control,
                            pg::Connection* replication) {
  for (int attempt = 1; attempt <= kAttemptsMax; ++attempt) {
    auto outcome = Attempt(identity, control, replication);
    if (outcome && *outcome == Outcome::kDone) return {};
    DropSlot();
    if (!outcome) return base::Fail(std::move(outcome).error());
  }
  return params_.trouble->Wait(
      fmt::format(
          "the first copy was begun {} times, and each time a table was truncated or altered meanwhile",
          kAttemptsMax),
      "let the first copy run while no TRUNCATE and no ALTER TABLE runs");
}

base::Result<FirstCopy::Outcome> FirstCopy::Attempt(const history::Identity& identity,
                                                    pg::Connection* control, pg::Connection* replication) {
  // The identity is stored before the slot exists: a slot found later without a first copy is then ours.
  RETURN_IF_ERROR(History(params_.history->BeginBaseline(identity)));
  params_.board->Update([](IngestStatus* status) {
    status->phase = Phase::kCopying;
    status->rows_copied = 0;
    status->rows_expected = 0;
  });
  ASSIGN_OR_RETURN(const pg::CreatedSlot slot, CreateSlot(control, replication));
  ASSIGN_OR_RETURN(const pg::Rows now,
                   control->Query("select (extract(epoch from clock_timestamp() - '2000-01-01 00:00:00+00')"
                                  " * 1000000)::bigint"));
  const base::Timestamp time{now.Int(0, 0)};
  auto tables = ReadTables(slot.snapshot, control);
  if (!tables) return base::Fail(std::move(tables).error());
  int64_t rows_expected = 0;
  for (const CatalogTable& table : *tables) rows_expected += table.rows_estimate;
  params_.board->Update([&](IngestStatus* status) {
    status->rows_expected = static_cast<uint64_t>(std::max<int64_t>(rows_expected, 0));
  });
  base::LogInfo("first copy of {} tables at {}", tables->size(), base::FormatLsn(slot.consistent_point));
  CopyJob job({params_.options->dsn, params_.options->connect_timeout_ms, params_.options->copy_connections,
               slot.snapshot, params_.history, params_.board, params_.stop},
              &*tables, PlanChunks(*tables, kChunkPages));
  base::Status copied = tables->empty() ? base::Status() : job.Run();
  if (const std::string moved = job.moved(); !moved.empty()) {
    base::LogWarning("table {} was truncated or altered during the first copy, which begins again", moved);
    return Outcome::kMoved;
  }
  if (copied) {
    ASSIGN_OR_RETURN(const std::string changed, FindChangedType(*tables));
    if (!changed.empty()) {
      base::LogWarning("a type of table {} was changed during the first copy, which begins again", changed);
      return Outcome::kMoved;
    }
  }
  if (!copied && job.history_failed()) return params_.trouble->FromHistory(std::move(copied).error());
  if (!copied) return base::Fail(std::move(copied).error());
  RETURN_IF_ERROR(
      History(params_.history->FinishBaseline(base::Position::Make(0, slot.consistent_point), time)));
  base::LogInfo("first copy complete: {} rows", params_.board->Read().rows_copied);
  return Outcome::kDone;
}

base::Status FirstCopy::ReportBlockers(pg::Connection* control, std::string* reported) {
  ASSIGN_OR_RETURN(const auto blockers, pg::FindSlotBlockers(control));
  if (blockers.empty()) return {};
  const std::string text = JoinBlockers(blockers);
  const std::string message = "the new slot waits for running transactions: " + text;
  params_.board->Update([&](IngestStatus* status) {
    status->phase = Phase::kWaiting;
    status->last_error = message;
    status->remedy = blockers.front().remedy;
  });
  // Their ages change all the time: log a set of transactions once.
  std::string who;
  for (const pg::Blocker& blocker : blockers) who += fmt::format("{} {},", blocker.pid, blocker.gid);
  if (who != *reported) base::LogWarning("{}; remedy: {}", message, blockers.front().remedy);
  *reported = who;
  return {};
}

base::Result<pg::CreatedSlot> FirstCopy::CreateSlot(pg::Connection* control, pg::Connection* replication) {
  RETURN_IF_ERROR(replication->Send(pg::CreateSlotCommand(params_.options->slot, pg::kPluginName)));
  const int64_t deadline_ms = pg::NowMs() + params_.options->slot_timeout_ms;
  std::string reported;
  for (;;) {
    auto ended = replication->WaitEnded(kBlockersEveryMs);
    if (ended && *ended) break;
    base::Status status;
    if (!ended) {
      status = base::Fail(std::move(ended).error());
    } else if (pg::NowMs() >= deadline_ms) {
      const IngestStatus seen = params_.board->Read();
      status = params_.trouble->Wait(fmt::format("gave up making the slot after {} s: {}",
                                                 params_.options->slot_timeout_ms / 1000, seen.last_error),
                                     seen.remedy);
    } else {
      status = ReportBlockers(control, &reported);
    }
    if (!status) {
      // Otherwise the walsender would go on waiting, and hold the slot, long after we are gone.
      replication->Cancel();
      return base::Fail(std::move(status).error());
    }
  }
  params_.board->Update([](IngestStatus* status) {
    status->phase = Phase::kCopying;
    status->last_error.clear();
    status->remedy.clear();
  });
  auto rows = replication->Finish();
  if (!rows) {
    slot_is_foreign_ = rows.error().code == ErrorCode::kExists;
    return params_.trouble->FromServer(std::move(rows).error(), *replication);
  }
  made_slot_ = true;
  return pg::ReadCreatedSlot(*rows);
}

// A commit can be decoded, and so count as finished in the exported snapshot, before it is marked committed:
// such rows would be missing, or be hinted aborted. Reading waits until no transaction runs that the snapshot
// takes for finished; a transaction is marked committed before it leaves the list of running ones.
base::Status FirstCopy::GuardSnapshot(pg::Connection* snapshot_holder, pg::Connection* control) {
  ASSIGN_OR_RETURN(const pg::Rows printed,
                   snapshot_holder->Query("select pg_catalog.pg_current_snapshot()::text"));
  // An exported snapshot may begin behind its own end, and is then printed as what pg_snapshot does not read:
  // XidInMVCCSnapshot takes all before its xmin for finished.
  ASSIGN_OR_RETURN(const pg::Rows snapshot, control->Query("select pg_catalog.format('%s:%s:%s', p[1],"
                                                           " greatest(p[1]::numeric, p[2]::numeric), p[3])"
                                                           " from pg_catalog.string_to_array($1, ':') p",
                                                           {std::string(printed.Text(0, 0))}));
  const int64_t deadline_ms = pg::NowMs() + kGuardMs;
  for (;;) {
    ASSIGN_OR_RETURN(
        const pg::Rows running,
        control->Query("select x from pg_catalog.pg_snapshot_xip(pg_catalog.pg_current_snapshot()) x"
                       " where pg_catalog.pg_visible_in_snapshot(x, $1::pg_snapshot)",
                       {std::string(snapshot.Text(0, 0))}));
    if (running.size() == 0) return {};
    if (pg::NowMs() > deadline_ms) {
      return params_.trouble->Wait(
          fmt::format("transaction {} is committed and does not end", running.Text(0, 0)),
          "it probably waits for a synchronous standby that is away: see synchronous_standby_names");
    }
    std::this_thread::sleep_for(kGuardSleep);
  }
}

base::Result<std::vector<CatalogTable>> FirstCopy::ReadTables(const std::string& snapshot,
                                                              pg::Connection* control) {
  ASSIGN_OR_RETURN(
      const auto holder,
      pg::Connection::Open({params_.options->dsn, false, params_.options->connect_timeout_ms, params_.stop}));
  RETURN_IF_ERROR(PinSettings(holder.get()));
  RETURN_IF_ERROR(holder->Query("begin isolation level repeatable read read only"));
  RETURN_IF_ERROR(holder->Query("set transaction snapshot " + pg::QuoteLiteral(snapshot)));
  RETURN_IF_ERROR(GuardSnapshot(holder.get(), control));
  ASSIGN_OR_RETURN(const pg::Publication publication,
                   pg::ReadPublication(holder.get(), params_.options->publication));
  RETURN_IF_ERROR(params_.trouble->FromFindings(
      pg::CheckPublication(publication, params_.options->publication, holder->user())));
  std::vector<uint32_t> oids;
  oids.reserve(publication.tables.size());
  for (const pg::TableFacts& table : publication.tables) oids.push_back(table.oid);
  ASSIGN_OR_RETURN(std::vector<CatalogTable> tables, ReadRelations(holder.get(), oids));
  return RegisterTables(publication, std::move(tables));
}

// The output functions look at the types as they are now, whatever the snapshot: what was copied stands for
// the snapshot only if labels and fields are still the same at the end. Locks on tables do not keep those.
// The name of a table of which they are not.
base::Result<std::string> FirstCopy::FindChangedType(const std::vector<CatalogTable>& tables) {
  ASSIGN_OR_RETURN(
      const auto present,
      pg::Connection::Open({params_.options->dsn, false, params_.options->connect_timeout_ms, params_.stop}));
  RETURN_IF_ERROR(PinSettings(present.get()));
  RETURN_IF_ERROR(present->Query("begin isolation level repeatable read read only"));
  std::vector<uint32_t> oids;
  for (const CatalogTable& table : tables) oids.push_back(table.relation.oid.value);
  ASSIGN_OR_RETURN(const std::vector<CatalogTable> now, ReadRelations(present.get(), oids));
  for (const CatalogTable& table : tables) {
    const auto same = std::find_if(now.begin(), now.end(), [&](const CatalogTable& candidate) {
      return candidate.relation.oid == table.relation.oid;
    });
    if (same == now.end()) continue;  // dropped since: the stream will say so
    for (const model::Column& column : table.relation.columns) {
      if (column.form == model::Form::kText &&
          !model::ReadsAlike(table.relation, same->relation, column.base_type_oid)) {
        return table.relation.QualifiedName();
      }
    }
  }
  return std::string();
}

// Tells the history of all tables; gives back those whose rows are to be copied.
base::Result<std::vector<CatalogTable>> FirstCopy::RegisterTables(const pg::Publication& publication,
                                                                  std::vector<CatalogTable> tables) {
  std::vector<CatalogTable> usable;
  for (CatalogTable& table : tables) {
    const auto facts = std::find_if(
        publication.tables.begin(), publication.tables.end(),
        [&](const pg::TableFacts& candidate) { return candidate.oid == table.relation.oid.value; });
    if (facts == publication.tables.end()) continue;
    pg::TableVerdict verdict = pg::JudgeTable(*facts);
    if (verdict.usable) verdict.reason = KeyTrouble(table.relation);
    verdict.usable = verdict.usable && verdict.reason.empty();
    RETURN_IF_ERROR(History(params_.history->AddBaselineTable(table.relation)));
    if (verdict.usable) {
      usable.push_back(std::move(table));
      continue;
    }
    const std::string reason = verdict.remedy.empty()
                                   ? verdict.reason
                                   : fmt::format("{}; remedy: {}", verdict.reason, verdict.remedy);
    base::LogWarning("table {} is not followed: {}", table.relation.QualifiedName(), reason);
    RETURN_IF_ERROR(History(params_.history->ExcludeBaselineTable(table.relation.oid, reason)));
  }
  return usable;
}

// Without our slot the server keeps no WAL for a copy that came to nothing. What fails here, the next start
// does: it drops a slot that is ours and has no first copy.
void FirstCopy::DropSlot() {
  if (!made_slot_) return;
  made_slot_ = false;
  const auto connection = pg::Connection::Open({params_.options->dsn, false, kDropTimeoutMs, nullptr});
  if (!connection) return;
  (*connection)->set_timeout_ms(kDropTimeoutMs);
  const auto dropped = (*connection)
                           ->Query(
                               "select pg_drop_replication_slot(slot_name) from pg_replication_slots"
                               " where slot_name = $1 and plugin = $2 and not active",
                               {params_.options->slot, pg::kPluginName});
  if (!dropped) base::LogDebug("the slot of the failed copy stays for now: {}", dropped.error().message);
}

}  // namespace varve::ingest
