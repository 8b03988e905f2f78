// SPDX-License-Identifier: PostgreSQL
#include "sidecar/wire/head.h"

#include <cstring>

#include <fmt/format.h>

#include "sidecar/wire/malformed.h"
#include "stream_generated.h"

namespace varve::wire {
namespace {

constexpr size_t kPrefixBytes = 4;
constexpr size_t kIdentifierBytes = 4;
constexpr std::string_view kMarkerMagic = "VRVM";
constexpr size_t kMarkerBytes = 28;

// The little-endian number at any place and alignment; nothing outside of the message.
template <typename T>
std::optional<T> NumberAt(std::string_view message, uint64_t offset) {
  if (offset > message.size() || message.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, message.data() + offset, sizeof(T));
  return flatbuffers::EndianScalar(value);
}

// Where a field of the table lies; 0: it has its default value.
std::optional<uint64_t> FieldAt(std::string_view message, uint64_t table, uint16_t field) {
  const auto back = NumberAt<int32_t>(message, table);
  if (!back) return std::nullopt;
  const int64_t vtable = static_cast<int64_t>(table) - *back;
  if (vtable < 0) return std::nullopt;
  const auto size = NumberAt<uint16_t>(message, static_cast<uint64_t>(vtable));
  if (!size) return std::nullopt;
  if (*size < field + sizeof(uint16_t)) return 0;
  const auto offset = NumberAt<uint16_t>(message, static_cast<uint64_t>(vtable) + field);
  if (!offset) return std::nullopt;
  return *offset == 0 ? 0 : table + *offset;
}

uint64_t BigEndian(std::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < sizeof(value); ++i) value = (value << 8) | static_cast<uint8_t>(bytes[i]);
  return value;
}

}  // namespace

std::optional<Head> ReadHead(std::string_view message) {
  const auto prefix = NumberAt<uint32_t>(message, 0);
  const auto root = NumberAt<uint32_t>(message, kPrefixBytes);
  if (!prefix || !root || uint64_t{*prefix} + kPrefixBytes != message.size()) return std::nullopt;
  if (message.substr(2 * kPrefixBytes, kIdentifierBytes) != stream::BatchIdentifier()) return std::nullopt;
  const uint64_t table = kPrefixBytes + uint64_t{*root};
  const auto session = FieldAt(message, table, stream::Batch::VT_SESSION);
  const auto sequence = FieldAt(message, table, stream::Batch::VT_SEQUENCE);
  if (!session || *session == 0 || !sequence) return std::nullopt;
  const auto high = NumberAt<uint64_t>(message, *session);
  const auto low = NumberAt<uint64_t>(message, *session + sizeof(uint64_t));
  const auto number = *sequence == 0 ? 0 : NumberAt<uint64_t>(message, *sequence);
  if (!high || !low || !number) return std::nullopt;
  return Head{{*high, *low}, *number};
}

base::Result<uint64_t> ReadMarker(std::string_view message, SessionId session) {
  if (message.size() != kMarkerBytes || message.substr(0, kMarkerMagic.size()) != kMarkerMagic) {
    return Malformed(fmt::format("{} bytes that are no marker of transport zmq", message.size()));
  }
  message.remove_prefix(kMarkerMagic.size());
  const SessionId named{BigEndian(message), BigEndian(message.substr(sizeof(uint64_t)))};
  if (named != session) {
    return Malformed(fmt::format("a marker of session {} where {} was asked for", FormatSession(named),
                                 FormatSession(session)));
  }
  return BigEndian(message.substr(2 * sizeof(uint64_t)));
}

}  // namespace varve::wire
