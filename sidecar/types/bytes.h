// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "sidecar/base/result.h"

namespace varve::types {

// Big-endian, as PostgreSQL's send functions write. REQUIRES: sizeof(Integer) bytes at `bytes`.
template <typename Integer>
Integer ReadBig(const char* bytes) {
  std::make_unsigned_t<Integer> value = 0;
  for (size_t i = 0; i < sizeof(Integer); ++i) {
    value =
        static_cast<std::make_unsigned_t<Integer>>((uint64_t{value} << 8) | static_cast<uint8_t>(bytes[i]));
  }
  return static_cast<Integer>(value);
}

template <typename Integer>
void AppendBig(std::string* out, Integer value) {
  const auto bits = static_cast<std::make_unsigned_t<Integer>>(value);
  for (size_t i = sizeof(Integer); i-- > 0;) out->push_back(static_cast<char>(bits >> (8 * i)));
}

// Takes a number from the front; false when there are too few bytes.
template <typename Integer>
[[nodiscard]] bool TakeBig(std::string_view* bytes, Integer* value) {
  if (bytes->size() < sizeof(Integer)) return false;
  *value = ReadBig<Integer>(bytes->data());
  bytes->remove_prefix(sizeof(Integer));
  return true;
}

// The inner functions of this module say what is wrong with a value; the rim puts the column before it.
inline tl::unexpected<base::Error> BadValue(std::string message) {
  return base::Fail(base::ErrorCode::kInvalidArgument, std::move(message));
}

// PostgreSQL's isspace() in the C locale.
inline bool IsSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
inline bool IsDigit(char c) { return c >= '0' && c <= '9'; }
inline char LowerAscii(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

inline std::string_view TrimSpace(std::string_view text) {
  while (!text.empty() && IsSpace(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsSpace(text.back())) text.remove_suffix(1);
  return text;
}

// ASCII letters of `text` compared without case; `lower` is in lower case.
inline bool EqualsIgnoringCase(std::string_view text, std::string_view lower) {
  if (text.size() != lower.size()) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (LowerAscii(text[i]) != lower[i]) return false;
  }
  return true;
}

}  // namespace varve::types
