// SPDX-License-Identifier: PostgreSQL
#include "sidecar/store/bytes.h"
#include "sidecar/store/record_format.h"

namespace varve::store {
namespace {

constexpr uint8_t kNotNull = 1;
constexpr uint8_t kMissing = 2;

void WriteColumn(ByteWriter* writer, const model::Column& column) {
  writer->U16(column.attnum).String(column.name);
  writer->U32(column.type_oid).U32(column.base_type_oid).U32(static_cast<uint32_t>(column.typmod));
  writer->U8(static_cast<uint8_t>(column.form)).U16(column.width);
  writer->U16(column.key_position).U16(column.identity_position);
  writer->U8(static_cast<uint8_t>((column.not_null ? kNotNull : 0) | (column.missing ? kMissing : 0)));
  writer->U8(static_cast<uint8_t>(column.generated));
  if (column.missing) writer->String(*column.missing);
  writer->String(column.default_expression);
}

model::Column ReadColumn(ByteReader* reader) {
  model::Column column;
  column.attnum = reader->U16();
  column.name = reader->String();
  column.type_oid = reader->U32();
  column.base_type_oid = reader->U32();
  column.typmod = static_cast<int32_t>(reader->U32());
  column.form = static_cast<model::Form>(reader->U8());
  column.width = reader->U16();
  column.key_position = reader->U16();
  column.identity_position = reader->U16();
  const uint8_t flags = reader->U8();
  column.not_null = (flags & kNotNull) != 0;
  column.generated = static_cast<char>(reader->U8());
  if ((flags & kMissing) != 0) column.missing = std::string(reader->String());
  column.default_expression = reader->String();
  return column;
}

void WriteType(ByteWriter* writer, const model::Type& type) {
  writer->U32(type.oid).String(type.schema).String(type.name);
  writer->U8(static_cast<uint8_t>(type.kind)).U32(type.inner_oid).U8(static_cast<uint8_t>(type.delimiter));
  writer->U8(type.json_cast ? 1 : 0).Varint(type.fields.size());
  for (const model::TypeField& field : type.fields) writer->String(field.name).U32(field.type_oid);
}

model::Type ReadType(ByteReader* reader) {
  model::Type type;
  type.oid = reader->U32();
  type.schema = reader->String();
  type.name = reader->String();
  type.kind = static_cast<char>(reader->U8());
  type.inner_oid = reader->U32();
  type.delimiter = static_cast<char>(reader->U8());
  type.json_cast = reader->U8() != 0;
  const uint64_t fields = reader->Varint();
  for (uint64_t i = 0; i < fields && reader->ok(); ++i) {
    model::TypeField& field = type.fields.emplace_back();
    field.name = reader->String();
    field.type_oid = reader->U32();
  }
  return type;
}

// What every reader of a relation relies on.
bool IsSound(const model::Relation& relation) {
  uint16_t previous = 0;
  for (const model::Column& column : relation.columns) {
    if (column.attnum <= previous || column.attnum > relation.attribute_count) return false;
    if (column.form != model::Form::kBinary && column.form != model::Form::kText) return false;
    previous = column.attnum;
  }
  return model::ComputeVersion(relation) == relation.version;
}

}  // namespace

std::string EncodeRelation(const model::Relation& relation) {
  std::string out;
  ByteWriter writer(&out);
  writer.U64(relation.version.value).U32(relation.oid.value).String(relation.schema).String(relation.name);
  writer.U8(static_cast<uint8_t>(relation.identity)).U16(relation.attribute_count);
  writer.Varint(relation.columns.size());
  for (const model::Column& column : relation.columns) WriteColumn(&writer, column);
  writer.Varint(relation.types.size());
  for (const model::Type& type : relation.types) WriteType(&writer, type);
  return out;
}

base::Result<model::Relation> DecodeRelation(std::string_view bytes) {
  ByteReader reader(bytes);
  model::Relation relation;
  relation.version.value = reader.U64();
  relation.oid.value = reader.U32();
  relation.schema = reader.String();
  relation.name = reader.String();
  relation.identity = static_cast<char>(reader.U8());
  relation.attribute_count = reader.U16();
  const uint64_t columns = reader.Varint();
  for (uint64_t i = 0; i < columns && reader.ok(); ++i) relation.columns.push_back(ReadColumn(&reader));
  const uint64_t types = reader.Varint();
  for (uint64_t i = 0; i < types && reader.ok(); ++i) relation.types.push_back(ReadType(&reader));
  if (!reader.AtEnd() || !IsSound(relation)) {
    return base::Fail(base::ErrorCode::kInternal, "the store holds a damaged relation version");
  }
  return relation;
}

}  // namespace varve::store
