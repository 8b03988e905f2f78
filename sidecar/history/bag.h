// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "sidecar/base/result.h"
#include "sidecar/model/relation.h"
#include "sidecar/model/row_digest.h"

namespace varve::history {

// A table without a key is a bag: rows that are the same in every byte cannot be told apart, so a row is
// known by its digest and the place among those that are the same, from 0. One that is inserted takes the
// next place, one that goes away leaves the last: the places that are taken are always the first ones.

inline constexpr size_t kBagKeyBytes = model::kRowDigestBytes + 4;

// Key bytes of a row. `prefix`: what ends with the digest. Persisted: never change.
std::string BagKey(std::string_view prefix, uint32_t place);

// How many places are taken.
base::Result<uint32_t> CountPlaces(const std::function<base::Result<bool>(uint32_t place)>& is_taken);

// What rows have that are older than the columns of this relation.
model::RowDefaults DefaultsOf(const model::Relation& relation);

// Why old rows that come under the later definition cannot be found among those that came under the earlier;
// empty when they can.
std::string BagDifference(const model::Relation& before, const model::Relation& after);

}  // namespace varve::history
