// SPDX-License-Identifier: PostgreSQL
#include <fmt/format.h>

#include "sidecar/history/applier.h"
#include "sidecar/history/bag.h"

namespace varve::history {

using base::ErrorCode;
using base::Fail;
using base::Result;
using base::Status;

// `prefix`: table and digest. The last place that is taken must be by the same row, for two may have one
// digest.
Result<uint32_t> Applier::CountSameRows(const model::Change& change, Place place, const Table& table,
                                        std::string_view prefix, const std::vector<model::Cell>& cells) {
  ASSIGN_OR_RETURN(const uint32_t count, CountPlaces([&](uint32_t at) -> Result<bool> {
                     ASSIGN_OR_RETURN(const HeadCache::Head* const head, heads_.Find(BagKey(prefix, at)));
                     ASSIGN_OR_RETURN(const auto live, LiveRow(*head, table));
                     return live.has_value();
                   }));
  if (count == 0) return count;
  ASSIGN_OR_RETURN(const HeadCache::Head* const head, heads_.Find(BagKey(prefix, count - 1)));
  ASSIGN_OR_RETURN(const auto live, LiveRow(*head, table));
  ASSIGN_OR_RETURN(const RelationPtr relation, catalog_->FindRelation(live->version));
  ASSIGN_OR_RETURN(const std::vector<model::Cell> stored, model::DecodeImage(*relation, live->image));
  if (!model::IsSameRow(cells, stored, *table.bag)) {
    return Fail(Contradiction(change, place, "two rows that are not the same have the same digest"));
  }
  return count;
}

// The new row, whole, into cells_; whether some of it had to be taken from the old one in old_cells_.
Result<bool> Applier::DecodeNew(const model::Change& change, Place place, bool has_old) {
  const Status decoded = model::DecodeImageInto(*change.relation, change.new_image, &cells_);
  if (!decoded) return Fail(Contradiction(change, place, decoded.error().message));
  if (!HasUnchanged(cells_)) return false;
  if (has_old && TakeUnchanged(old_cells_, &cells_)) return true;
  return Fail(Contradiction(change, place, "the new row lacks a value"));
}

// Here and not ahead of time: which place a row has depends on all changes before it.
Status Applier::MakeBagKeys(const model::Change& change, Place place, const Table& table, RowKeys* keys) {
  const bool has_old = change.op != model::Op::kInsert;
  if (has_old && !(change.old_is_full && !change.old_image.empty())) {
    return Fail(Contradiction(change, place,
                              "it came without the old row, and rows without a key need REPLICA IDENTITY "
                              "FULL"));
  }
  std::string old_prefix;
  if (has_old) {
    const Status decoded = model::DecodeImageInto(*change.relation, change.old_image, &old_cells_);
    if (!decoded) return Fail(Contradiction(change, place, decoded.error().message));
    if (HasUnchanged(old_cells_)) return Fail(Contradiction(change, place, "the old row lacks a value"));
    old_prefix = store::RowKey(change.table, model::RowDigest(old_cells_, *table.bag));
    ASSIGN_OR_RETURN(const uint32_t count, CountSameRows(change, place, table, old_prefix, old_cells_));
    if (count == 0) return Fail(Contradiction(change, place, "there is no such row"));
    keys->now = BagKey(old_prefix, count - 1);
  }
  if (change.op == model::Op::kDelete) return {};
  ASSIGN_OR_RETURN(keys->unchanged_cells, DecodeNew(change, place, has_old));
  const std::string prefix = store::RowKey(change.table, model::RowDigest(cells_, *table.bag));
  if (has_old && prefix == old_prefix) return {};
  ASSIGN_OR_RETURN(const uint32_t count, CountSameRows(change, place, table, prefix, cells_));
  keys->before = std::move(keys->now);
  keys->now = BagKey(prefix, count);
  return {};
}

}  // namespace varve::history
