// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sidecar/base/result.h"
#include "sidecar/model/relation.h"
#include "sidecar/model/row_image.h"

namespace varve::http {

// Lines as COPY … (FORMAT csv, HEADER) writes them: CopyAttributeOutCSV in src/backend/commands/copyto.c.

// Appends one field; `alone`: it is the only one of its line.
void AppendCsvField(std::string_view text, bool alone, std::string* out);
// Appends the line with the columns' names.
void AppendCsvHeader(const std::vector<const model::Column*>& columns, std::string* out);
// Appends a row's line: null is nothing, an empty string is "". `cells` is by attnum - 1.
// Errors: those of types::AppendValueText, kInternal for an unchanged cell.
base::Status AppendCsvRow(const model::Relation& relation, const std::vector<const model::Column*>& columns,
                          const std::vector<model::Cell>& cells, std::string* out);

}  // namespace varve::http
