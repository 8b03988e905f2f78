// SPDX-License-Identifier: PostgreSQL
#include "sidecar/history/bag.h"

#include <fmt/format.h>

#include "sidecar/history/projection.h"

namespace varve::history {

std::string BagKey(std::string_view prefix, uint32_t place) {
  std::string key(prefix);
  for (int shift = 24; shift >= 0; shift -= 8) key.push_back(static_cast<char>(place >> shift));
  return key;
}

base::Result<uint32_t> CountPlaces(const std::function<base::Result<bool>(uint32_t place)>& is_taken) {
  // Steps that double, then halve: most rows have no double.
  uint32_t free = 0;  // the first place that is known to be
  uint32_t least = 0;
  for (uint32_t step = 1;; step *= 2) {
    ASSIGN_OR_RETURN(const bool taken, is_taken(free));
    if (!taken) break;
    least = free + 1;
    if (free > UINT32_MAX - step) return base::Fail(base::ErrorCode::kTooLarge, "too many rows are the same");
    free += step;
  }
  while (least < free) {
    const uint32_t middle = least + (free - least) / 2;
    ASSIGN_OR_RETURN(const bool taken, is_taken(middle));
    if (taken) {
      least = middle + 1;
    } else {
      free = middle;
    }
  }
  return free;
}

model::RowDefaults DefaultsOf(const model::Relation& relation) {
  model::RowDefaults defaults(relation.attribute_count);
  for (const model::Column& column : relation.columns) defaults[column.attnum - 1U] = column.missing;
  return defaults;
}

std::string BagDifference(const model::Relation& before, const model::Relation& after) {
  constexpr char kVirtual = 'v';
  constexpr std::string_view kWhy = "and its rows have no key: they are known by all of their columns";
  for (const model::Column& column : before.columns) {
    if (column.generated == kVirtual) continue;
    const model::Column* now = after.FindAttnum(column.attnum);
    if (now == nullptr) return fmt::format("column {} was dropped, {}", column.name, kWhy);
    if (!IsReadable(before, column, after, *now)) {
      return fmt::format("the type of column {} changed, {}", column.name, kWhy);
    }
  }
  return {};
}

}  // namespace varve::history
