// SPDX-License-Identifier: PostgreSQL
#include "sidecar/wire/relation_reader.h"

#include <string>
#include <utility>

#include <fmt/format.h>

namespace varve::wire {
namespace {

using base::ErrorCode;
using base::Fail;
using base::Result;

std::string ReadBytes(const flatbuffers::Vector<uint8_t>* bytes) {
  if (bytes == nullptr) return {};
  return std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size());
}

Result<model::Column> ReadColumn(const stream::Column& wire) {
  model::Column column;
  column.attnum = wire.attnum();
  column.name = ReadBytes(wire.name());
  column.type_oid = wire.type_oid();
  column.base_type_oid = wire.base_type_oid();
  column.typmod = wire.typmod();
  if (wire.form() > stream::Form::MAX) {
    return Fail(ErrorCode::kInvalidArgument, fmt::format("column \"{}\" in the unknown form {}", column.name,
                                                         static_cast<int>(wire.form())));
  }
  column.form = static_cast<model::Form>(wire.form());
  column.width = wire.width();
  column.key_position = wire.key_position();
  column.identity_position = wire.identity_position();
  column.not_null = wire.not_null();
  column.generated = static_cast<char>(wire.generated());
  if (wire.has_missing()) {
    column.missing = ReadBytes(wire.missing());
    if (column.width != 0 && column.missing->size() != column.width) {
      return Fail(ErrorCode::kInvalidArgument,
                  fmt::format("column \"{}\": a missing value of {} bytes where its width is {}", column.name,
                              column.missing->size(), column.width));
    }
  }
  column.default_expression = ReadBytes(wire.default_expression());
  return column;
}

model::Type ReadType(const stream::Type& wire) {
  model::Type type;
  type.oid = wire.oid();
  type.schema = ReadBytes(wire.schema());
  type.name = ReadBytes(wire.name());
  type.kind = static_cast<char>(wire.kind());
  type.inner_oid = wire.inner_oid();
  type.delimiter = static_cast<char>(wire.delimiter());
  type.json_cast = wire.json_cast();
  if (wire.fields() != nullptr) {
    for (const stream::TypeField* field : *wire.fields()) {
      type.fields.push_back(model::TypeField{ReadBytes(field->name()), field->type_oid()});
    }
  }
  return type;
}

}  // namespace

Result<std::shared_ptr<const model::Relation>> ReadRelation(const stream::Relation& wire) {
  auto relation = std::make_shared<model::Relation>();
  relation->version = base::RelationVersion{wire.version()};
  relation->oid = base::TableOid{wire.oid()};
  relation->schema = ReadBytes(wire.schema());
  relation->name = ReadBytes(wire.name());
  relation->identity = static_cast<char>(wire.identity());
  relation->attribute_count = wire.attribute_count();
  if (wire.columns() != nullptr) {
    for (const stream::Column* wire_column : *wire.columns()) {
      ASSIGN_OR_RETURN(model::Column column, ReadColumn(*wire_column));
      const uint16_t last = relation->columns.empty() ? 0 : relation->columns.back().attnum;
      if (column.attnum <= last || column.attnum > relation->attribute_count) {
        return Fail(ErrorCode::kInvalidArgument,
                    fmt::format("relation {}: attribute number {} after {}, of {} attributes",
                                relation->QualifiedName(), column.attnum, last, relation->attribute_count));
      }
      relation->columns.push_back(std::move(column));
    }
  }
  if (wire.types() != nullptr) {
    for (const stream::Type* type : *wire.types()) relation->types.push_back(ReadType(*type));
  }
  if (model::ComputeVersion(*relation) != relation->version) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("relation {}: its version {:016x} is not the hash of its contents",
                            relation->QualifiedName(), relation->version.value));
  }
  return std::shared_ptr<const model::Relation>(std::move(relation));
}

}  // namespace varve::wire
