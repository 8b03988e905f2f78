// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sidecar/base/result.h"
#include "sidecar/model/relation.h"

namespace varve::model {

// Persisted: never renumber.
enum class CellKind : uint8_t { kAbsent = 0, kNull = 1, kUnchanged = 2, kValue = 3 };

// A cell of a row image; `value` borrows from the image.
struct Cell {
  CellKind kind = CellKind::kAbsent;
  std::string_view value;
  bool operator==(const Cell&) const = default;
};

// The cells of an image by attnum - 1, as many as its attribute count. Verifies everything that it reads.
// Errors: kInvalidArgument when the bytes are not an image of this relation version.
base::Result<std::vector<Cell>> DecodeImage(const Relation& relation, std::string_view image);

// Same, into a vector that the caller re-uses.
base::Status DecodeImageInto(const Relation& relation, std::string_view image, std::vector<Cell>* cells);

// Appends the image of these cells (by attnum - 1). REQUIRES: values of fixed-width columns have that width;
// only live columns of the relation have a kind other than absent.
void EncodeImage(const Relation& relation, const std::vector<Cell>& cells, std::string* image);

}  // namespace varve::model
