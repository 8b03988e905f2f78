// SPDX-License-Identifier: PostgreSQL
#include <utility>

#include <fmt/format.h>

#include "sidecar/history/cursor.h"
#include "sidecar/history/history_impl.h"
#include "sidecar/history/row_mapper.h"
#include "sidecar/types/key.h"

namespace varve::history {

using base::ErrorCode;
using base::Fail;
using base::Result;
using base::Status;

namespace {

// One `column = value`.
struct Condition {
  const model::Column* column = nullptr;
  std::string value;
};

Result<std::vector<Condition>> ParseWhere(const model::Relation& relation, const ScanOptions& options) {
  std::vector<Condition> conditions;
  for (const auto& [name, text] : options.where) {
    const model::Column* column = relation.FindColumn(name);
    if (column == nullptr) {
      return Fail(ErrorCode::kInvalidArgument,
                  fmt::format("{} has no column {}", relation.QualifiedName(), name));
    }
    ASSIGN_OR_RETURN(std::string value, types::ParseValue(relation, *column, text));
    conditions.push_back(Condition{column, std::move(value)});
  }
  return conditions;
}

// As `=` in SQL: a null is equal to nothing.
Result<bool> Matches(const model::Relation& relation, const std::vector<Condition>& conditions,
                     const std::vector<model::Cell>& cells) {
  for (const Condition& condition : conditions) {
    const model::Cell& cell = cells[condition.column->attnum - 1];
    if (cell.kind != model::CellKind::kValue) return false;
    ASSIGN_OR_RETURN(const bool equal,
                     types::ValuesEqual(relation, *condition.column, cell.value, condition.value));
    if (!equal) return false;
  }
  return true;
}

}  // namespace

Status HistoryImpl::Scan(base::TableOid table, base::Position position, const ScanOptions& options,
                         const RowCallback& callback) const {
  RETURN_IF_ERROR(visibility_.CheckReadable(position));
  ASSIGN_OR_RETURN(const TableView view, catalog_.ViewAt(table, position));
  ASSIGN_OR_RETURN(const std::vector<Condition> conditions, ParseWhere(*view.relation, options));
  const auto snapshot = store_->TakeSnapshot();
  TableCursor cursor(store_.get(), snapshot.get(), view, visibility_.first()->position);
  RETURN_IF_ERROR(cursor.Start(options.after_key));
  RowMapper mapper(&catalog_, table, view.relation);
  ShownRow shown;
  shown.relation = view.relation;
  for (uint64_t rows = 0; rows < options.limit;) {
    ASSIGN_OR_RETURN(const bool found, cursor.Next());
    if (!found) return {};
    const RowVersion& version = cursor.version();
    RETURN_IF_ERROR(mapper.Map(version.version, version.image, &shown.cells));
    ASSIGN_OR_RETURN(const bool matches, Matches(*view.relation, conditions, shown.cells));
    if (!matches) continue;
    shown.Point(version.start.position, version.image);
    shown.row.key = cursor.key();
    ++rows;
    ASSIGN_OR_RETURN(const bool more, callback(shown.row));
    if (!more) return {};
  }
  return {};
}

}  // namespace varve::history
