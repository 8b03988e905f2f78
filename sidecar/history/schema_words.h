// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sidecar/model/relation.h"

namespace varve::history {

// What became of a table's schema between two of its versions, a sentence each: columns by attnum, so a
// rename is a rename and a column dropped and added again under the same name is two columns.
std::vector<std::string> DescribeSchemaChange(const model::Relation& before, const model::Relation& after);

}  // namespace varve::history
