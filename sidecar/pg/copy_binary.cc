// SPDX-License-Identifier: PostgreSQL
#include "sidecar/pg/copy_binary.h"

#include <fmt/format.h>

#include "sidecar/pg/big_endian.h"

namespace varve::pg {
namespace {

using base::ErrorCode;
using base::Fail;

constexpr std::string_view kSignature("PGCOPY\n\377\r\n\0", 11);
constexpr size_t kFixedHeaderBytes = 11 + 4 + 4;  // signature, flags, length of the extension
constexpr int32_t kFieldBytesMax = 0x3FFFFFFF;    // MaxAllocSize: no value is larger
constexpr uint32_t kCriticalFlags = 0xFFFF0000U;  // bit 16, WITH OIDS, is of servers before 12

tl::unexpected<base::Error> Malformed(std::string what) {
  return Fail(ErrorCode::kInvalidArgument, "malformed binary COPY: " + std::move(what));
}

}  // namespace

void CopyBinaryReader::Feed(std::string_view bytes) {
  buffer_.erase(0, at_);
  at_ = 0;
  buffer_.append(bytes);
}

base::Result<CopyBinaryReader::State> CopyBinaryReader::ReadHeader() {
  const std::string_view bytes = rest();
  if (bytes.substr(0, kSignature.size()) != kSignature.substr(0, bytes.size())) {
    return Malformed("it does not begin with PGCOPY");
  }
  if (bytes.size() < kFixedHeaderBytes) return State::kNeedMore;
  const auto flags = ReadBigEndian<uint32_t>(bytes, kSignature.size());
  if ((flags & kCriticalFlags) != 0) return Malformed(fmt::format("unknown critical flags {:#x}", flags));
  const auto extension = ReadBigEndian<int32_t>(bytes, kSignature.size() + 4);
  if (extension < 0 || extension > kFieldBytesMax) {
    return Malformed(fmt::format("a header extension of {} bytes", extension));
  }
  const size_t header_bytes = kFixedHeaderBytes + static_cast<size_t>(extension);
  if (bytes.size() < header_bytes) return State::kNeedMore;
  at_ += header_bytes;
  header_read_ = true;
  return State::kTuple;
}

base::Result<CopyBinaryReader::State> CopyBinaryReader::Next() {
  if (ended_) {
    if (!rest().empty()) return Malformed("bytes after its trailer");
    return State::kEnd;
  }
  if (!header_read_) {
    ASSIGN_OR_RETURN(const State state, ReadHeader());
    if (state == State::kNeedMore) return state;
  }
  const std::string_view bytes = rest();
  if (bytes.size() < 2) return State::kNeedMore;
  const auto count = ReadBigEndian<int16_t>(bytes, 0);
  size_t offset = 2;
  if (count == -1) {
    at_ += offset;
    ended_ = true;
    return Next();
  }
  if (count < 0 || static_cast<size_t>(count) != fields_.size()) {
    return Malformed(fmt::format("a tuple of {} fields where {} were asked for", count, fields_.size()));
  }
  for (CopyField& field : fields_) {
    if (bytes.size() - offset < 4) return State::kNeedMore;
    const auto length = ReadBigEndian<int32_t>(bytes, offset);
    offset += 4;
    field.is_null = length == -1;
    field.value = {};
    if (field.is_null) continue;
    if (length < 0 || length > kFieldBytesMax) return Malformed(fmt::format("a field of {} bytes", length));
    if (bytes.size() - offset < static_cast<size_t>(length)) return State::kNeedMore;
    field.value = bytes.substr(offset, static_cast<size_t>(length));
    offset += static_cast<size_t>(length);
  }
  at_ += offset;
  return State::kTuple;
}

base::Status CopyBinaryReader::Finish() const {
  if (!ended_) return Malformed("it ends before its trailer");
  if (!rest().empty()) return Malformed("bytes after its trailer");
  return {};
}

}  // namespace varve::pg
