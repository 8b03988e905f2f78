// SPDX-License-Identifier: PostgreSQL
#include "sidecar/types/array.h"

#include <algorithm>
#include <limits>

#include "sidecar/types/bytes.h"

namespace varve::types {
namespace {

tl::unexpected<base::Error> Malformed() { return BadValue("the bytes are no array"); }

base::Status DecodeShape(std::string_view* bytes, ArrayShape* shape, uint64_t* count) {
  int32_t dimensions = 0;
  int32_t has_nulls = 0;
  uint32_t element_oid = 0;
  if (!TakeBig(bytes, &dimensions) || !TakeBig(bytes, &has_nulls) || !TakeBig(bytes, &element_oid) ||
      dimensions < 0 || dimensions > static_cast<int32_t>(ArrayShape::kDimensionsMax)) {
    return Malformed();
  }
  shape->dimensions = static_cast<size_t>(dimensions);
  *count = dimensions == 0 ? 0 : 1;
  for (size_t i = 0; i < shape->dimensions; ++i) {
    if (!TakeBig(bytes, &shape->lengths[i]) || !TakeBig(bytes, &shape->lower_bounds[i])) return Malformed();
    const int64_t last = int64_t{shape->lower_bounds[i]} + shape->lengths[i] - 1;
    if (shape->lengths[i] < 0 || last > std::numeric_limits<int32_t>::max()) return Malformed();
    // Six lengths below 2^31 overflow 64 bits; no more elements than bytes can be there anyway.
    *count = std::min<uint64_t>(*count * static_cast<uint64_t>(shape->lengths[i]), uint64_t{1} << 32);
  }
  return {};
}

bool NeedsQuotes(std::string_view text) {
  if (text.empty() || EqualsIgnoringCase(text, "null")) return true;
  return std::any_of(text.begin(), text.end(), [](char c) {
    return c == '"' || c == '\\' || c == '{' || c == '}' || c == ',' || IsSpace(c);
  });
}

}  // namespace

base::Status DecodeArray(std::string_view bytes, ArrayValue* array) {
  *array = ArrayValue{};
  uint64_t count = 0;
  RETURN_IF_ERROR(DecodeShape(&bytes, &array->shape, &count));
  if (count > bytes.size() / sizeof(int32_t)) return Malformed();
  array->elements.reserve(count);
  for (uint64_t i = 0; i < count; ++i) {
    int32_t length = 0;
    if (!TakeBig(&bytes, &length) || length < -1) return Malformed();
    if (length == -1) {
      array->elements.emplace_back(std::nullopt);
      continue;
    }
    if (bytes.size() < static_cast<size_t>(length)) return Malformed();
    array->elements.emplace_back(bytes.substr(0, static_cast<size_t>(length)));
    bytes.remove_prefix(static_cast<size_t>(length));
  }
  return bytes.empty() ? base::Status{} : Malformed();
}

void AppendArrayBinary(const ArrayValue& array, uint32_t element_oid, std::string* out) {
  const bool has_nulls = std::any_of(array.elements.begin(), array.elements.end(),
                                     [](const auto& element) { return !element.has_value(); });
  AppendBig(out, static_cast<uint32_t>(array.shape.dimensions));
  AppendBig(out, static_cast<uint32_t>(has_nulls ? 1 : 0));
  AppendBig(out, element_oid);
  for (size_t i = 0; i < array.shape.dimensions; ++i) {
    AppendBig(out, array.shape.lengths[i]);
    AppendBig(out, array.shape.lower_bounds[i]);
  }
  for (const auto& element : array.elements) {
    AppendBig(out, element ? static_cast<int32_t>(element->size()) : int32_t{-1});
    if (element) out->append(*element);
  }
}

void AppendArrayBounds(const ArrayShape& shape, std::string* out) {
  const auto* end = shape.lower_bounds.begin() + shape.dimensions;
  if (std::all_of(shape.lower_bounds.begin(), end, [](int32_t bound) { return bound == 1; })) return;
  for (size_t i = 0; i < shape.dimensions; ++i) {
    const int64_t low = shape.lower_bounds[i];
    out->append(1, '[').append(std::to_string(low)).append(1, ':');
    out->append(std::to_string(low + shape.lengths[i] - 1)).append(1, ']');
  }
  out->push_back('=');
}

void AppendArrayElement(std::string_view text, std::string* out) {
  if (!NeedsQuotes(text)) {
    out->append(text);
    return;
  }
  out->push_back('"');
  for (const char c : text) {
    if (c == '"' || c == '\\') out->push_back('\\');
    out->push_back(c);
  }
  out->push_back('"');
}

}  // namespace varve::types
