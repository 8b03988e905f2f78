// SPDX-License-Identifier: PostgreSQL
// The wall between the C that talks to PostgreSQL and the C++ that makes bytes. Plain structs go in, a
// status comes out; nothing behind this header calls the server, and no exception leaves it.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define VARVE_NOEXCEPT noexcept
extern "C" {
#else
#define VARVE_NOEXCEPT
#endif

// As the enumerations in schemas/stream.fbs. Persisted: never renumber.
enum VarveOp {
  VARVE_OP_INSERT = 0,
  VARVE_OP_UPDATE = 1,
  VARVE_OP_DELETE = 2,
  VARVE_OP_TRUNCATE = 3,
  VARVE_OP_MESSAGE = 4,
  VARVE_OP_RELATION = 5,
  VARVE_OP_DROP = 6,
  VARVE_OP_UNTRACK = 7,
  VARVE_OP_REWRITE = 8,
  VARVE_OP_GID = 9,
  VARVE_OP_REWRITE_ROW = 10
};
enum VarveChangeFlag {
  VARVE_CHANGE_OLD_IS_FULL = 1,
  VARVE_CHANGE_TRUNCATE_CASCADE = 2,
  VARVE_CHANGE_TRUNCATE_RESTART = 4,
  VARVE_CHANGE_MESSAGE_TRANSACTIONAL = 8,
  VARVE_CHANGE_REWRITE_ROWS = 16
};
enum VarveTransactionFlag {
  VARVE_TRANSACTION_BEGIN = 1,
  VARVE_TRANSACTION_COMMIT = 2,
  VARVE_TRANSACTION_NON_TRANSACTIONAL = 4,
  VARVE_TRANSACTION_STREAMED = 8,
  VARVE_TRANSACTION_ABORT = 16,
  VARVE_TRANSACTION_PREPARED = 32,
  VARVE_TRANSACTION_COMMIT_PREPARED = 64,
  VARVE_TRANSACTION_ROLLBACK_PREPARED = 128
};
enum VarveForm { VARVE_FORM_BINARY = 0, VARVE_FORM_TEXT = 1 };
enum { VARVE_NO_RELATION = 65535 };

// Bytes that someone else owns; data is NULL where there are none at all.
typedef struct VarveBytes {
  const char* data;
  size_t length;
} VarveBytes;

// The next four have the layout of the FlatBuffers structs of the same names.
typedef struct VarveTransaction {
  uint64_t position;
  int64_t commit_time;
  uint32_t xid;
  uint32_t first_change;
  uint32_t count;
  uint32_t flags;
} VarveTransaction;

typedef struct VarveChange {
  uint8_t op;
  uint8_t flags;
  uint16_t relation;
  uint32_t seq;
  uint32_t new_offset;
  uint32_t new_length;
  uint32_t old_offset;
  uint32_t old_length;
} VarveChange;

typedef struct VarveRelationRef {
  uint64_t version;
  uint32_t oid;
  uint32_t reserved;
} VarveRelationRef;

typedef struct VarveOrigin {
  uint64_t lsn;
  uint32_t transaction;
  uint32_t id;
  uint32_t name_offset;
  uint32_t name_length;
} VarveOrigin;

typedef struct VarveColumn {
  uint16_t attnum;
  VarveBytes name;
  uint32_t type_oid;
  uint32_t base_type_oid;
  int32_t typmod;
  uint8_t form;
  uint16_t width;
  uint16_t key_position;
  uint16_t identity_position;
  bool not_null;
  uint8_t generated;
  VarveBytes missing;
  VarveBytes default_expression;
} VarveColumn;

typedef struct VarveTypeField {
  VarveBytes name;
  uint32_t type_oid;
} VarveTypeField;

typedef struct VarveType {
  uint32_t oid;
  VarveBytes schema;
  VarveBytes name;
  uint8_t kind;
  uint32_t inner_oid;
  uint8_t delimiter;
  VarveTypeField* fields;
  size_t field_count;
  bool json_cast;
} VarveType;

typedef struct VarveRelation {
  uint64_t version;
  uint64_t description;  // hash of everything below; two of the same version may differ in types and defaults
  uint32_t oid;
  VarveBytes schema;
  VarveBytes name;
  uint8_t identity;
  uint16_t attribute_count;
  VarveColumn* columns;
  size_t column_count;
  VarveType* types;
  size_t type_count;
} VarveRelation;

typedef struct VarveHandshake {
  VarveBytes plugin_version;
  uint32_t server_version_num;
  uint64_t system_identifier;
  uint32_t timeline;
  uint32_t database_oid;
  VarveBytes database;
  VarveBytes slot;
  VarveBytes encoding;
  uint64_t next_full_xid;
} VarveHandshake;

typedef struct VarveBatchParts {
  uint64_t session_high;
  uint64_t session_low;
  uint64_t sequence;
  const VarveHandshake* handshake;  // NULL but in the batch with sequence 0
  const VarveRelationRef* refs;
  size_t ref_count;
  const VarveTransaction* transactions;
  size_t transaction_count;
  const VarveChange* changes;
  size_t change_count;
  const char* heap;
  size_t heap_length;
  const VarveOrigin* origins;  // of those transactions that are not from here
  size_t origin_count;
} VarveBatchParts;

typedef enum VarveWireStatus {
  VARVE_WIRE_OK,
  VARVE_WIRE_OUT_OF_MEMORY,
  VARVE_WIRE_TOO_LARGE
} VarveWireStatus;

// The largest message; a COPY message of the replication protocol must stay below 1 GB.
enum { VARVE_MESSAGE_BYTES_MAX = 1023 * 1024 * 1024 };

// A marker, in the COPY stream beside batches that travel by another way: these bytes, then the session (two
// halves of 64 bits) and the number of batches that it has announced so far, all big-endian.
#define VARVE_MARKER_MAGIC "VRVM"

// Builds one batch at a time. Not thread-safe: it belongs to the process that opened it.
typedef struct VarveWire VarveWire;

// NULL when memory is short.
VarveWire* varve_wire_open(void) VARVE_NOEXCEPT;
void varve_wire_close(VarveWire* wire) VARVE_NOEXCEPT;

// Puts a relation's definition into the batch that varve_wire_finish will close; *length is what all of them
// there take. One that is too large leaves the batch as it is.
VarveWireStatus varve_wire_add_relation(VarveWire* wire, const VarveRelation* relation,
                                        size_t* length) VARVE_NOEXCEPT;

// Closes the batch: *length is that of its size-prefixed message.
VarveWireStatus varve_wire_finish(VarveWire* wire, const VarveBatchParts* parts,
                                  size_t* length) VARVE_NOEXCEPT;

// Writes the message of the batch that was closed last, of the same parts, to `out`.
void varve_wire_write(const VarveWire* wire, const VarveBatchParts* parts, void* out) VARVE_NOEXCEPT;

// Sets relation->version to the hash that schemas/README.md defines, and relation->description.
VarveWireStatus varve_wire_set_version(VarveRelation* relation) VARVE_NOEXCEPT;

#ifdef __cplusplus
}
#endif
