// SPDX-License-Identifier: PostgreSQL
#include "sidecar/pg/copy_binary.h"

#include <random>
#include <string>

#include "tests/support/catch.h"

namespace varve::pg {
namespace {

using State = CopyBinaryReader::State;

std::string BigEndian16(int16_t value) {
  return {static_cast<char>(value >> 8), static_cast<char>(value & 0xFF)};
}
std::string BigEndian32(int32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>((value >> shift) & 0xFF));
  return bytes;
}
std::string Header(int32_t flags = 0, const std::string& extension = "") {
  return std::string("PGCOPY\n\377\r\n\0", 11) + BigEndian32(flags) +
         BigEndian32(static_cast<int32_t>(extension.size())) + extension;
}
std::string Field(const std::string& value) {
  return BigEndian32(static_cast<int32_t>(value.size())) + value;
}

const std::string kNull = BigEndian32(-1);
const std::string kTrailer = BigEndian16(-1);

// What the reader makes of bytes that arrive in pieces of this size, one line a tuple.
std::string ReadAll(const std::string& bytes, size_t piece, size_t field_count) {
  CopyBinaryReader reader(field_count);
  std::string lines;
  for (size_t at = 0; at < bytes.size(); at += piece) {
    reader.Feed(std::string_view(bytes).substr(at, piece));
    for (;;) {
      const auto state = reader.Next();
      if (!state) return state.error().message;
      if (*state != State::kTuple) break;
      for (const CopyField& field : reader.fields()) {
        lines += field.is_null ? "\\N" : std::string(field.value);
        lines += '|';
      }
      lines += '\n';
    }
  }
  const auto finished = reader.Finish();
  return finished ? lines : finished.error().message;
}

TEST_CASE("tuples are the same however the bytes are cut") {
  const std::string bytes = Header(0, "extension") + BigEndian16(2) + Field("a") + kNull + BigEndian16(2) +
                            Field("") + Field(std::string("\0b", 2)) + kTrailer;
  const std::string wanted = std::string("a|\\N|\n|\0b|\n", 11);
  for (size_t piece = 1; piece <= bytes.size(); ++piece) {
    INFO("pieces of " << piece);
    CHECK(ReadAll(bytes, piece, 2) == wanted);
  }
}

TEST_CASE("a copy of no rows has a header and a trailer") {
  CHECK(ReadAll(Header() + kTrailer, 100, 3).empty());
}

TEST_CASE("a copy that ends before its trailer is not taken for complete") {
  const std::string bytes = Header() + BigEndian16(1) + Field("a");
  CHECK(ReadAll(bytes, 100, 1) == "malformed binary COPY: it ends before its trailer");
  CHECK(ReadAll(Header().substr(0, 15), 100, 1) == "malformed binary COPY: it ends before its trailer");
}

TEST_CASE("forged lengths are refused or waited for, never allocated") {
  CHECK(ReadAll(Header() + BigEndian16(1) + BigEndian32(-2), 100, 1) ==
        "malformed binary COPY: a field of -2 bytes");
  CHECK(ReadAll(Header() + BigEndian16(1) + BigEndian32(INT32_MAX), 100, 1) ==
        "malformed binary COPY: a field of 2147483647 bytes");
  CHECK(ReadAll(Header() + BigEndian16(1) + BigEndian32(0x3FFFFFFF) + "x", 100, 1) ==
        "malformed binary COPY: it ends before its trailer");
  CHECK(ReadAll(Header() + BigEndian16(2), 100, 1) ==
        "malformed binary COPY: a tuple of 2 fields where 1 were asked for");
  CHECK(ReadAll(Header() + BigEndian16(-2), 100, 1) ==
        "malformed binary COPY: a tuple of -2 fields where 1 were asked for");
  CHECK(ReadAll(Header().substr(0, 15) + BigEndian32(-1), 100, 1) ==
        "malformed binary COPY: a header extension of -1 bytes");
  CHECK(ReadAll(Header(1 << 16) + kTrailer, 100, 1) ==
        "malformed binary COPY: unknown critical flags 0x10000");
  CHECK(ReadAll(Header() + kTrailer + "x", 100, 1) == "malformed binary COPY: bytes after its trailer");
  CHECK(ReadAll("PGCOPX", 100, 1) == "malformed binary COPY: it does not begin with PGCOPY");
}

TEST_CASE("random bytes behind a header never crash the reader") {
  const auto seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 2000; ++round) {
    std::string bytes = Header();
    const size_t size = random() % 64;
    for (size_t i = 0; i < size; ++i) bytes.push_back(static_cast<char>(random() % 4 == 0 ? random() : 0));
    (void)ReadAll(bytes, 1 + random() % 16, random() % 3);
  }
}

}  // namespace
}  // namespace varve::pg
