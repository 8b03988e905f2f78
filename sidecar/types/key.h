// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sidecar/base/result.h"
#include "sidecar/model/relation.h"
#include "sidecar/model/row_image.h"

namespace varve::types {

// Key bytes: order-preserving (memcmp order = the type's btree order; text by its bytes), prefix-free, and
// equal iff the type's `=` says equal (numeric 1.0 and 1.00 are one key); jsonb and types in text form have
// equality only, their order is that of the bytes. Persisted format; the table of encodings is in
// scalar_key.cc.

// The key of a row from its cells (by attnum - 1).
// Errors: kInvalidArgument naming the column when the relation has no key, or a key cell is absent, unchanged
// or (in a primary key) null, or its bytes are no value of its type.
base::Result<std::string> EncodeKey(const model::Relation& relation, const std::vector<model::Cell>& cells);

// The key that a person wrote: JSON `42`, `"a"`, `[1,"x"]`, `{"id":1}`; text that is not JSON is taken as a
// string when the key is one text-like column. Strings are read by the type's input rules. Errors:
// kInvalidArgument naming the column and its type when a value does not fit, a column is missing or unknown.
base::Result<std::string> ParseKey(const model::Relation& relation, std::string_view text);

// Appends the key as JSON for people and for continuing a scan: a scalar for one column, an array for
// several. Takes the row's cells, not key bytes. What it appends, ParseKey reads back to the same key.
base::Status AppendKeyJson(const model::Relation& relation, const std::vector<model::Cell>& cells,
                           std::string* out);

// The value in the column's form that `text` (as psql would take it) stands for, for `--where column=value`.
// Errors: kInvalidArgument naming the column and its type.
base::Result<std::string> ParseValue(const model::Relation& relation, const model::Column& column,
                                     std::string_view text);

// Whether two values of the column are equal under the type's `=`.
// Errors: kInvalidArgument for a type without equality (json, point, ...) or bytes that are no value.
base::Result<bool> ValuesEqual(const model::Relation& relation, const model::Column& column,
                               std::string_view a, std::string_view b);

// Whether a value of `from` can be shown as a value of `to` without conversion: the same type, or a change
// for which ALTER TABLE does not rewrite and both forms print alike (varchar and text, numeric and varchar
// typmods grown).
bool SameRepresentation(const model::Column& from, const model::Column& to);

// Whether both are integers, of whatever width: a value that both have has the same key bytes in both.
bool AreIntegers(const model::Column& a, const model::Column& b);

}  // namespace varve::types
