// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "sidecar/base/clock.h"
#include "sidecar/base/result.h"
#include "sidecar/history/history.h"
#include "sidecar/ingest/catalog.h"
#include "sidecar/ingest/ingest.h"
#include "sidecar/ingest/status_board.h"
#include "sidecar/ingest/trouble.h"
#include "sidecar/pg/connection.h"
#include "sidecar/pg/replication.h"

namespace varve::ingest {

// Makes the slot and copies the tables of the publication under the slot's exported snapshot into a history
// that has no first copy yet. Borrows all that it is given. Ingest thread only.
class FirstCopy {
 public:
  struct Params {
    const Options* options = nullptr;
    history::History* history = nullptr;
    StatusBoard* board = nullptr;
    Trouble* trouble = nullptr;
    const std::atomic<bool>* stop = nullptr;
  };
  explicit FirstCopy(const Params& params) : params_(params) {}

  // Runs to the end: then the history is readable from the slot's consistent point on. REQUIRES: no slot of
  // that name. `control`: ordinary; `replication`: idle, afterwards free for START_REPLICATION. On an error
  // the slot that was made is dropped again as far as possible. Errors: of the server, of the history (the
  // trouble tells which), kUnavailable when stopped or timed out.
  base::Status Run(const history::Identity& identity, pg::Connection* control, pg::Connection* replication);
  // True when somebody else made a slot of this name at the same time.
  bool slot_is_foreign() const { return slot_is_foreign_; }

 private:
  enum class Outcome { kDone, kMoved };

  base::Result<Outcome> Attempt(const history::Identity& identity, pg::Connection* control,
                                pg::Connection* replication);
  base::Result<pg::CreatedSlot> CreateSlot(pg::Connection* control, pg::Connection* replication);
  base::Status ReportBlockers(pg::Connection* control, std::string* reported);
  base::Result<std::vector<CatalogTable>> ReadTables(const std::string& snapshot, pg::Connection* control);
  base::Status GuardSnapshot(pg::Connection* snapshot_holder, pg::Connection* control);
  base::Result<std::string> FindChangedType(const std::vector<CatalogTable>& tables);
  base::Result<std::vector<CatalogTable>> RegisterTables(const pg::Publication& publication,
                                                         std::vector<CatalogTable> tables);
  void DropSlot();
  base::Status History(base::Status status);

  const Params params_;
  bool made_slot_ = false;
  bool slot_is_foreign_ = false;
};

}  // namespace varve::ingest
