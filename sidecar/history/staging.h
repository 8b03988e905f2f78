// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sidecar/base/ids.h"
#include "sidecar/base/mutex.h"
#include "sidecar/base/result.h"
#include "sidecar/history/history.h"
#include "sidecar/model/change.h"
#include "sidecar/store/record_format.h"
#include "sidecar/store/store.h"

namespace varve::history {

// What came of transactions that have not committed. Their changes lie in the store, each transaction's in a
// stage of its own; here is which stages there are. Those of streamed transactions end with the session, for
// the server sends them again; those of prepared ones stay until the position of their end is published.
// Owned by the applier, borrows the store; what it writes goes into the applier's batch. The applier's thread
// only, except Listed.
class Staging {
 public:
  // A transaction whose changes are still coming.
  struct Stage {
    uint64_t number = 0;
    uint64_t rows = 0;                                 // changes of rows that did not roll back
    std::unordered_map<uint32_t, uint64_t> by_subxid;  // the same, of each subtransaction
  };

  explicit Staging(store::Store* store) : store_(store) {}

  // Reads what is prepared and drops every other stage.
  base::Status BeginSession() EXCLUDES(mutex_);

  // --- Transactions whose changes are coming, by xid.
  // nullptr when there is none.
  Stage* Find(uint32_t xid);
  // REQUIRES: there is none of this xid.
  Stage* Begin(uint32_t xid);
  static void Add(Stage* stage, base::Seq seq, const store::StagedChange& change, store::Batch* batch);
  static void Void(Stage* stage, uint32_t subxid, store::Batch* batch);
  void Drop(uint32_t xid, store::Batch* batch);

  // --- Prepared transactions.
  // The stage of that xid is whole. Replaces what was prepared under the same name.
  void Prepare(const store::PreparedId& id, store::PreparedRecord record, store::Batch* batch);
  // nullptr when there is none, or its end has come.
  const store::PreparedRecord* FindPrepared(const store::PreparedId& id) const;
  // Its end has come, at a position that is not published: goes with the write that publishes it.
  void End(const store::PreparedId& id);
  // Its end has come again.
  void Forget(const store::PreparedId& id, store::Batch* batch);
  // Before and after the write that publishes.
  void WriteEnds(store::Batch* batch) const;
  void Published() EXCLUDES(mutex_);

  // Prepared as of the published position, and not ended. Thread-safe.
  std::vector<PreparedTransaction> Listed() const EXCLUDES(mutex_);

 private:
  base::Status LoadPrepared(store::Batch* batch);
  base::Status DropOthers(store::Batch* batch);
  void List() EXCLUDES(mutex_);

  store::Store* store_;
  uint64_t next_stage_ = 1;
  std::map<uint32_t, Stage> stages_;
  std::map<store::PreparedId, store::PreparedRecord> prepared_;
  std::set<store::PreparedId> ended_;  // of prepared_
  mutable base::Mutex mutex_;
  std::vector<PreparedTransaction> listed_ GUARDED_BY(mutex_);
};

}  // namespace varve::history
