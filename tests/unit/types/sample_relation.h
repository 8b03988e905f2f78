// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sidecar/model/relation.h"
#include "sidecar/model/row_image.h"
#include "sidecar/types/builtin.h"

namespace varve::types {

// public.t with one column for each (name, base type), attnums from 1. The first is the primary key.
inline model::Relation MakeRelation(const std::vector<std::pair<std::string, uint32_t>>& columns) {
  model::Relation relation;
  relation.schema = "public";
  relation.name = "t";
  relation.attribute_count = static_cast<uint16_t>(columns.size());
  for (const auto& [name, oid] : columns) {
    model::Column column;
    column.attnum = static_cast<uint16_t>(relation.columns.size() + 1);
    column.name = name;
    column.type_oid = column.base_type_oid = oid;
    const Representation representation = RepresentationOf(oid);
    column.form = representation.form;
    column.width = representation.width;
    column.key_position = relation.columns.empty() ? 1 : 0;
    relation.columns.push_back(column);
  }
  return relation;
}

inline model::Cell Value(std::string_view bytes) { return {model::CellKind::kValue, bytes}; }

// REQUIRES: an even number of hexadecimal digits.
inline std::string FromHex(std::string_view digits) {
  std::string bytes;
  for (size_t i = 0; i < digits.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::stoi(std::string(digits.substr(i, 2)), nullptr, 16)));
  }
  return bytes;
}

}  // namespace varve::types
