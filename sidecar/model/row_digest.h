// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sidecar/model/row_image.h"

namespace varve::model {

// By attnum - 1: what rows have in a column that are older than it (ADD COLUMN … DEFAULT); nothing: null.
using RowDefaults = std::vector<std::optional<std::string>>;

inline constexpr size_t kRowDigestBytes = 16;

// What a row without a key is known by: a hash of its cells, bytes for bytes, but those that a row has which
// is older than the column. So it stays what it is when a column comes. Persisted: never change.
// REQUIRES: no unchanged cells.
std::string RowDigest(const std::vector<Cell>& cells, const RowDefaults& defaults);

// Whether the digests are those of the same row, and not only equal.
bool IsSameRow(const std::vector<Cell>& a, const std::vector<Cell>& b, const RowDefaults& defaults);

}  // namespace varve::model
