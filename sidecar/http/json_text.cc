// SPDX-License-Identifier: PostgreSQL
#include "sidecar/http/json_text.h"

#include <fmt/format.h>

namespace varve::http {
namespace {

// The bytes of the UTF-8 sequence at the front of `text`, 0 when it is none.
size_t SequenceLength(std::string_view text) {
  const auto byte = [&text](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  const size_t length = lead < 0x80                    ? 1
                        : lead >= 0xC2 && lead <= 0xDF ? 2
                        : (lead & 0xF0) == 0xE0        ? 3
                        : lead >= 0xF0 && lead <= 0xF4 ? 4
                                                       : 0;
  if (length == 0 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  if (lead == 0xE0 && byte(1) < 0xA0) return 0;
  if (lead == 0xED && byte(1) > 0x9F) return 0;
  if (lead == 0xF0 && byte(1) < 0x90) return 0;
  if (lead == 0xF4 && byte(1) > 0x8F) return 0;
  return length;
}

void AppendEscaped(char c, std::string* out) {
  switch (c) {
    case '"': *out += "\\\""; return;
    case '\\': *out += "\\\\"; return;
    case '\n': *out += "\\n"; return;
    case '\r': *out += "\\r"; return;
    case '\t': *out += "\\t"; return;
    case '\b': *out += "\\b"; return;
    case '\f': *out += "\\f"; return;
    default: break;
  }
  if (static_cast<unsigned char>(c) < 0x20) {
    *out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
  } else {
    *out += c;
  }
}

}  // namespace

void AppendJsonString(std::string_view text, std::string* out) {
  *out += '"';
  while (!text.empty()) {
    const size_t length = SequenceLength(text);
    if (length == 1) {
      AppendEscaped(text.front(), out);
    } else if (length == 0) {
      *out += "\xEF\xBF\xBD";
    } else {
      out->append(text.substr(0, length));
    }
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  *out += '"';
}

void AppendJsonName(std::string_view name, std::string* out) {
  AppendJsonString(name, out);
  *out += ':';
}

void AppendPointMembers(const history::ReadPoint& point, std::string* out) {
  *out += fmt::format(R"("position":"{}","time":"{}")", base::FormatPosition(point.position),
                      base::FormatTimestamp(point.commit_time));
  if (!point.xid) return;
  *out += fmt::format(R"(,"xid":{})", point.xid->xid());
  if (point.xid->epoch() != 0) *out += fmt::format(R"(,"epoch":{})", point.xid->epoch());
}

void AppendCountMembers(const history::TableCounts& counts, std::string* out) {
  *out += fmt::format(R"("inserts":{},"updates":{},"deletes":{},"truncates":{},"definitions":{})",
                      counts.inserts, counts.updates, counts.deletes, counts.truncates, counts.definitions);
}

}  // namespace varve::http
