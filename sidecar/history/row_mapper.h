// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <map>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "sidecar/history/catalog.h"
#include "sidecar/history/version_reader.h"
#include "sidecar/model/row_image.h"

namespace varve::history {

// Shows stored rows of one table under one of its relation versions. Borrows the catalog. One thread.
class RowMapper {
 public:
  RowMapper(const Catalog* catalog, base::TableOid table, RelationPtr to)
      : catalog_(catalog), table_(table), to_(std::move(to)) {}

  const RelationPtr& relation() const { return to_; }
  // `cells` borrows from the image and from this mapper. Errors: kSchemaChanged, kInternal.
  base::Status Map(base::RelationVersion version, std::string_view image, std::vector<model::Cell>* cells);

 private:
  const Catalog* catalog_;
  base::TableOid table_;
  RelationPtr to_;
  std::map<base::RelationVersion, std::shared_ptr<const Projection>> projections_;
};

// A row in the making: what a Row of the interface points to. Not movable while `row` is in use.
struct ShownRow {
  Row row;
  RelationPtr relation;
  std::vector<model::Cell> cells;

  // Points `row` at the parts. `image` must outlive it.
  void Point(base::Position since, std::string_view image);
};

// Shows rows of any table under any of its versions. Borrows the catalog. One thread.
class RowPainter {
 public:
  explicit RowPainter(const Catalog* catalog) : catalog_(catalog) {}

  // Fills `shown` with the row under `target`, where columns whose type changed in between stay what they
  // were: under a relation of its own then. Where labels of an enum or fields of a composite type changed, it
  // is the version it was written under. `shown` borrows from the image and from this painter. Errors:
  // kInternal.
  base::Status Paint(base::TableOid table, const RelationPtr& target, base::RelationVersion version,
                     std::string_view image, base::Position since, ShownRow* shown);

 private:
  base::Status Map(base::TableOid table, const RelationPtr& target, base::RelationVersion version,
                   std::string_view image, ShownRow* shown);
  base::Result<RelationPtr> AsWritten(base::TableOid table, const RelationPtr& target,
                                      base::RelationVersion version);

  const Catalog* catalog_;
  std::map<std::pair<const model::Relation*, base::RelationVersion>, RelationPtr> as_written_;
  std::map<const model::Relation*, RowMapper> mappers_;  // by the relation to show under, which they keep
};

// Attnums of columns that both rows' relations have and whose cells differ in kind or bytes; where the
// type of the column changed, in how they are shown.
std::vector<uint16_t> DifferentCells(const ShownRow& before, const ShownRow& after);

}  // namespace varve::history
