// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sidecar/base/result.h"
#include "sidecar/types/datetime.h"

namespace varve::types {

// Values of the types in oids.h's binary list and arrays of them, in their send form. `oid` is the base
// type's. Errors of all: kInvalidArgument, without the column, when the bytes are no value of the type.
// REQUIRES: FindBinaryType(oid) or FindElementOfArray(oid).

// Appends what the type's output function prints.
base::Status AppendBinaryText(uint32_t oid, std::string_view bytes, std::string* out);

// Appends the value as to_jsonb prints it inside a row.
base::Status AppendBinaryJson(uint32_t oid, std::string_view bytes, std::string* out);

// Appends the send form of what `text` stands for by the type's input rules; dates and times in ISO forms,
// bytea in hex.
base::Status ParseBinary(uint32_t oid, std::string_view text, std::string* out);

// Appends the key bytes of the value: order-preserving, prefix-free, equal iff the type's `=` says so. Also
// fails for json, which has no `=`.
base::Status AppendBinaryKey(uint32_t oid, std::string_view bytes, std::string* out);

// The text of a jsonb's send form, which starts with its version.
base::Result<std::string_view> JsonbText(std::string_view bytes);

// Fields of fixed-width send forms. REQUIRES: 12 or 16 bytes.
Timetz ReadTimetz(std::string_view bytes);
Interval ReadInterval(std::string_view bytes);

// Errors when a type of fixed width has another one.
base::Status CheckWidth(uint32_t oid, std::string_view bytes);

}  // namespace varve::types
