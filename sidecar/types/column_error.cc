// SPDX-License-Identifier: PostgreSQL
#include "sidecar/types/column_error.h"

#include "sidecar/types/oids.h"

namespace varve::types {

std::string ColumnName(const model::Relation& relation, const model::Column& column) {
  std::string type;
  if (const model::Type* declared = relation.FindType(column.type_oid)) {
    type = declared->name;
  } else if (const BinaryType* binary = FindBinaryType(column.base_type_oid)) {
    type = binary->name;
  } else if (const BinaryType* element = FindElementOfArray(column.base_type_oid)) {
    type = std::string(element->name) + "[]";
  } else {
    type = "type " + std::to_string(column.type_oid);
  }
  return "column \"" + column.name + "\" of " + relation.QualifiedName() + " (" + type + ")";
}

}  // namespace varve::types
