// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "sidecar/base/ids.h"
#include "sidecar/base/result.h"
#include "sidecar/model/change.h"
#include "sidecar/model/relation.h"
#include "sidecar/store/key_format.h"

// Values of the store. Persisted: never renumber, never change; another layout takes another kStoreVersion.
// Decoding verifies everything that it reads and fails with kInternal, naming the record. Views borrow from
// the bytes that were decoded.
namespace varve::store {

// One version of a row.
struct VersionRecord {
  Place start;             // the last change that made it what it is
  bool tombstone = false;  // there is no row
  bool moved = false;      // a tombstone left by an update of the key
  base::RelationVersion version;
  // The key that the row had before the transaction at `start`; empty: this one.
  std::string_view previous_key;
  std::string_view image;  // whole, no unchanged cells; empty in a tombstone
};
std::string EncodeVersion(const VersionRecord& record);
base::Result<VersionRecord> DecodeVersion(std::string_view bytes);

enum class BeforeAt : uint8_t {
  kNone = 0,    // there was no row
  kRewind = 1,  // under the rewind key that ends at this position
  kInline = 2,  // here: an earlier change of the same transaction made it
};

// One change of a tracked table, or a message.
struct LogRecord {
  model::Op op = model::Op::kInsert;
  base::TableOid table;
  base::RelationVersion version;
  std::string_view key;           // message: its prefix
  std::string_view previous_key;  // update that changed the key: what it was, else empty
  BeforeAt before = BeforeAt::kNone;
  base::RelationVersion before_version;  // kInline
  std::string_view before_image;
  std::string_view image;  // the new row; message: its content
  bool transactional = false;
  bool cascade = false;
  bool restart_identity = false;
};
std::string EncodeLog(const LogRecord& record);
base::Result<LogRecord> DecodeLog(std::string_view bytes);

struct TableCountsRecord {
  uint64_t inserts = 0, updates = 0, deletes = 0, truncates = 0;
  uint64_t definitions = 0;  // changes of the table itself: DDL
  bool operator==(const TableCountsRecord&) const = default;
};

struct TransactionRecord {
  bool in_log = false;             // `varve log` lists it and ^ counts it
  bool non_transactional = false;  // a message outside any transaction
  base::FullXid xid;
  base::Timestamp commit_time;
  base::Timestamp running_max;  // the greatest commit time up to here
  uint64_t messages = 0;
  std::map<base::TableOid, TableCountsRecord> tables;
  std::optional<model::Origin> origin;
  bool operator==(const TransactionRecord&) const = default;
};
std::string EncodeTransaction(const TransactionRecord& record);
base::Result<TransactionRecord> DecodeTransaction(std::string_view bytes);

struct ReadPointRecord {
  base::Position position;
  base::Timestamp commit_time;
  std::optional<base::FullXid> xid;
  bool operator==(const ReadPointRecord&) const = default;
};
std::string EncodeReadPoint(const ReadPointRecord& record);
base::Result<ReadPointRecord> DecodeReadPoint(std::string_view bytes);

struct PublishedRecord {
  base::Position through;
  ReadPointRecord last;
  base::Timestamp running_max;
  bool operator==(const PublishedRecord&) const = default;
};
std::string EncodePublished(const PublishedRecord& record);
base::Result<PublishedRecord> DecodePublished(std::string_view bytes);

struct IdentityRecord {
  uint64_t system_identifier = 0;
  uint32_t timeline = 0;
  uint32_t database_oid = 0;
  std::string database;
  std::string slot;
  std::string publication;
  std::string encoding;
  bool operator==(const IdentityRecord&) const = default;
};
std::string EncodeIdentity(const IdentityRecord& record);
base::Result<IdentityRecord> DecodeIdentity(std::string_view bytes);

// What an event says beyond its key.
struct EventRecord {
  base::RelationVersion version;  // kVersion, kKeyChange
  uint16_t definition = 0;        // kVersion: which of the version's
  std::string text;               // kExcluded, kKeyChange, kContradiction: why
  bool operator==(const EventRecord&) const = default;
};
std::string EncodeEvent(const EventRecord& record);
base::Result<EventRecord> DecodeEvent(std::string_view bytes);

std::string EncodeRelation(const model::Relation& relation);
base::Result<model::Relation> DecodeRelation(std::string_view bytes);

// One change of a transaction that has not committed. A value, as it came: nothing of it is known to fit.
struct StagedChange {
  uint32_t subxid = 0;  // whose it is; the transaction itself outside any subtransaction
  model::Op op = model::Op::kInsert;
  base::TableOid table;
  RelationId relation;  // version 0: none
  std::string_view new_image;
  std::string_view old_image;
  bool old_is_full = false;
  bool truncate_cascade = false;
  bool truncate_restart_identity = false;
  bool message_transactional = false;
  bool rewrite_rows = false;  // kRewrite: kRewriteRow of all rows follow
};
std::string EncodeStagedChange(const StagedChange& record);
base::Result<StagedChange> DecodeStagedChange(std::string_view bytes);

struct StagedDefinition {
  uint32_t subxid = 0;
  model::Op op = model::Op::kRelation;  // or kDrop, kUntrack
  base::TableOid table;
  bool operator==(const StagedDefinition&) const = default;
};
std::string EncodeStagedDefinition(const StagedDefinition& record);
base::Result<StagedDefinition> DecodeStagedDefinition(std::string_view bytes);

// A transaction that was prepared, and the stage that has its changes.
struct PreparedRecord {
  uint64_t stage = 0;
  base::FullXid xid;
  base::Position position;  // end of the PREPARE record
  base::Timestamp time;     // when it was prepared
  uint64_t changes = 0;     // of rows, those that rolled back not included
  // Its PREPARE came at a position that was durable already: it comes again with its end.
  bool comes_again = false;
  bool operator==(const PreparedRecord&) const = default;
};
std::string EncodePrepared(const PreparedRecord& record);
base::Result<PreparedRecord> DecodePrepared(std::string_view bytes);

// A plain number: changes of a table, the store version.
std::string EncodeNumber(uint64_t value);
base::Result<uint64_t> DecodeNumber(std::string_view bytes);

}  // namespace varve::store
