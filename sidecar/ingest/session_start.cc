// SPDX-License-Identifier: PostgreSQL
#include "sidecar/ingest/session_start.h"

#include <sys/random.h>

#include <utility>

#include <fmt/format.h>

#include "sidecar/base/log.h"
#include "sidecar/ingest/first_copy.h"
#include "sidecar/pg/preflight.h"

namespace varve::ingest {
namespace {

using base::ErrorCode;

constexpr char kBeginAnew[] =
    "to begin a new history, stop varved, run varve detach, move [store] data_dir away and start varved";

base::Result<wire::SessionId> NewSession() {
  wire::SessionId session;
  if (getrandom(&session, sizeof(session), 0) != sizeof(session)) {
    return base::Fail(ErrorCode::kUnavailable, "the system gave no random bytes for a session id");
  }
  return session;
}

std::string HolderText(const pg::SlotState& slot) {
  return slot.holder.empty() ? fmt::format("process {}", slot.active_pid)
                             : fmt::format("process {} ({})", slot.active_pid, slot.holder);
}

tl::unexpected<base::Error> SlotInUse(const pg::SlotState& state, const std::string& slot, Trouble* trouble) {
  return trouble->Wait(fmt::format("slot {} is in use by {}", slot, HolderText(state)),
                       fmt::format("end that reader, or wait; a reader that is gone is noticed within "
                                   "wal_sender_timeout (select pg_terminate_backend({}); is quicker)",
                                   state.active_pid));
}

}  // namespace

base::Status CheckIdentity(const history::Identity& identity, const SessionFacts& facts,
                           const Options& options, Trouble* trouble) {
  const auto refuse = [&](std::string message, std::string remedy) -> base::Status {
    return trouble->Refuse(ErrorCode::kConflict, std::move(message), std::move(remedy));
  };
  if (identity.system_identifier != facts.system.system_identifier) {
    return refuse(
        fmt::format("this history is of the server with system identifier {}, [source] dsn leads to {}",
                    identity.system_identifier, facts.system.system_identifier),
        "correct [source] dsn or [store] data_dir; following a server over pg_upgrade or a dump is not "
        "supported yet");
  }
  if (identity.database_oid != facts.database_oid) {
    return refuse(
        fmt::format("this history is of database {} (oid {}), [source] dsn leads to {} (oid {})",
                    identity.database, identity.database_oid, facts.system.database, facts.database_oid),
        "correct [source] dsn or [store] data_dir");
  }
  if (identity.slot != options.slot || identity.publication != options.publication) {
    return refuse(
        fmt::format("this history was made through slot {} and publication {}, the configuration says {} "
                    "and {}",
                    identity.slot, identity.publication, options.slot, options.publication),
        "put the old names back into [source], or use another [store] data_dir");
  }
  if (identity.timeline != facts.system.timeline) {
    return refuse(
        fmt::format("the server is on timeline {}, this history is of timeline {}: a standby was promoted "
                    "or a backup restored",
                    facts.system.timeline, identity.timeline),
        fmt::format("following a server onto another timeline is not supported yet; {}", kBeginAnew));
  }
  return {};
}

base::Status CheckResume(base::Lsn published_through, const SessionFacts& facts, const std::string& slot,
                         Trouble* trouble) {
  if (!facts.slot.exists) {
    return trouble->Refuse(
        ErrorCode::kNotFound,
        fmt::format("slot {} does not exist any more: what was written since {} is lost to this "
                    "history, which stays readable up to there",
                    slot, base::FormatLsn(published_through)),
        kBeginAnew);
  }
  RETURN_IF_ERROR(trouble->FromFindings(pg::CheckSlot(facts.slot, slot, facts.settings.database)));
  if (facts.slot.confirmed_flush > published_through) {
    return trouble->Refuse(
        ErrorCode::kHistoryGap,
        fmt::format(
            "slot {} was confirmed up to {} by somebody else, this history ends at {}: it would have a hole",
            slot, base::FormatLsn(*facts.slot.confirmed_flush), base::FormatLsn(published_through)),
        fmt::format("nothing but varved may read the slot; {}", kBeginAnew));
  }
  if (facts.system.flushed < published_through) {
    return trouble->Refuse(
        ErrorCode::kConflict,
        fmt::format(
            "the server's WAL ends at {}, before the end of this history at {}: it lost WAL or was restored "
            "from a backup",
            base::FormatLsn(facts.system.flushed), base::FormatLsn(published_through)),
        kBeginAnew);
  }
  if (facts.slot.active) return SlotInUse(facts.slot, slot, trouble);
  return {};
}

base::Result<bool> CheckLeftover(const std::optional<history::Identity>& identity, const SessionFacts& facts,
                                 const std::string& slot, Trouble* trouble) {
  if (!facts.slot.exists) return false;
  RETURN_IF_ERROR(trouble->FromFindings(pg::CheckSlot(facts.slot, slot, facts.settings.database)));
  if (!identity) {
    return trouble->Refuse(
        ErrorCode::kExists,
        fmt::format("slot {} exists already and was not made for this history{}", slot,
                    facts.slot.active ? "; it is in use by " + HolderText(facts.slot) : ""),
        fmt::format("choose another name in [source] slot, or if nothing else needs it, varve detach (select "
                    "pg_drop_replication_slot({});)",
                    pg::QuoteLiteral(slot)));
  }
  if (facts.slot.active) return SlotInUse(facts.slot, slot, trouble);
  return true;
}

base::Result<std::unique_ptr<pg::Connection>> SessionStart::Connect(bool replication) {
  pg::OpenFailure failure;
  auto connection = pg::Connection::Open(
      {params_.options->dsn, replication, params_.options->connect_timeout_ms, params_.stop}, &failure);
  if (!connection) return params_.trouble->FromOpen(std::move(connection).error(), failure);
  return connection;
}

base::Result<SessionFacts> SessionStart::ReadFacts(pg::Connection* control, pg::Connection* replication) {
  SessionFacts facts;
  ASSIGN_OR_RETURN(facts.system, pg::IdentifySystem(replication));
  ASSIGN_OR_RETURN(
      const pg::Rows database,
      control->Query("select oid from pg_catalog.pg_database where datname = current_database()"));
  facts.database_oid = static_cast<uint32_t>(database.Int(0, 0));
  ASSIGN_OR_RETURN(facts.slot, pg::ReadSlot(control, params_.options->slot));
  return facts;
}

history::Identity SessionStart::IdentityOf(const SessionFacts& facts) const {
  return {facts.system.system_identifier, facts.system.timeline, facts.database_oid,
          facts.settings.database,        params_.options->slot, params_.options->publication,
          facts.settings.encoding};
}

base::Status SessionStart::MakeFirstCopy(const SessionFacts& facts, pg::Connection* control,
                                         pg::Connection* replication) {
  std::optional<history::Identity> identity = params_.history->GetIdentity();
  // An identity of another server or slot says nothing about this slot.
  if (identity && (*params_.slot_is_foreign || identity->slot != params_.options->slot ||
                   identity->system_identifier != facts.system.system_identifier ||
                   identity->database_oid != facts.database_oid)) {
    identity.reset();
  }
  ASSIGN_OR_RETURN(const bool leftover,
                   CheckLeftover(identity, facts, params_.options->slot, params_.trouble));
  *params_.slot_is_foreign = false;
  // What makes a copy pointless is found before the slot: the publication is made and committed first.
  ASSIGN_OR_RETURN(const pg::Publication publication,
                   pg::ReadPublication(control, params_.options->publication));
  RETURN_IF_ERROR(params_.trouble->FromFindings(
      pg::CheckPublication(publication, params_.options->publication, facts.settings.user)));
  if (leftover) {
    base::LogInfo("dropping slot {} of a first copy that was not completed", params_.options->slot);
    const auto dropped =
        control->Query("select pg_catalog.pg_drop_replication_slot($1)", {params_.options->slot});
    if (!dropped) return params_.trouble->FromServer(dropped.error(), *control);
  }
  FirstCopy copy({params_.options, params_.history, params_.board, params_.trouble, params_.stop});
  base::Status copied = copy.Run(IdentityOf(facts), control, replication);
  *params_.slot_is_foreign = copy.slot_is_foreign();
  return copied;
}

base::Result<SessionStart::Started> SessionStart::Run() {
  Started started;
  ASSIGN_OR_RETURN(const auto control, Connect(false));
  ASSIGN_OR_RETURN(pg::ServerSettings settings, pg::ReadServerSettings(control.get()));
  ASSIGN_OR_RETURN(const pg::SlotState slot, pg::ReadSlot(control.get(), params_.options->slot));
  // Before the replication connection: these findings say more than its refusal.
  RETURN_IF_ERROR(params_.trouble->FromFindings(
      pg::CheckSettings(settings, {params_.options->slot, slot.exists, params_.options->allow_synchronous})));
  ASSIGN_OR_RETURN(started.connection, Connect(true));
  ASSIGN_OR_RETURN(SessionFacts facts, ReadFacts(control.get(), started.connection.get()));
  facts.settings = std::move(settings);
  params_.board->SawServer(facts.system.flushed, base::Clock::System()->Now());
  if (!params_.history->GetStatus().baseline_complete) {
    RETURN_IF_ERROR(MakeFirstCopy(facts, control.get(), started.connection.get()));
  } else {
    const auto identity = params_.history->GetIdentity();
    if (!identity) return base::Fail(ErrorCode::kInternal, "the history does not say which server it is of");
    RETURN_IF_ERROR(CheckIdentity(*identity, facts, *params_.options, params_.trouble));
    RETURN_IF_ERROR(CheckResume(params_.history->GetStatus().published_through.lsn(), facts,
                                params_.options->slot, params_.trouble));
  }
  started.identity = IdentityOf(facts);
  ASSIGN_OR_RETURN(const base::FullXid next_xid, pg::ReadNextFullXid(control.get()));
  base::Status begun = params_.history->BeginSession(next_xid);
  if (!begun) return params_.trouble->FromHistory(std::move(begun).error());
  started.start = params_.history->GetStatus().published_through.lsn();
  ASSIGN_OR_RETURN(started.session, NewSession());
  // Read anew: a first copy may have taken long.
  ASSIGN_OR_RETURN(const pg::ServerSettings now, pg::ReadServerSettings(control.get()));
  ASSIGN_OR_RETURN(started.transport,
                   ChooseTransport(*params_.options, now, *params_.bus_failure, params_.trouble));
  RETURN_IF_ERROR(StartReplication(&started));
  return started;
}

base::Status SessionStart::StartReplication(Started* started) {
  const bool over_bus = started->transport.bus != nullptr;
  base::Status running = started->connection->StartCopyBoth(
      pg::StartReplicationCommand(params_.options->slot, started->start,
                                  {{"publication_names", pg::QuoteIdentifier(params_.options->publication)},
                                   {"transport", over_bus ? "zmq" : "stream"},
                                   {"format", "flatbuffers"},
                                   {"streaming", "on"},
                                   {"two_phase", "on"},
                                   {"rewrites", "on"},
                                   {"session", wire::FormatSession(started->session)}}));
  if (running) return {};
  if (over_bus && MayBeOfBus(started->connection->last_error())) params_.trouble->BlameBus();
  return params_.trouble->FromServer(std::move(running).error(), *started->connection);
}

}  // namespace varve::ingest
