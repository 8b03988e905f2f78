// SPDX-License-Identifier: PostgreSQL
// Bytes as they may come from a socket: a whole session of up to eight messages, read by the decoder, and
// each row image that it lets through, read against its relation version; and what is read before that.
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "sidecar/model/row_image.h"
#include "sidecar/types/json.h"
#include "sidecar/types/key.h"
#include "sidecar/wire/decoder.h"
#include "sidecar/wire/head.h"

namespace {

constexpr int kMessagesMax = 8;

void ReadImage(const varve::model::Relation& relation, std::string_view image) {
  const auto cells = varve::model::DecodeImage(relation, image);
  if (!cells) return;
  std::string json;
  (void)varve::types::AppendRowJson(relation, *cells, &json);
  (void)varve::types::EncodeKey(relation, *cells);
}

void ReadSession(std::string_view rest, bool allow_staged) {
  varve::wire::Decoder decoder(varve::wire::SessionId{1, 2}, allow_staged);
  for (int i = 0; i < kMessagesMax && rest.size() >= 4; ++i) {
    uint32_t body = 0;
    std::memcpy(&body, rest.data(), sizeof body);
    const size_t length = std::min<size_t>(rest.size(), size_t{body} + 4);
    const auto batch = decoder.Decode(rest.substr(0, length));
    if (!batch) break;
    for (const varve::model::Change& change : batch->changes) {
      if (change.relation == nullptr) continue;
      ReadImage(*change.relation, change.new_image);
      ReadImage(*change.relation, change.old_image);
    }
    rest.remove_prefix(length);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view session(reinterpret_cast<const char*>(data), size);
  ReadSession(session, false);
  ReadSession(session, true);
  (void)varve::wire::ReadHead(session);
  (void)varve::wire::ReadMarker(session, varve::wire::SessionId{1, 2});
  return 0;
}
