// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace varve::pg {

// The big-endian integer at `offset`. REQUIRES: it lies within `bytes`.
template <typename T>
T ReadBigEndian(std::string_view bytes, size_t offset) {
  uint64_t value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) value = (value << 8) | static_cast<uint8_t>(bytes[offset + i]);
  return static_cast<T>(value);
}

// Writes it to `out`, which has room.
template <typename T>
void WriteBigEndian(T value, char* out) {
  auto bits = static_cast<uint64_t>(value);
  for (size_t i = sizeof(T); i > 0; --i) {
    out[i - 1] = static_cast<char>(bits & 0xFF);
    bits >>= 8;
  }
}

}  // namespace varve::pg
