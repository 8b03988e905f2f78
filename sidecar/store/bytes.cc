// SPDX-License-Identifier: PostgreSQL
#include "sidecar/store/bytes.h"

namespace varve::store {
namespace {

constexpr uint64_t kSignBit = uint64_t{1} << 63;
constexpr int kVarintBytesMax = 10;

void PutFixed(std::string* out, uint64_t value, int bytes) {
  char buffer[sizeof(uint64_t)];
  for (int i = 0; i < bytes; ++i) buffer[i] = static_cast<char>(value >> (8 * (bytes - 1 - i)));
  out->append(buffer, static_cast<size_t>(bytes));
}

}  // namespace

ByteWriter& ByteWriter::U8(uint8_t value) {
  out_->push_back(static_cast<char>(value));
  return *this;
}

ByteWriter& ByteWriter::U16(uint16_t value) {
  PutFixed(out_, value, sizeof(value));
  return *this;
}

ByteWriter& ByteWriter::U32(uint32_t value) {
  PutFixed(out_, value, sizeof(value));
  return *this;
}

ByteWriter& ByteWriter::U64(uint64_t value) {
  PutFixed(out_, value, sizeof(value));
  return *this;
}

ByteWriter& ByteWriter::I64(int64_t value) { return U64(static_cast<uint64_t>(value) ^ kSignBit); }

ByteWriter& ByteWriter::Varint(uint64_t value) {
  while (value >= 0x80) {
    out_->push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out_->push_back(static_cast<char>(value));
  return *this;
}

ByteWriter& ByteWriter::String(std::string_view bytes) {
  Varint(bytes.size());
  return Raw(bytes);
}

ByteWriter& ByteWriter::Raw(std::string_view bytes) {
  out_->append(bytes);
  return *this;
}

void ByteReader::Fail() {
  ok_ = false;
  rest_ = {};
}

uint64_t ByteReader::Fixed(size_t bytes) {
  if (rest_.size() < bytes) {
    Fail();
    return 0;
  }
  uint64_t value = 0;
  for (size_t i = 0; i < bytes; ++i) value = (value << 8) | static_cast<uint8_t>(rest_[i]);
  rest_.remove_prefix(bytes);
  return value;
}

uint8_t ByteReader::U8() { return static_cast<uint8_t>(Fixed(sizeof(uint8_t))); }
uint16_t ByteReader::U16() { return static_cast<uint16_t>(Fixed(sizeof(uint16_t))); }
uint32_t ByteReader::U32() { return static_cast<uint32_t>(Fixed(sizeof(uint32_t))); }
uint64_t ByteReader::U64() { return Fixed(sizeof(uint64_t)); }

int64_t ByteReader::I64() {
  const uint64_t bits = Fixed(sizeof(uint64_t));
  return ok_ ? static_cast<int64_t>(bits ^ kSignBit) : 0;
}

uint64_t ByteReader::Varint() {
  uint64_t value = 0;
  for (int i = 0; i < kVarintBytesMax; ++i) {
    if (rest_.empty()) break;
    const auto byte = static_cast<uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    value |= uint64_t{byte & 0x7FU} << (7 * i);
    if ((byte & 0x80U) == 0) return value;
  }
  Fail();
  return 0;
}

std::string_view ByteReader::String() {
  const uint64_t length = Varint();
  if (!ok_ || length > rest_.size()) {
    Fail();
    return {};
  }
  const std::string_view bytes = rest_.substr(0, length);
  rest_.remove_prefix(length);
  return bytes;
}

std::string_view ByteReader::Rest() {
  const std::string_view bytes = rest_;
  rest_ = {};
  return bytes;
}

}  // namespace varve::store
