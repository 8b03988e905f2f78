// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sidecar/base/ids.h"
#include "sidecar/model/relation.h"

namespace varve::model {

// As in schemas/stream.fbs. Persisted: never renumber.
enum class Op : uint8_t {
  kInsert = 0,
  kUpdate = 1,
  kDelete = 2,
  kTruncate = 3,
  kMessage = 4,
  kRelation = 5,
  kDrop = 6,
  kUntrack = 7,
  kRewrite = 8,
  kGid = 9,
  kRewriteRow = 10,
};

// "insert", "update", ...
std::string_view OpName(Op op);
// Of rows, TRUNCATE included.
constexpr bool IsRowChange(Op op) { return op <= Op::kTruncate || op == Op::kRewriteRow; }
// What becomes of a table, whatever was said of it before.
constexpr bool IsDefinition(Op op) { return op >= Op::kRelation && op <= Op::kUntrack; }

// One change; images borrow from the batch that owns it.
struct Change {
  Op op = Op::kInsert;
  base::Seq seq;
  base::TableOid table;                // zero for a message and kGid
  const Relation* relation = nullptr;  // null for a message, kGid, kDrop and kUntrack
  std::string_view new_image;          // message: its content; kUntrack: why, in words; kGid: the identifier
  std::string_view old_image;          // message: its prefix
  bool old_is_full = false;
  bool truncate_cascade = false;
  bool truncate_restart_identity = false;
  bool message_transactional = false;
  bool rewrite_rows = false;  // kRewrite: all rows of the table follow as kRewriteRow
};

// What a piece is of transactions that are sent before they commit: only where streaming or two_phase was
// asked for. schemas/README.md has the pieces.
enum class Staged : uint8_t {
  kNone,              // of a transaction that is sent whole when it commits
  kStreamed,          // changes of one subtransaction of one that is in progress
  kStreamAbort,       // a subtransaction, or all of it, rolled back
  kStreamCommit,      // what was streamed is whole
  kStreamPrepare,     // the same, prepared
  kPrepared,          // of a transaction that is sent whole when it is prepared
  kCommitPrepared,    // of one that was prepared
  kRollbackPrepared,  // of one that was prepared, and perhaps never sent
};

// Where a transaction comes from that replication has applied in the server.
struct Origin {
  uint32_t id = 0;
  std::string name;  // of pg_replication_origin; empty when there was none of that id any more
  base::Lsn lsn;     // where the transaction ended there; 0 when nobody said
  bool operator==(const Origin&) const = default;
};

// The part of a transaction that one batch carries.
struct TransactionPiece {
  // Of the commit, PREPARE, COMMIT PREPARED or ROLLBACK PREPARED; of the record for a non-transactional
  // message. Zero for kStreamed and kStreamAbort.
  base::Lsn end_lsn;
  base::Timestamp commit_time;
  uint32_t xid = 0;  // always the top-level one
  uint32_t subxid =
      0;  // kStreamed: whose changes they are; kStreamAbort: what rolled back; xid itself for all
  Staged staged = Staged::kNone;
  size_t first_change = 0;
  size_t count = 0;
  bool begin = false;
  bool commit = false;
  bool non_transactional = false;
  std::optional<Origin> origin;  // with the last piece
};

// What the server says of itself in the first batch of a session.
struct Handshake {
  std::string plugin_version;
  uint32_t server_version_num = 0;
  uint64_t system_identifier = 0;
  uint32_t timeline = 0;
  uint32_t database_oid = 0;
  std::string database;
  std::string slot;
  std::string encoding;
  uint64_t next_full_xid = 0;
};

// One decoded message of the stream. Owns the bytes that its changes borrow.
struct Batch {
  std::string bytes;
  std::optional<Handshake> handshake;
  std::vector<std::shared_ptr<const Relation>> relations;   // defined in this batch
  std::vector<std::shared_ptr<const Relation>> keep_alive;  // every relation that a change points to
  std::vector<TransactionPiece> pieces;
  std::vector<Change> changes;

  Batch() = default;
  Batch(Batch&&) = default;
  Batch& operator=(Batch&&) = default;
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;
};

}  // namespace varve::model
