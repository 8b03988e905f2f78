// SPDX-License-Identifier: PostgreSQL
#include "tests/support/stream_builder.h"

namespace varve::test {
namespace {

constexpr uint32_t kWhole = static_cast<uint32_t>(stream::TransactionFlag::Begin) |
                            static_cast<uint32_t>(stream::TransactionFlag::Commit);

flatbuffers::Offset<flatbuffers::Vector<uint8_t>> Bytes(flatbuffers::FlatBufferBuilder* builder,
                                                        std::string_view text) {
  return builder->CreateVector(reinterpret_cast<const uint8_t*>(text.data()), text.size());
}

flatbuffers::Offset<stream::Relation> BuildRelation(flatbuffers::FlatBufferBuilder* builder,
                                                    const model::Relation& relation) {
  std::vector<flatbuffers::Offset<stream::Column>> columns;
  for (const model::Column& column : relation.columns) {
    const auto name = Bytes(builder, column.name);
    const auto missing = Bytes(builder, column.missing.value_or(""));
    stream::ColumnBuilder out(*builder);
    out.add_attnum(column.attnum);
    out.add_name(name);
    out.add_type_oid(column.type_oid);
    out.add_base_type_oid(column.base_type_oid);
    out.add_typmod(column.typmod);
    out.add_form(static_cast<stream::Form>(column.form));
    out.add_width(column.width);
    out.add_key_position(column.key_position);
    out.add_identity_position(column.identity_position);
    out.add_not_null(column.not_null);
    out.add_generated(static_cast<uint8_t>(column.generated));
    out.add_has_missing(column.missing.has_value());
    out.add_missing(missing);
    columns.push_back(out.Finish());
  }
  const auto column_vector = builder->CreateVector(columns);
  const auto schema = Bytes(builder, relation.schema);
  const auto name = Bytes(builder, relation.name);
  stream::RelationBuilder out(*builder);
  out.add_version(relation.version.value);
  out.add_oid(relation.oid.value);
  out.add_schema(schema);
  out.add_name(name);
  out.add_identity(static_cast<uint8_t>(relation.identity));
  out.add_attribute_count(relation.attribute_count);
  out.add_columns(column_vector);
  return out.Finish();
}

}  // namespace

stream::Change& StreamBuilder::Add(stream::Op op, uint16_t relation, uint32_t seq, std::string_view new_image,
                                   std::string_view old_image) {
  const auto new_off = static_cast<uint32_t>(heap.size());
  heap += new_image;
  const auto old_off = static_cast<uint32_t>(heap.size());
  heap += old_image;
  changes.emplace_back(static_cast<uint8_t>(op), uint8_t{0}, relation, seq, new_off,
                       static_cast<uint32_t>(new_image.size()), old_off,
                       static_cast<uint32_t>(old_image.size()));
  return changes.back();
}

stream::Transaction& StreamBuilder::Commit(uint64_t end_lsn, uint32_t xid) {
  uint32_t first = 0;
  for (const stream::Transaction& transaction : transactions) first += transaction.count();
  transactions.emplace_back(end_lsn, int64_t{0}, xid, first, static_cast<uint32_t>(changes.size()) - first,
                            kWhole);
  return transactions.back();
}

stream::Origin& StreamBuilder::From(uint32_t id, std::string_view name, uint64_t lsn) {
  origins.emplace_back(lsn, static_cast<uint32_t>(transactions.size() - 1), id,
                       static_cast<uint32_t>(heap.size()), static_cast<uint32_t>(name.size()));
  heap += name;
  return origins.back();
}

std::string StreamBuilder::Build() const {
  flatbuffers::FlatBufferBuilder builder;
  std::vector<flatbuffers::Offset<stream::Relation>> relation_offsets;
  for (const model::Relation& relation : relations)
    relation_offsets.push_back(BuildRelation(&builder, relation));
  const auto relation_vector = builder.CreateVector(relation_offsets);
  const auto ref_vector = builder.CreateVectorOfStructs(refs);
  const auto transaction_vector = builder.CreateVectorOfStructs(transactions);
  const auto change_vector = builder.CreateVectorOfStructs(changes);
  const auto origin_vector = builder.CreateVectorOfStructs(origins);
  const auto heap_vector = Bytes(&builder, heap);
  flatbuffers::Offset<stream::Handshake> handshake_offset;
  if (handshake) {
    const auto encoding = Bytes(&builder, "UTF8");
    stream::HandshakeBuilder out(builder);
    out.add_server_version_num(150020);
    out.add_encoding(encoding);
    handshake_offset = out.Finish();
  }
  const stream::Session session(session_high, session_low);
  stream::BatchBuilder out(builder);
  out.add_session(&session);
  out.add_sequence(sequence);
  if (handshake) out.add_handshake(handshake_offset);
  out.add_relations(relation_vector);
  out.add_refs(ref_vector);
  out.add_transactions(transaction_vector);
  out.add_changes(change_vector);
  out.add_heap(heap_vector);
  if (!origins.empty()) out.add_origins(origin_vector);
  stream::FinishSizePrefixedBatchBuffer(builder, out.Finish());
  return std::string(reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize());
}

model::Relation KeyedRelation(uint32_t oid) {
  constexpr uint32_t kInt4Oid = 23;
  constexpr uint32_t kTextOid = 25;
  model::Relation relation;
  relation.oid = base::TableOid{oid};
  relation.schema = "public";
  relation.name = "t" + std::to_string(oid);
  relation.attribute_count = 2;
  relation.columns.resize(2);
  model::Column& id = relation.columns[0];
  id.attnum = 1;
  id.name = "id";
  id.type_oid = id.base_type_oid = kInt4Oid;
  id.form = model::Form::kBinary;
  id.width = 4;
  id.key_position = 1;
  id.not_null = true;
  model::Column& v = relation.columns[1];
  v.attnum = 2;
  v.name = "v";
  v.type_oid = v.base_type_oid = kTextOid;
  v.form = model::Form::kBinary;
  relation.version = model::ComputeVersion(relation);
  return relation;
}

std::string KeyedImage(const model::Relation& relation, int32_t id, std::string_view v) {
  std::string big_endian(4, '\0');
  for (int i = 0; i < 4; ++i) big_endian[i] = static_cast<char>(static_cast<uint32_t>(id) >> (24 - 8 * i));
  std::string image;
  model::EncodeImage(relation, {{model::CellKind::kValue, big_endian}, {model::CellKind::kValue, v}}, &image);
  return image;
}

}  // namespace varve::test
