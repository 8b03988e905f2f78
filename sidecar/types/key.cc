// SPDX-License-Identifier: PostgreSQL
// The table of encodings stands in scalar_key.cc.
#include "sidecar/types/key.h"

#include "sidecar/types/bytes.h"
#include "sidecar/types/column_error.h"
#include "sidecar/types/json.h"
#include "sidecar/types/json_text.h"
#include "sidecar/types/key_encoding.h"
#include "sidecar/types/oids.h"
#include "sidecar/types/scalar.h"
#include "sidecar/types/text_key.h"

namespace varve::types {
namespace {

using base::ErrorCode;
using model::Cell;
using model::CellKind;
using model::Column;
using model::Relation;

base::Status AppendColumnKey(const Relation& relation, const Column& column, std::string_view value,
                             std::string* out) {
  if (column.form == model::Form::kBinary) {
    if (FindBinaryType(column.base_type_oid) == nullptr &&
        FindElementOfArray(column.base_type_oid) == nullptr) {
      return BadValue("its type has no binary form here");
    }
    return AppendBinaryKey(column.base_type_oid, value, out);
  }
  RETURN_IF_ERROR(CheckTextIdentity(relation, column.base_type_oid));
  if (value.find('\0') != std::string_view::npos) return BadValue("a text that holds the character 0");
  out->append(value).push_back('\0');
  return {};
}

// The value of a key column.
base::Result<std::string_view> KeyCell(const Relation& relation, const Column& column,
                                       const std::vector<Cell>& cells) {
  const size_t index = static_cast<size_t>(column.attnum) - 1;
  const CellKind kind = index < cells.size() ? cells[index].kind : CellKind::kAbsent;
  if (kind == CellKind::kValue) return cells[index].value;
  constexpr std::string_view kNames[] = {"absent", "null", "unchanged"};
  return base::Fail(ErrorCode::kInvalidArgument, ColumnName(relation, column) + " is part of the key and " +
                                                     std::string(kNames[static_cast<size_t>(kind)]) +
                                                     " in this row");
}

// Numbers and truth values stand bare in JSON, all others as strings that the input rules read back.
bool IsBareInJson(uint32_t oid) {
  switch (oid) {
    case kBoolOid:
    case kInt2Oid:
    case kInt4Oid:
    case kInt8Oid:
    case kFloat4Oid:
    case kFloat8Oid:
    case kNumericOid: return true;
    default: return false;
  }
}

}  // namespace

base::Result<std::vector<const Column*>> RequireKey(const Relation& relation) {
  std::vector<const Column*> key = relation.KeyColumns();
  if (!key.empty()) return key;
  return base::Fail(ErrorCode::kInvalidArgument,
                    relation.QualifiedName() +
                        " has no key: give it a primary key, or a unique index and ALTER TABLE … REPLICA "
                        "IDENTITY USING INDEX");
}

base::Status AppendKeyColumn(const Relation& relation, const Column& column, std::string_view value,
                             std::string* out) {
  return InColumn(relation, column, AppendColumnKey(relation, column, value, out));
}

base::Result<std::string> EncodeKey(const Relation& relation, const std::vector<Cell>& cells) {
  ASSIGN_OR_RETURN(const auto columns, RequireKey(relation));
  std::string key;
  for (const Column* column : columns) {
    ASSIGN_OR_RETURN(const std::string_view value, KeyCell(relation, *column, cells));
    RETURN_IF_ERROR(AppendKeyColumn(relation, *column, value, &key));
  }
  return key;
}

base::Status AppendKeyJson(const Relation& relation, const std::vector<Cell>& cells, std::string* out) {
  ASSIGN_OR_RETURN(const auto columns, RequireKey(relation));
  if (columns.size() > 1) out->push_back('[');
  std::string text;
  for (const Column* column : columns) {
    ASSIGN_OR_RETURN(const std::string_view value, KeyCell(relation, *column, cells));
    if (column != columns.front()) out->append(", ");
    if (column->form == model::Form::kBinary && IsBareInJson(column->base_type_oid)) {
      RETURN_IF_ERROR(AppendValueJson(relation, *column, value, out));
      continue;
    }
    text.clear();
    RETURN_IF_ERROR(AppendValueText(relation, *column, value, &text));
    AppendJsonString(text, out);
  }
  if (columns.size() > 1) out->push_back(']');
  return {};
}

base::Result<std::string> ParseValue(const Relation& relation, const Column& column, std::string_view text) {
  std::string value;
  if (column.form == model::Form::kText) {
    auto parsed = ParseTextForm(column.base_type_oid, text);
    if (!parsed) return base::Fail(InColumn(relation, column, base::Fail(parsed.error())).error());
    return parsed;
  }
  RETURN_IF_ERROR(InColumn(relation, column, ParseBinary(column.base_type_oid, text, &value)));
  return value;
}

base::Result<bool> ValuesEqual(const Relation& relation, const Column& column, std::string_view a,
                               std::string_view b) {
  std::string left;
  std::string right;
  RETURN_IF_ERROR(AppendKeyColumn(relation, column, a, &left));
  RETURN_IF_ERROR(AppendKeyColumn(relation, column, b, &right));
  return left == right;
}

}  // namespace varve::types
