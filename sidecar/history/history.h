// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sidecar/base/clock.h"
#include "sidecar/base/ids.h"
#include "sidecar/base/result.h"
#include "sidecar/model/change.h"
#include "sidecar/model/reference.h"
#include "sidecar/model/relation.h"
#include "sidecar/model/row_image.h"

namespace varve::history {

struct Options {
  std::string data_dir;                         // holds store/ and identity.json
  uint64_t memory_bytes = uint64_t{256} << 20;  // block cache and memtables together
  // What waits in memory before it is written without a sync, and what is remembered of rows that were
  // written lately. Tests make them tiny.
  uint64_t pending_bytes_max = uint64_t{4} << 20;
  uint64_t head_cache_bytes_max = uint64_t{32} << 20;
};

// Which database this history is of. Stored once, at the first copy.
struct Identity {
  uint64_t system_identifier = 0;
  uint32_t timeline = 0;
  uint32_t database_oid = 0;
  std::string database;
  std::string slot;
  std::string publication;
  std::string encoding;
  bool operator==(const Identity&) const = default;
};

enum class TableState { kCopying, kTracked, kBroken, kDropped };
std::string_view TableStateName(TableState state);

struct TableInfo {
  std::shared_ptr<const model::Relation> relation;  // newest
  TableState state = TableState::kTracked;
  std::string reason;                   // of kBroken and kDropped: what happened and the remedy
  std::optional<base::Position> since;  // of kBroken and kDropped
  base::Position complete_from;         // the oldest readable position
  uint64_t changes = 0;                 // since the first copy
};

// A position that exists in this history, and its transaction.
struct ReadPoint {
  base::Position position;
  base::Timestamp commit_time;
  std::optional<base::FullXid> xid;  // none: the first copy
};

struct TableCounts {
  uint64_t inserts = 0, updates = 0, deletes = 0, truncates = 0;
  uint64_t definitions = 0;  // changes of the table itself: DDL
};

struct TransactionInfo {
  ReadPoint point;
  std::map<base::TableOid, TableCounts> tables;
  uint64_t messages = 0;
  std::optional<model::Origin> origin;  // applied by replication, with the commit time of another server
};

// A row as it was, with the schema of the moment it is read at. Borrowed: valid during the callback only.
struct Row {
  const model::Relation* relation = nullptr;
  const std::vector<model::Cell>* cells = nullptr;  // by attnum - 1 of *relation
  base::Position since;                             // where this version begins
  std::string_view image;                           // stored bytes, for diagnostics
  std::string_view key;                             // key bytes; of a scan only
};

// A row that the caller keeps.
struct OwnedRow {
  std::shared_ptr<const model::Relation> relation;
  std::vector<std::string> values;
  std::vector<model::Cell> cells;  // values borrow from `values`
  base::Position since;
  std::string image;
};

// kUnreadable: a table whose rows cannot be compared, for the reason in `detail`.
enum class ChangeKind { kInsert, kUpdate, kDelete, kTruncate, kMessage, kSchema, kUnreadable };
std::string_view ChangeKindName(ChangeKind kind);

// A version of a row, a step of a transaction, or a net difference. Borrowed: valid during the callback only.
struct ChangeView {
  ChangeKind kind = ChangeKind::kInsert;
  ReadPoint point;  // history, show, raw diff: the transaction; net diff: `to`
  base::Seq seq;
  const model::Relation* relation = nullptr;
  const Row* before = nullptr;  // null where there is none
  const Row* after = nullptr;
  std::vector<uint16_t> changed;  // attnums that differ between before and after (update)
  std::string_view message_prefix;
  std::string_view message_content;
  std::string detail;  // kSchema: in words, e.g. "column email renamed to mail"
};

struct ScanOptions {
  std::optional<std::string> after_key;                    // key bytes: rows behind it
  uint64_t limit = UINT64_MAX;                             // rows handed to the callback
  std::vector<std::pair<std::string, std::string>> where;  // column name = value text, all of them
};

struct Tag {
  std::string name;
  ReadPoint point;
};

// Answers "continue?"; false ends the walk early without an error.
using RowCallback = std::function<base::Result<bool>(const Row&)>;
using ChangeCallback = std::function<base::Result<bool>(const ChangeView&)>;
using TransactionCallback = std::function<base::Result<bool>(const TransactionInfo&)>;

// A transaction that PREPARE TRANSACTION left open.
struct PreparedTransaction {
  std::string gid;
  base::FullXid xid;
  base::Position position;  // of the PREPARE
  base::Timestamp time;
  uint64_t changes = 0;  // of rows
};

struct StoreStatus {
  bool baseline_complete = false;
  ReadPoint first;      // the first copy
  ReadPoint published;  // the newest transaction that readers see
  base::Position
      published_through;  // everything at or before it is here (keepalives move it without a transaction)
  uint64_t store_bytes = 0;
  uint64_t changes_applied = 0;  // since this process opened the store
  uint64_t transactions_applied = 0;
  std::vector<PreparedTransaction> prepared;  // as of published_through, by position
};

// The version history of one database: what was copied and received, and what it was at any position.
// Owns the RocksDB under data_dir. Reading methods are thread-safe; the writing methods (Baseline*, Begin*,
// Append, Publish, Advance, RollBack) belong to one thread, the applier. Fails with kStoreFull when the disk
// is full, kInternal for a corrupt store, naming the file; after a failed write the history must be closed
// and opened again.
class History {
 public:
  // Opens or creates. Entries above the published position are deleted. Errors: kUnavailable when another
  // process holds the store, kInvalidArgument for another store version, kInternal for corruption.
  static base::Result<std::unique_ptr<History>> Open(const Options& options, const base::Clock* clock);
  virtual ~History() = default;

  // --- First copy. Until FinishBaseline the history is unreadable (kUnavailable) and begins anew at each
  // open. Drops whatever an unfinished first copy left.
  virtual base::Status BeginBaseline(const Identity& identity) = 0;
  virtual base::Status AddBaselineTable(const model::Relation& relation) = 0;
  // Adds a row image of a table that was added. Thread-safe among copy threads. Errors: kInvalidArgument for
  // a row whose key another row has.
  virtual base::Status AddBaselineRow(base::TableOid table, std::string_view image) = 0;
  // Packs the rows into keyframe pages at the consistent point; when it returns all is durable and readable.
  virtual base::Status FinishBaseline(base::Position consistent_point, base::Timestamp time) = 0;
  // Takes the table out of the copy (its rows too), with the reason that `tables` shows.
  virtual base::Status ExcludeBaselineTable(base::TableOid table, std::string reason) = 0;

  // --- Stream. `xid_epoch_base`: a 64-bit xid near those of this session, to widen 32 bits by half range.
  // Deletes entries above the published position; called at the start of every session.
  virtual base::Status BeginSession(base::FullXid xid_epoch_base) = 0;
  // Applies a batch: unsynced, invisible to readers. Transactions at or below the published position are
  // skipped. Errors: kInternal naming table, key and column when a change contradicts what is stored.
  virtual base::Status Append(const model::Batch& batch) = 0;
  // One synced write: every whole transaction appended so far is durable and visible. Cheap when there is
  // none.
  virtual base::Status Publish() = 0;
  // A keepalive: the server has nothing more for us up to here. Goes up only; takes effect with the next
  // Publish, when no transaction is half appended.
  virtual base::Status Advance(base::Position through) = 0;

  // --- Reading.
  virtual StoreStatus GetStatus() const = 0;
  virtual std::optional<Identity> GetIdentity() const = 0;
  virtual std::vector<TableInfo> Tables() const = 0;
  // "name" (schema public) or "schema.name", as named now or, failing that, as it was last named.
  // Errors: kNotTracked, with the reason when there is one.
  virtual base::Result<base::TableOid> FindTable(std::string_view name) const = 0;
  // The schema that the table had at the position.
  // Errors: kSchemaChanged at or after a rewrite or key change, kNotTracked after a drop or before it
  // existed.
  virtual base::Result<std::shared_ptr<const model::Relation>> RelationAt(base::TableOid table,
                                                                          base::Position position) const = 0;

  // Errors: kUnknownReference, kBeforeHistory, kInTheFuture, kBehind (published past what is here),
  // kInvalidArgument. With a table, `first` and kBeforeHistory are that table's.
  virtual base::Result<ReadPoint> Resolve(const model::Reference& reference,
                                          std::optional<base::TableOid> table) const = 0;
  // Waits until everything at or before the position is published. Errors: kBehind after the timeout.
  virtual base::Status WaitFor(base::Position position, std::chrono::milliseconds timeout) const = 0;

  // Nothing when there was no such row then. `key`: key bytes.
  virtual base::Result<std::optional<OwnedRow>> Get(base::TableOid table, std::string_view key,
                                                    base::Position position) const = 0;
  virtual base::Status Scan(base::TableOid table, base::Position position, const ScanOptions& options,
                            const RowCallback& callback) const = 0;
  // The versions of a row in (from, to], oldest first; key changes are followed to the row's earlier key.
  virtual base::Status RowHistory(base::TableOid table, std::string_view key, base::Position from,
                                  base::Position to, const ChangeCallback& callback) const = 0;
  // Entries of `varve log` in (from, to]: transactions with a tracked change, TRUNCATE, change of a tracked
  // table's definition, or transactional message. Newest first unless oldest_first.
  virtual base::Status Log(base::Position from, base::Position to, bool oldest_first,
                           const TransactionCallback& callback) const = 0;
  virtual base::Result<TransactionInfo> GetTransaction(base::Position position) const = 0;
  // One transaction's changes in order.
  virtual base::Status Show(base::Position position, const ChangeCallback& callback) const = 0;
  // Net changes from one position to another (either may be the later one), by table and key; raw: every step
  // in order, from < to. Without a table, one that broke in between is a kSchema and a kUnreadable, one that
  // was broken before is a kUnreadable alone. Bounded memory.
  virtual base::Status Diff(base::Position from, base::Position to, std::optional<base::TableOid> table,
                            bool raw, const ChangeCallback& callback) const = 0;

  virtual std::vector<Tag> Tags() const = 0;
  // Errors: kExists, kInvalidArgument for a bad name.
  virtual base::Status CreateTag(std::string_view name, const ReadPoint& point) = 0;
  // Errors: kNotFound.
  virtual base::Status DeleteTag(std::string_view name) = 0;
};

}  // namespace varve::history
