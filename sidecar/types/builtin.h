// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <cstdint>

#include "sidecar/model/relation.h"

namespace varve::types {

// The form and fixed width (bytes, 0: varies) in which values of a type travel, by its base type oid: binary
// for the list in schemas/README.md and arrays of these, text for all others.
struct Representation {
  model::Form form = model::Form::kText;
  uint16_t width = 0;
};
Representation RepresentationOf(uint32_t base_type_oid);

}  // namespace varve::types
