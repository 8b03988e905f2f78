// SPDX-License-Identifier: PostgreSQL
#include "sidecar/types/json.h"

#include <algorithm>

#include "sidecar/types/column_error.h"
#include "sidecar/types/json_text.h"
#include "sidecar/types/oids.h"
#include "sidecar/types/scalar.h"
#include "sidecar/types/text_json.h"

namespace varve::types {
namespace {

using model::Cell;
using model::CellKind;
using model::Column;

// A column announced as binary whose type has no binary form here can only come from a newer server side.
base::Status CheckForm(const Column& column) {
  const bool known =
      FindBinaryType(column.base_type_oid) != nullptr || FindElementOfArray(column.base_type_oid) != nullptr;
  if (column.form == model::Form::kText || known) return {};
  return base::Fail(base::ErrorCode::kInvalidArgument, "its type has no binary form here");
}

base::Status AppendValue(const model::Relation& relation, const Column& column, std::string_view value,
                         std::string* out) {
  RETURN_IF_ERROR(CheckForm(column));
  if (column.form == model::Form::kBinary) return AppendBinaryJson(column.base_type_oid, value, out);
  return AppendTextJson(relation, column.base_type_oid, value, out);
}

// jsonb's order of keys.
bool KeyBefore(const Column* a, const Column* b) {
  return a->name.size() != b->name.size() ? a->name.size() < b->name.size() : a->name < b->name;
}

}  // namespace

base::Status AppendRowJson(const model::Relation& relation, const std::vector<Cell>& cells,
                           std::string* out) {
  std::vector<const Column*> order;
  order.reserve(relation.columns.size());
  for (const Column& column : relation.columns) {
    const size_t index = static_cast<size_t>(column.attnum) - 1;
    if (index < cells.size() && cells[index].kind != CellKind::kAbsent) order.push_back(&column);
  }
  std::stable_sort(order.begin(), order.end(), KeyBefore);
  out->push_back('{');
  bool first = true;
  for (size_t i = 0; i < order.size(); ++i) {
    const Column& column = *order[i];
    if (i + 1 < order.size() && order[i + 1]->name == column.name) continue;
    const Cell& cell = cells[static_cast<size_t>(column.attnum) - 1];
    if (cell.kind == CellKind::kUnchanged) {
      return base::Fail(base::ErrorCode::kInternal,
                        ColumnName(relation, column) + ": a value that did not change was not resolved");
    }
    if (!first) out->append(", ");
    first = false;
    AppendJsonString(column.name, out);
    out->append(": ");
    if (cell.kind == CellKind::kNull) {
      out->append("null");
    } else {
      RETURN_IF_ERROR(AppendValueJson(relation, column, cell.value, out));
    }
  }
  out->push_back('}');
  return {};
}

base::Status AppendValueJson(const model::Relation& relation, const Column& column, std::string_view value,
                             std::string* out) {
  return InColumn(relation, column, AppendValue(relation, column, value, out));
}

base::Status AppendValueText(const model::Relation& relation, const Column& column, std::string_view value,
                             std::string* out) {
  if (column.form == model::Form::kText) {
    out->append(value);
    return {};
  }
  RETURN_IF_ERROR(InColumn(relation, column, CheckForm(column)));
  return InColumn(relation, column, AppendBinaryText(column.base_type_oid, value, out));
}

}  // namespace varve::types
