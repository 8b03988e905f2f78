// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sidecar/base/result.h"
#include "sidecar/model/relation.h"

namespace varve::types {

// The key columns, in key order. Errors: kInvalidArgument when there are none.
base::Result<std::vector<const model::Column*>> RequireKey(const model::Relation& relation);

// Appends the key bytes of one column's value. Errors: kInvalidArgument naming the column.
base::Status AppendKeyColumn(const model::Relation& relation, const model::Column& column,
                             std::string_view value, std::string* out);

}  // namespace varve::types
