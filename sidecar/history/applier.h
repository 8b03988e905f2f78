// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "sidecar/history/catalog.h"
#include "sidecar/history/head_cache.h"
#include "sidecar/history/staging.h"
#include "sidecar/history/visibility.h"
#include "sidecar/model/change.h"
#include "sidecar/model/row_digest.h"
#include "sidecar/store/record_format.h"
#include "sidecar/store/store.h"

namespace varve::history {

// A rewrite whose rows are arriving: what the table then has.
struct OpenRewrite {
  uint64_t rows = 0;
  uint64_t key_sum = 0;  // of the hashes of their keys
  // Of rows from before it, by their version; null where those cannot be shown under the new one.
  std::map<base::RelationVersion, std::shared_ptr<const Projection>> projections;
};

// The transaction that has begun and is not whole yet. (Not a member: clang 14 cannot make an optional of a
// member with initialisers.)
struct OpenTransaction {
  base::Position position;
  store::TransactionRecord record;
  uint32_t xid = 0;
  uint32_t next_seq = 0;
  std::map<base::TableOid, uint64_t> changes;  // of all tables, applied or not
  std::map<base::TableOid, OpenRewrite> rewrites;
};

// Turns batches into writes: heads, rewinds, log, timelines, transactions. What it writes carries a position
// above the published one until Publish moves that, so readers never see half of anything. Owned by the
// history, borrows store, catalog and visibility. The applier's thread only, except the counters.
class Applier {
 public:
  Applier(store::Store* store, Catalog* catalog, Visibility* visibility, const ReadPoint& first,
          const Published& published, uint64_t pending_bytes_max, uint64_t head_cache_bytes_max);

  base::Status BeginSession(base::FullXid xid_epoch_base);
  base::Status Append(const model::Batch& batch);
  base::Status Publish();
  base::Status Advance(base::Position through);
  // What is prepared in a store that was just opened.
  base::Status LoadStaged() { return staging_.BeginSession(); }

  std::vector<PreparedTransaction> Prepared() const { return staging_.Listed(); }
  uint64_t changes_applied() const { return changes_applied_.load(std::memory_order_relaxed); }
  uint64_t transactions_applied() const { return transactions_applied_.load(std::memory_order_relaxed); }

 private:
  // A table as the change at hand finds it.
  struct Table {
    RelationPtr relation;  // null: not seen yet
    // Equal to `relation`, and alive as long as the batch at hand.
    const model::Relation* seen = nullptr;
    bool applies = false;                           // its rows are known, so changes are applied
    std::shared_ptr<const model::RowDefaults> bag;  // null: its rows have a key
    std::optional<Place> last_truncate;
  };
  // Keys of a row change, with the table in front.
  struct RowKeys {
    bool ready = false;
    std::string now;     // of the new row; of the old one in a delete
    std::string before;  // where an update changed the key, else empty
    bool unchanged_cells = false;
  };

  // apply.cc
  base::Status CheckKnown(const model::TransactionPiece& piece, base::Position position, bool has_rows) const;
  base::Status BeginPiece(const model::TransactionPiece& piece, base::Position position);
  base::Status AppendWhole(const model::Batch& batch, const model::TransactionPiece& piece);
  base::Status ApplyChange(const model::Change& change, RowKeys* keys);
  base::Status ApplyMessage(const model::Change& change, Place place);
  base::Status ApplyTableChange(const model::Change& change, Place place);
  base::Status Commit();
  base::FullXid Widen(uint32_t xid);

  // apply_staged.cc
  base::Status AppendStaged(const model::Batch& batch, const model::TransactionPiece& piece);
  base::Status StageChanges(const model::Batch& batch, const model::TransactionPiece& piece);
  base::Status AbortStaged(const model::TransactionPiece& piece);
  base::Status CommitStreamed(const model::TransactionPiece& piece);
  base::Status Prepare(const model::TransactionPiece& piece, std::string_view gid);
  base::Status EndPrepared(const model::TransactionPiece& piece, std::string_view gid);
  base::Status ApplyStage(uint64_t stage, const model::TransactionPiece& end);
  base::Result<store::RelationId> StageRelation(const model::Change& change);

  // apply_table.cc
  Table* FindTable(base::TableOid oid);
  base::Result<uint16_t> KeepRelation(const RelationPtr& relation);
  void NoteBag(base::TableOid oid, Table* table);
  base::Status NoteVersion(const model::Change& change, Place place, Table* table);
  void AddEvent(base::TableOid oid, Table* table, TableEvent event);
  base::Status ApplyTruncate(const model::Change& change, Place place, Table* table);

  // apply_row.cc
  base::Status Prefetch(const model::Batch& batch, const model::TransactionPiece& piece,
                        std::vector<RowKeys>* keys);
  base::Status MakeKeys(const model::Change& change, RowKeys* keys);
  base::Status ApplyRow(const model::Change& change, Place place, RowKeys* keys, const Table& table);
  base::Status ApplyInsert(const model::Change& change, Place place, const RowKeys& keys, const Table& table);
  base::Status ApplyUpdate(const model::Change& change, Place place, const RowKeys& keys, const Table& table);
  base::Status ApplyDelete(const model::Change& change, Place place, const RowKeys& keys, const Table& table);
  // The row's newest version when it is there. The record borrows from the head.
  base::Result<std::optional<store::VersionRecord>> LiveRow(const HeadCache::Head& head, const Table& table);
  void FileRewind(const HeadCache::Head& head, std::string_view row_key, Place place);
  base::Result<std::string> FillUnchanged(const model::Change& change, const store::VersionRecord& before,
                                          Place place);
  void LogRow(const model::Change& change, Place place, const RowKeys& keys,
              const std::optional<store::VersionRecord>& before, std::string_view image);
  base::Error Contradiction(const model::Change& change, Place place, std::string_view what);

  // apply_bag.cc
  base::Result<bool> DecodeNew(const model::Change& change, Place place, bool has_old);
  base::Status MakeBagKeys(const model::Change& change, Place place, const Table& table, RowKeys* keys);
  base::Result<uint32_t> CountSameRows(const model::Change& change, Place place, const Table& table,
                                       std::string_view prefix, const std::vector<model::Cell>& cells);

  // apply_rewrite.cc
  base::Status BeginRewrite(const model::Change& change, Place place, Table* table);
  base::Status ApplyRewriteRow(const model::Change& change, Place place, RowKeys* keys, Table* table);
  // Other changes of the table end a rewrite, and so does the transaction.
  base::Status EndRewrite(base::TableOid oid);
  base::Status EndRewrites();
  // Whether the row is as it was, read under the version of the change.
  base::Result<bool> IsSameRow(const model::Change& change, const store::VersionRecord& before,
                               OpenRewrite* rewrite);
  // Whether the rows that came are those that are there.
  base::Result<bool> AreAllRows(base::TableOid oid, const Table& table, const OpenRewrite& rewrite);

  // publish.cc
  base::Status WritePending(store::Durability durability);

  store::Store* store_;
  Catalog* catalog_;
  Visibility* visibility_;
  ReadPoint first_;
  const uint64_t pending_bytes_max_;
  HeadCache heads_;
  store::Batch pending_;
  std::unordered_map<base::TableOid, Table> tables_;
  Staging staging_;
  bool preparing_ = false;  // between the pieces of a prepared transaction that is sent whole
  std::unordered_map<const model::Relation*, store::RelationId> staged_relations_;  // of the batch at hand
  // Known to the catalog; the write that stores them is pending, or was given up with its session.
  std::set<store::RelationId> pending_relations_;
  std::set<store::RelationId> lost_relations_;
  std::vector<model::Cell> cells_;      // scratch
  std::vector<model::Cell> old_cells_;  // scratch

  base::FullXid xid_near_;
  Published published_;
  // As published_ will be after the next Publish.
  Published appended_;
  base::Position advance_;
  std::optional<OpenTransaction> open_;
  std::map<base::TableOid, uint64_t> appended_changes_;  // of whole transactions, not yet published
  std::optional<base::Error> failed_;                    // of Append: nothing goes on until BeginSession
  std::atomic<uint64_t> changes_applied_{0};
  std::atomic<uint64_t> transactions_applied_{0};
};

// Where the transaction that the piece is of ends, or was prepared.
base::Position PositionOf(const model::TransactionPiece& piece);
tl::unexpected<base::Error> OutOfOrder(base::Position position, std::string_view what);

bool HasUnchanged(const std::vector<model::Cell>& cells);
// Takes from the old row what the new image says is unchanged. True when nothing unchanged is left.
bool TakeUnchanged(const std::vector<model::Cell>& old_cells, std::vector<model::Cell>* cells);

// Deletes from the store what lies above the published position: restores heads from their rewinds and
// removes rewinds, log entries, transactions and table events. Idempotent: it may be cut off anywhere and
// begun anew.
base::Status RollBack(store::Store* store, base::Position published, base::Position first);

}  // namespace varve::history
