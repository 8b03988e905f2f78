// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sidecar/base/result.h"
#include "sidecar/model/relation.h"

namespace varve::types {

// Whether equal values of a text-form type have equal texts, so that its text can stand for it in a key. Not
// so for citext (no case), numrange (1.0 and 1.00), composites and types nothing is known of. Errors:
// kInvalidArgument saying so, without the column.
base::Status CheckTextIdentity(const model::Relation& relation, uint32_t type_oid);

// Whether a value has the same text whenever it is printed: not so where it names an object (regclass,
// regrole, …), which may get another name. Errors: kInvalidArgument saying so, without the column.
base::Status CheckLastingText(const model::Relation& relation, uint32_t type_oid);

// The text as PostgreSQL would print it, for spellings that it would print in another way (10.0.0.1/32,
// 08-00-2B-01-02-03). Errors: kInvalidArgument for text that is no value or that only PostgreSQL can read.
base::Result<std::string> ParseTextForm(uint32_t type_oid, std::string_view text);

}  // namespace varve::types
