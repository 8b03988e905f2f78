// SPDX-License-Identifier: PostgreSQL
#include "sidecar/history/row_mapper.h"

#include "sidecar/types/json.h"

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

base::Status RowPainter::Map(base::TableOid table, const RelationPtr& target, base::RelationVersion version,
                             std::string_view image, ShownRow* shown) {
  RowMapper& mapper = mappers_.try_emplace(target.get(), catalog_, table, target).first->second;
  shown->relation = target;
  return mapper.Map(version, image, &shown->cells);
}

base::Result<RelationPtr> RowPainter::AsWritten(base::TableOid table, const RelationPtr& target,
                                                base::RelationVersion version) {
  RelationPtr& mixed = as_written_[{target.get(), version}];
  if (mixed == nullptr) {
    ASSIGN_OR_RETURN(mixed, catalog_->AsWritten(table, version, target));
  }
  return mixed;
}

base::Status RowPainter::Paint(base::TableOid table, const RelationPtr& target, base::RelationVersion version,
                               std::string_view image, base::Position since, ShownRow* shown) {
  constexpr auto kChanged = base::ErrorCode::kSchemaChanged;
  base::Status mapped = Map(table, target, version, image, shown);
  if (!mapped && mapped.error().code == kChanged) {
    ASSIGN_OR_RETURN(const RelationPtr mixed, AsWritten(table, target, version));
    mapped = Map(table, mixed, version, image, shown);
  }
  if (!mapped && mapped.error().code == kChanged) {
    // What a type is made of changed: its values are shown as what they were.
    ASSIGN_OR_RETURN(shown->relation, catalog_->FindRelation(version));
    mapped = model::DecodeImageInto(*shown->relation, image, &shown->cells);
  }
  if (!mapped) return mapped;
  shown->Point(since, image);
  return {};
}

namespace {

// Values whose bytes cannot be compared, for the type of the column changed: whether they are shown alike.
bool AreShownAlike(const ShownRow& before, const ShownRow& after, const model::Column& column) {
  const model::Column& source = *before.relation->FindAttnum(column.attnum);
  const model::Cell& old_cell = before.cells[column.attnum - 1];
  const model::Cell& new_cell = after.cells[column.attnum - 1];
  if (IsReadable(*before.relation, source, *after.relation, column)) return old_cell == new_cell;
  if (old_cell.kind != new_cell.kind) return false;
  if (old_cell.kind != model::CellKind::kValue) return true;
  std::string old_json;
  std::string new_json;
  return types::AppendValueJson(*before.relation, source, old_cell.value, &old_json) &&
         types::AppendValueJson(*after.relation, column, new_cell.value, &new_json) && old_json == new_json;
}

}  // namespace

std::vector<uint16_t> DifferentCells(const ShownRow& before, const ShownRow& after) {
  std::vector<uint16_t> attnums;
  for (const model::Column& column : after.relation->columns) {
    const size_t index = column.attnum - 1;
    if (before.relation != after.relation) {
      if (before.relation->FindAttnum(column.attnum) == nullptr) continue;
      if (!AreShownAlike(before, after, column)) attnums.push_back(column.attnum);
    } else if (before.cells[index] != after.cells[index]) {
      attnums.push_back(column.attnum);
    }
  }
  return attnums;
}

}  // namespace varve::history
