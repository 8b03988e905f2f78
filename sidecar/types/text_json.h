// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sidecar/base/result.h"
#include "sidecar/model/relation.h"

namespace varve::types {

// Appends the value whose output text this is as to_jsonb prints it inside a row, by the tree of
// relation.types. Errors: kInvalidArgument, without the column.
base::Status AppendTextJson(const model::Relation& relation, uint32_t type_oid, std::string_view text,
                            std::string* out);

}  // namespace varve::types
