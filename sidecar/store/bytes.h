// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace varve::store {

// Appends integers (big-endian, so that bytes sort as numbers do) and byte strings to a buffer.
class ByteWriter {
 public:
  explicit ByteWriter(std::string* out) : out_(out) {}

  ByteWriter& U8(uint8_t value);
  ByteWriter& U16(uint16_t value);
  ByteWriter& U32(uint32_t value);
  ByteWriter& U64(uint64_t value);
  // Signed, sign bit flipped: sorts as the number does.
  ByteWriter& I64(int64_t value);
  // Unsigned LEB128.
  ByteWriter& Varint(uint64_t value);
  // Varint length and the bytes.
  ByteWriter& String(std::string_view bytes);
  ByteWriter& Raw(std::string_view bytes);

 private:
  std::string* out_;
};

// Takes apart what ByteWriter wrote. After a read beyond the end every read gives 0 and ok() is false; the
// caller asks once at the end.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

  uint8_t U8();
  uint16_t U16();
  uint32_t U32();
  uint64_t U64();
  int64_t I64();
  uint64_t Varint();
  std::string_view String();
  // All that is left.
  std::string_view Rest();

  bool ok() const { return ok_; }
  size_t size() const { return rest_.size(); }
  // Everything was read and nothing is left.
  bool AtEnd() const { return ok_ && rest_.empty(); }

 private:
  uint64_t Fixed(size_t bytes);
  void Fail();

  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace varve::store
