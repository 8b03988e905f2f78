// SPDX-License-Identifier: PostgreSQL
#include "sidecar/history/row_mapper.h"

namespace varve::history {

base::Status RowMapper::Map(base::RelationVersion version, std::string_view image,
                            std::vector<model::Cell>* cells) {
  auto found = projections_.find(version);
  if (found == projections_.end()) {
    ASSIGN_OR_RETURN(auto projection, catalog_->Project(table_, version, to_));
    found = projections_.emplace(version, std::move(projection)).first;
  }
  const base::Status decoded = found->second->Decode(image, cells);
  if (!decoded) {
    return base::Fail(base::ErrorCode::kInternal,
                      "the store holds a damaged row: " + decoded.error().message);
  }
  return {};
}

void ShownRow::Point(base::Position since, std::string_view image) {
  row.relation = relation.get();
  row.cells = &cells;
  row.since = since;
  row.image = image;
}

base::Status RowPainter::Paint(base::TableOid table, const RelationPtr& target, base::RelationVersion version,
                               std::string_view image, base::Position since, ShownRow* shown) {
  RowMapper& mapper = mappers_.try_emplace(target.get(), catalog_, table, target).first->second;
  shown->relation = target;
  const base::Status mapped = mapper.Map(version, image, &shown->cells);
  if (!mapped) {
    if (mapped.error().code != base::ErrorCode::kSchemaChanged) return mapped;
    ASSIGN_OR_RETURN(shown->relation, catalog_->FindRelation(version));
    RETURN_IF_ERROR(model::DecodeImageInto(*shown->relation, image, &shown->cells));
  }
  shown->Point(since, image);
  return {};
}

std::vector<uint16_t> DifferentCells(const ShownRow& before, const ShownRow& after) {
  std::vector<uint16_t> attnums;
  for (const model::Column& column : after.relation->columns) {
    const size_t index = column.attnum - 1;
    if (before.relation != after.relation && before.relation->FindAttnum(column.attnum) == nullptr) continue;
    if (before.cells[index] != after.cells[index]) attnums.push_back(column.attnum);
  }
  return attnums;
}

}  // namespace varve::history
