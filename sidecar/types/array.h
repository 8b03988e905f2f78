// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sidecar/base/result.h"

namespace varve::types {

// Shape of an array, as in src/include/utils/array.h.
struct ArrayShape {
  static constexpr size_t kDimensionsMax = 6;  // MAXDIM
  size_t dimensions = 0;                       // 0: the empty array
  std::array<int32_t, kDimensionsMax> lengths{};
  std::array<int32_t, kDimensionsMax> lower_bounds{};
};

// The elements in storage order; none for NULL. Elements borrow from the bytes, or from `unescaped`.
struct ArrayValue {
  ArrayShape shape;
  std::vector<std::optional<std::string_view>> elements;
};

// Reads array_send's bytes. Errors: kInvalidArgument when they are no array.
base::Status DecodeArray(std::string_view bytes, ArrayValue* array);

// Appends array_send's bytes.
void AppendArrayBinary(const ArrayValue& array, uint32_t element_oid, std::string* out);

// Reads the text form, e.g. `[0:1]={a,"b c"}`; `text_bytes` receives the elements' bytes, which `array`
// borrows. Errors: kInvalidArgument when the text is no array literal.
base::Status ParseArrayLiteral(std::string_view text, char delimiter, ArrayValue* array,
                               std::string* text_bytes);

// Appends the prefix of bounds that array_out prints where one of them is not 1.
void AppendArrayBounds(const ArrayShape& shape, std::string* out);

// Appends an element's text as array_out does, quoted where needed.
void AppendArrayElement(std::string_view text, std::string* out);

// Appends the elements between the brackets of their dimensions: {{1,2},{3,4}} in text, [[1, 2], [3, 4]] in
// JSON. `append` writes one element and returns a Status.
template <typename AppendElement>
base::Status AppendNested(const ArrayValue& array, std::string_view brackets, std::string_view separator,
                          AppendElement append, std::string* out) {
  const ArrayShape& shape = array.shape;
  if (array.elements.empty()) {
    out->append(brackets);
    return {};
  }
  std::array<int32_t, ArrayShape::kDimensionsMax> at{};
  out->append(shape.dimensions, brackets[0]);
  for (size_t i = 0; i < array.elements.size(); ++i) {
    RETURN_IF_ERROR(append(array.elements[i], out));
    size_t closed = 0;  // dimensions that end behind this element
    while (closed < shape.dimensions) {
      const size_t dimension = shape.dimensions - 1 - closed;
      if (++at[dimension] < shape.lengths[dimension]) break;
      at[dimension] = 0;
      ++closed;
    }
    out->append(closed, brackets[1]);
    if (closed < shape.dimensions) out->append(separator).append(closed, brackets[0]);
  }
  return {};
}

}  // namespace varve::types
