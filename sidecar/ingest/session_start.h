// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "sidecar/base/result.h"
#include "sidecar/history/history.h"
#include "sidecar/ingest/ingest.h"
#include "sidecar/ingest/status_board.h"
#include "sidecar/ingest/transport.h"
#include "sidecar/ingest/trouble.h"
#include "sidecar/pg/connection.h"
#include "sidecar/pg/replication.h"
#include "sidecar/pg/server_state.h"
#include "sidecar/wire/decoder.h"

namespace varve::ingest {

// What the server and the slot are, as one session finds them.
struct SessionFacts {
  pg::SystemIdentity system;
  uint32_t database_oid = 0;
  pg::ServerSettings settings;
  pg::SlotState slot;
};

// Judgements as pure functions; an error leaves the remedy in the trouble.
// The history belongs to this system, database, slot, publication and timeline.
base::Status CheckIdentity(const history::Identity& identity, const SessionFacts& facts,
                           const Options& options, Trouble* trouble);
// The slot can go on where a complete history ends.
base::Status CheckResume(base::Lsn published_through, const SessionFacts& facts, const std::string& slot,
                         Trouble* trouble);
// Whether a slot may be dropped to begin the first copy anew: it is ours. False: there is none.
base::Result<bool> CheckLeftover(const std::optional<history::Identity>& identity, const SessionFacts& facts,
                                 const std::string& slot, Trouble* trouble);

// Brings a session to the point where messages arrive: connects, checks, makes the first copy where the
// history has none, begins the history's session and starts replication. Borrows all that it is given.
// Ingest thread only.
class SessionStart {
 public:
  struct Params {
    const Options* options = nullptr;
    history::History* history = nullptr;
    StatusBoard* board = nullptr;
    Trouble* trouble = nullptr;
    const std::atomic<bool>* stop = nullptr;
    const std::string* bus_failure = nullptr;  // of the session before; empty: there was none
    bool* slot_is_foreign = nullptr;           // kept over attempts: see FirstCopy::slot_is_foreign
  };
  struct Started {
    std::unique_ptr<pg::Connection> connection;  // in COPY BOTH state
    wire::SessionId session;
    history::Identity identity;
    base::Lsn start;
    Transport transport;
  };

  explicit SessionStart(const Params& params) : params_(params) {}

  base::Result<Started> Run();

 private:
  base::Result<std::unique_ptr<pg::Connection>> Connect(bool replication);
  base::Result<SessionFacts> ReadFacts(pg::Connection* control, pg::Connection* replication);
  base::Status StartReplication(Started* started);
  base::Status MakeFirstCopy(const SessionFacts& facts, pg::Connection* control, pg::Connection* replication);
  history::Identity IdentityOf(const SessionFacts& facts) const;

  const Params params_;
};

}  // namespace varve::ingest
