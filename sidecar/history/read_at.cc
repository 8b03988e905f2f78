// SPDX-License-Identifier: PostgreSQL
#include <utility>

#include "sidecar/history/history_impl.h"
#include "sidecar/history/row_mapper.h"

namespace varve::history {

using base::Result;

Result<std::optional<OwnedRow>> HistoryImpl::Get(base::TableOid table, std::string_view key,
                                                 base::Position position) const {
  RETURN_IF_ERROR(visibility_.CheckReadable(position));
  ASSIGN_OR_RETURN(const TableView view, catalog_.ViewAt(table, position));
  const auto snapshot = store_->TakeSnapshot();
  VersionReader reader(store_.get(), snapshot.get(), visibility_.first()->position);
  ASSIGN_OR_RETURN(auto version, reader.At(table, key, position));
  if (!version || version->tombstone || !view.Survives(version->start)) return std::optional<OwnedRow>();
  RowMapper mapper(&catalog_, table, view.relation);
  std::vector<model::Cell> cells;
  RETURN_IF_ERROR(mapper.Map(version->version, version->image, &cells));
  OwnedRow row;
  row.relation = view.relation;
  row.since = version->start.position;
  row.values.reserve(cells.size());  // a short string would move with the vector
  for (const model::Cell& cell : cells) {
    row.values.emplace_back(cell.value);
    row.cells.push_back(model::Cell{cell.kind, row.values.back()});
  }
  row.image = std::move(version->image);
  return std::optional<OwnedRow>(std::move(row));
}

}  // namespace varve::history
