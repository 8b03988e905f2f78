// SPDX-License-Identifier: PostgreSQL
#include <flatbuffers/flatbuffers.h>

#include <cstring>
#include <new>
#include <vector>

#include "plugin/wire/plain_batch.h"
#include "plugin/wire/wire.h"
#include "stream_generated.h"

namespace stream = varve::stream;

static_assert(sizeof(VarveTransaction) == sizeof(stream::Transaction));
static_assert(sizeof(VarveChange) == sizeof(stream::Change));
static_assert(sizeof(VarveRelationRef) == sizeof(stream::RelationRef));
static_assert(FLATBUFFERS_LITTLEENDIAN, "structs are copied as they lie in memory");
static_assert(VARVE_OP_REWRITE_ROW == static_cast<int>(stream::Op::MAX));
static_assert(VARVE_CHANGE_REWRITE_ROWS == static_cast<int>(stream::ChangeFlag::RewriteRows));
static_assert(VARVE_TRANSACTION_ROLLBACK_PREPARED ==
              static_cast<int>(stream::TransactionFlag::RollbackPrepared));

using Bytes = flatbuffers::Offset<flatbuffers::Vector<uint8_t>>;

struct VarveWire {
  flatbuffers::FlatBufferBuilder builder{kInitialBytes};
  std::vector<flatbuffers::Offset<stream::Relation>> relations;
  bool finished = false;
  bool is_plain = false;  // what was closed last, then planned and not built
  varve::wire::PlainBatch plain;

  static constexpr size_t kInitialBytes = size_t{128} * 1024;
  // A builder that grew beyond this for one giant row gives its memory back.
  static constexpr size_t kKeptBytesMax = size_t{4} * 1024 * 1024;

  // The builder of the batch in hand: the first call after a batch was closed starts the next one.
  flatbuffers::FlatBufferBuilder& Open() {
    if (!finished) return builder;
    if (builder.GetSize() > kKeptBytesMax) {
      builder.Reset();
    } else {
      builder.Clear();
    }
    relations.clear();
    finished = false;
    return builder;
  }
};

namespace {

// Bytes beside the heap and the arrays: table, vtable, lengths, padding, the handshake.
constexpr size_t kFrameBytesMax = size_t{64} * 1024;
// The same of one table of a definition: fields, vtable, the lengths of its vectors.
constexpr size_t kTableBytesMax = 256;
// With the largest row behind them the message still has its size.
constexpr size_t kDescribedBytesMax = size_t{16} * 1024 * 1024;

Bytes PutBytes(flatbuffers::FlatBufferBuilder& builder, const VarveBytes& bytes) {
  if (bytes.data == nullptr) return {};
  return builder.CreateVector(reinterpret_cast<const uint8_t*>(bytes.data), bytes.length);
}

flatbuffers::Offset<stream::Column> PutColumn(flatbuffers::FlatBufferBuilder& builder,
                                              const VarveColumn& column) {
  const Bytes name = PutBytes(builder, column.name);
  const Bytes missing = PutBytes(builder, column.missing);
  const Bytes default_expression = PutBytes(builder, column.default_expression);
  return stream::CreateColumn(builder, column.attnum, name, column.type_oid, column.base_type_oid,
                              column.typmod, static_cast<stream::Form>(column.form), column.width,
                              column.key_position, column.identity_position, column.not_null,
                              column.generated, column.missing.data != nullptr, missing, default_expression);
}

flatbuffers::Offset<stream::Type> PutType(flatbuffers::FlatBufferBuilder& builder, const VarveType& type) {
  const Bytes schema = PutBytes(builder, type.schema);
  const Bytes name = PutBytes(builder, type.name);
  std::vector<flatbuffers::Offset<stream::TypeField>> fields;
  for (size_t i = 0; i < type.field_count; ++i) {
    const Bytes field_name = PutBytes(builder, type.fields[i].name);
    fields.push_back(stream::CreateTypeField(builder, field_name, type.fields[i].type_oid));
  }
  const auto field_vector = fields.empty() ? 0 : builder.CreateVector(fields);
  return stream::CreateType(builder, type.oid, schema, name, type.kind, type.inner_oid, type.delimiter,
                            field_vector, type.json_cast);
}

flatbuffers::Offset<stream::Relation> PutRelation(flatbuffers::FlatBufferBuilder& builder,
                                                  const VarveRelation& relation) {
  std::vector<flatbuffers::Offset<stream::Column>> columns;
  for (size_t i = 0; i < relation.column_count; ++i) {
    columns.push_back(PutColumn(builder, relation.columns[i]));
  }
  std::vector<flatbuffers::Offset<stream::Type>> types;
  for (size_t i = 0; i < relation.type_count; ++i) types.push_back(PutType(builder, relation.types[i]));
  const auto column_vector = builder.CreateVector(columns);
  const auto type_vector = builder.CreateVector(types);
  const Bytes schema = PutBytes(builder, relation.schema);
  const Bytes name = PutBytes(builder, relation.name);
  return stream::CreateRelation(builder, relation.version, relation.oid, schema, name, relation.identity,
                                relation.attribute_count, column_vector, type_vector);
}

flatbuffers::Offset<stream::Handshake> PutHandshake(flatbuffers::FlatBufferBuilder& builder,
                                                    const VarveHandshake& handshake) {
  const Bytes plugin_version = PutBytes(builder, handshake.plugin_version);
  const Bytes database = PutBytes(builder, handshake.database);
  const Bytes slot = PutBytes(builder, handshake.slot);
  const Bytes encoding = PutBytes(builder, handshake.encoding);
  return stream::CreateHandshake(builder, plugin_version, handshake.server_version_num,
                                 handshake.system_identifier, handshake.timeline, handshake.database_oid,
                                 database, slot, encoding, handshake.next_full_xid);
}

// At least what PutRelation takes.
size_t BoundOf(const VarveRelation& relation) {
  size_t bound = kTableBytesMax + relation.schema.length + relation.name.length;
  for (size_t i = 0; i < relation.column_count; ++i) {
    const VarveColumn& column = relation.columns[i];
    bound += kTableBytesMax + column.name.length + column.missing.length + column.default_expression.length;
  }
  for (size_t i = 0; i < relation.type_count; ++i) {
    const VarveType& type = relation.types[i];
    bound += kTableBytesMax + type.schema.length + type.name.length;
    for (size_t j = 0; j < type.field_count; ++j) bound += kTableBytesMax + type.fields[j].name.length;
  }
  return bound;
}

template <typename Struct, typename Plain>
flatbuffers::Offset<flatbuffers::Vector<const Struct*>> PutStructs(flatbuffers::FlatBufferBuilder& builder,
                                                                   const Plain* structs, size_t count) {
  if (count == 0) return {};
  return builder.CreateVectorOfStructs(reinterpret_cast<const Struct*>(structs), count);
}

void PutBatch(VarveWire* wire, const VarveBatchParts& parts) {
  flatbuffers::FlatBufferBuilder& builder = wire->Open();
  flatbuffers::Offset<flatbuffers::Vector<uint8_t>> heap;
  if (parts.heap_length != 0) {
    heap = builder.CreateVector(reinterpret_cast<const uint8_t*>(parts.heap), parts.heap_length);
  }
  const auto changes = PutStructs<stream::Change>(builder, parts.changes, parts.change_count);
  const auto transactions =
      PutStructs<stream::Transaction>(builder, parts.transactions, parts.transaction_count);
  const auto refs = PutStructs<stream::RelationRef>(builder, parts.refs, parts.ref_count);
  const auto origins = PutStructs<stream::Origin>(builder, parts.origins, parts.origin_count);
  flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<stream::Relation>>> relations;
  if (!wire->relations.empty()) relations = builder.CreateVector(wire->relations);
  flatbuffers::Offset<stream::Handshake> handshake;
  if (parts.handshake != nullptr) handshake = PutHandshake(builder, *parts.handshake);
  const stream::Session session(parts.session_high, parts.session_low);
  const bool has_session = parts.session_high != 0 || parts.session_low != 0;
  const auto batch = stream::CreateBatch(builder, has_session ? &session : nullptr, parts.sequence, handshake,
                                         relations, refs, transactions, changes, heap, origins);
  stream::FinishSizePrefixedBatchBuffer(builder, batch);
}

}  // namespace

VarveWire* varve_wire_open(void) noexcept { return new (std::nothrow) VarveWire; }

void varve_wire_close(VarveWire* wire) noexcept { delete wire; }

VarveWireStatus varve_wire_add_relation(VarveWire* wire, const VarveRelation* relation,
                                        size_t* length) noexcept try {
  flatbuffers::FlatBufferBuilder& builder = wire->Open();
  if (builder.GetSize() + BoundOf(*relation) > kDescribedBytesMax) return VARVE_WIRE_TOO_LARGE;
  wire->relations.push_back(PutRelation(builder, *relation));
  *length = builder.GetSize();
  return VARVE_WIRE_OK;
} catch (...) {
  return VARVE_WIRE_OUT_OF_MEMORY;
}

VarveWireStatus varve_wire_finish(VarveWire* wire, const VarveBatchParts* parts, size_t* length) noexcept
    try {
  const flatbuffers::FlatBufferBuilder& builder = wire->Open();
  wire->is_plain = parts->handshake == nullptr && parts->origin_count == 0 && wire->relations.empty();
  if (wire->is_plain) {
    wire->plain = varve::wire::PlainBatch::Plan(*parts);
    *length = wire->plain.length;
    return *length > VARVE_MESSAGE_BYTES_MAX ? VARVE_WIRE_TOO_LARGE : VARVE_WIRE_OK;
  }
  // FlatBuffers only asserts its own bound, and an assertion would take the whole server down.
  const size_t bound =
      builder.GetSize() + parts->heap_length + kFrameBytesMax + parts->change_count * sizeof(VarveChange) +
      parts->transaction_count * sizeof(VarveTransaction) + parts->ref_count * sizeof(VarveRelationRef) +
      parts->origin_count * sizeof(VarveOrigin) + wire->relations.size() * sizeof(uint32_t);
  if (bound > VARVE_MESSAGE_BYTES_MAX) return VARVE_WIRE_TOO_LARGE;
  PutBatch(wire, *parts);
  *length = builder.GetSize();
  wire->finished = true;
  return VARVE_WIRE_OK;
} catch (...) {
  return VARVE_WIRE_OUT_OF_MEMORY;
}

void varve_wire_write(const VarveWire* wire, const VarveBatchParts* parts, void* out) noexcept {
  auto* bytes = static_cast<uint8_t*>(out);
  if (wire->is_plain) {
    wire->plain.Write(*parts, bytes);
  } else {
    std::memcpy(bytes, wire->builder.GetBufferPointer(), wire->builder.GetSize());
  }
}
