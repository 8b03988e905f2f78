// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sidecar/base/result.h"
#include "sidecar/model/relation.h"
#include "sidecar/model/row_image.h"

namespace varve::types {

// Appends the row as PostgreSQL prints to_jsonb(row)::text under TimeZone UTC: keys in jsonb's order (length,
// then bytes; the last of equal names wins), jsonb's spacing and numbers. `cells` is by attnum - 1. Absent
// cells are left out. Follows jsonb_build / datum_to_jsonb in src/backend/utils/adt/jsonb.c and
// JsonEncodeDateTime in json.c. Errors: kInvalidArgument naming the column for a json value that to_jsonb
// refuses or bytes that are no value of the type; kInternal naming the column for an unchanged cell. On an
// error `out` holds what came before it.
base::Status AppendRowJson(const model::Relation& relation, const std::vector<model::Cell>& cells,
                           std::string* out);

// Appends one value (kind kValue) as to_jsonb prints it inside a row. Errors as above.
base::Status AppendValueJson(const model::Relation& relation, const model::Column& column,
                             std::string_view value, std::string* out);

// Appends what the type's output function prints under the pinned settings (for CSV and tables for people).
base::Status AppendValueText(const model::Relation& relation, const model::Column& column,
                             std::string_view value, std::string* out);

}  // namespace varve::types
