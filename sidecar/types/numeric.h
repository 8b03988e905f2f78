// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sidecar/base/result.h"

namespace varve::types {

// A numeric, as NumericVar in src/backend/utils/adt/numeric.c: digits[i] counts 10000^(weight - i).
struct Numeric {
  enum class Kind : uint8_t { kFinite, kNaN, kInfinity, kMinusInfinity };
  Kind kind = Kind::kFinite;
  bool negative = false;
  int32_t weight = 0;
  uint16_t scale = 0;            // decimal digits shown after the point
  std::vector<uint16_t> digits;  // no zeros at either end; empty for 0
};

// Reads the send form. Errors: kInvalidArgument when the bytes are no numeric.
base::Status DecodeNumeric(std::string_view bytes, Numeric* numeric);

// Reads what numeric_in takes (blanks around it, exponents, NaN, Infinity, inf). Errors: kInvalidArgument.
base::Status ParseNumeric(std::string_view text, Numeric* numeric);

// Appends the send form.
void AppendNumericBinary(const Numeric& numeric, std::string* out);

// Appends what numeric_out prints. Errors: kInvalidArgument when `out` would grow beyond 1 GiB, where
// PostgreSQL's own texts end: a few bytes of exponent can ask for 131072 digits each.
base::Status AppendNumericText(const Numeric& numeric, std::string* out);

// Appends what is left of the text without zeros at the end of its fraction: equal numbers, equal text.
base::Status AppendNumericCanonical(const Numeric& numeric, std::string* out);

// Appends order-preserving, prefix-free bytes; equal numbers have equal bytes. Persisted: never change.
void AppendNumericKey(const Numeric& numeric, std::string* out);

// Appends the text of a number as it stands in jsonb: numeric_out(numeric_in(text)).
// Errors: kInvalidArgument.
base::Status AppendNumberJson(std::string_view text, std::string* out);

}  // namespace varve::types
