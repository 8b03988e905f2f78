// SPDX-License-Identifier: PostgreSQL
#include "sidecar/config/setting.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include <fmt/format.h>

#include "sidecar/bus/endpoint.h"
#include "sidecar/http/listener.h"
#include "sidecar/pg/connection.h"

namespace varve::config {

using base::ErrorCode;
using base::Fail;
using base::Status;

namespace {

Status ApplyTransport(const Value& value, Config* config) {
  if (value.text == "auto") {
    config->ingest.transport = ingest::TransportChoice::kAuto;
  } else if (value.text == "stream") {
    config->ingest.transport = ingest::TransportChoice::kStream;
  } else if (value.text == "zmq") {
    config->ingest.transport = ingest::TransportChoice::kZmq;
  } else {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("the transport is \"auto\", \"stream\" or \"zmq\", not \"{}\"", value.text));
  }
  return {};
}

Status ApplyEndpoint(const Value& value, Config* config) {
  RETURN_IF_ERROR(bus::CheckEndpoint(value.text));
  config->ingest.endpoint = value.text;
  return {};
}

Status ApplyDsn(const Value& value, Config* config) {
  if (const auto problem = pg::DsnProblem(value.text)) {
    return Fail(ErrorCode::kInvalidArgument, "the connection string cannot be read: " + *problem);
  }
  config->ingest.dsn = value.text;
  return {};
}

// Names of PostgreSQL are cut at 63 bytes; one that were cut here and not there would be another.
constexpr size_t kNameBytesMax = 63;

Status ApplyPublication(const Value& value, Config* config) {
  if (value.text.size() > kNameBytesMax) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("\"{}\" is no name of a publication: it has {} bytes, "
                            "at most {} are possible",
                            value.text, value.text.size(), kNameBytesMax));
  }
  config->ingest.publication = value.text;
  return {};
}

// As src/backend/replication/slot.c has it.
Status ApplySlot(const Value& value, Config* config) {
  const bool fits = std::all_of(value.text.begin(), value.text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
  if (!fits || value.text.size() > kNameBytesMax) {
    return Fail(
        ErrorCode::kInvalidArgument,
        fmt::format("\"{}\" is no name of a slot: it has lower case letters, digits and _, at most {}",
                    value.text, kNameBytesMax));
  }
  config->ingest.slot = value.text;
  return {};
}

Status ApplyListen(const Value& value, Config* config) {
  if (!value.text.empty()) {
    const auto address = http::ParseTcpAddress(value.text);
    if (!address) return Fail(address.error());
  }
  config->http.listen = value.text;
  return {};
}

Status ApplySocket(const Value& value, Config* config) {
  if (value.text.size() > http::kSocketPathBytesMax) {
    return Fail(ErrorCode::kInvalidArgument, fmt::format("the path has {} bytes, at most {} are possible",
                                                         value.text.size(), http::kSocketPathBytesMax));
  }
  config->http.socket = value.text;
  return {};
}

Status ApplyLogLevel(const Value& value, Config* config) {
  ASSIGN_OR_RETURN(config->log_level, base::ParseLogLevel(value.text));
  return {};
}

// A row whose value goes into a member as it is.
#define TEXT(section, key, kind, member)                                \
  Setting {                                                             \
    section, key, kind, 0, 0, [](const Value& v, Config* c) -> Status { \
      c->member = v.text;                                               \
      return {};                                                        \
    }                                                                   \
  }
#define INTEGER(section, key, least, most, member, unit)                                 \
  Setting {                                                                              \
    section, key, Kind::kInteger, least, most, [](const Value& v, Config* c) -> Status { \
      c->member = static_cast<decltype(c->member)>(v.integer * (unit));                  \
      return {};                                                                         \
    }                                                                                    \
  }

constexpr int64_t kMebibyte = int64_t{1} << 20;

const Setting kSettings[] = {
    {"source", "dsn", Kind::kText, 0, 0, ApplyDsn},
    {"source", "publication", Kind::kText, 0, 0, ApplyPublication},
    {"source", "slot", Kind::kText, 0, 0, ApplySlot},
    INTEGER("source", "copy_connections", 1, 16, ingest.copy_connections, 1),
    {"source", "allow_synchronous", Kind::kFlag, 0, 0,
     [](const Value& v, Config* c) -> Status {
       c->ingest.allow_synchronous = v.flag;
       return {};
     }},
    TEXT("store", "data_dir", Kind::kPath, history.data_dir),
    INTEGER("store", "memory_mb", 16, 1 << 20, history.memory_bytes, kMebibyte),
    INTEGER("store", "sync_group_ms", 1, 10'000, ingest.sync_group_ms, 1),
    {"ingest", "transport", Kind::kText, 0, 0, ApplyTransport},
    {"ingest", "endpoint", Kind::kText, 0, 0, ApplyEndpoint},
    {"http", "socket", Kind::kPath, 0, 0, ApplySocket},
    {"http", "listen", Kind::kText, 0, 0, ApplyListen},
    TEXT("http", "token_file", Kind::kPath, http.token_file),
    {"log", "level", Kind::kText, 0, 0, ApplyLogLevel},
};

#undef TEXT
#undef INTEGER

size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j < row.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t change = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, change}));
    }
  }
  return row[b.size()];
}

}  // namespace

std::span<const Setting> Settings() { return kSettings; }

const Setting* FindSetting(std::string_view section, std::string_view key) {
  for (const Setting& setting : kSettings) {
    if (setting.section == section && setting.key == key) return &setting;
  }
  return nullptr;
}

bool IsSection(std::string_view name) {
  return std::any_of(std::begin(kSettings), std::end(kSettings),
                     [name](const Setting& setting) { return setting.section == name; });
}

Status Apply(const Setting& setting, const Value& value, Config* config) {
  if (setting.kind == Kind::kInteger && (value.integer < setting.least || value.integer > setting.most)) {
    return Fail(ErrorCode::kInvalidArgument, fmt::format("{} is out of range: {} to {} are possible",
                                                         value.integer, setting.least, setting.most));
  }
  if (setting.kind == Kind::kPath && !value.text.empty() && value.text.front() != '/') {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("\"{}\" is a relative path: write it from the root (/)", value.text));
  }
  return setting.apply(value, config);
}

base::Result<Value> ValueFromText(const Setting& setting, const std::string& text) {
  Value value;
  value.text = text;
  if (setting.kind == Kind::kInteger) {
    const char* end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data(), end, value.integer);
    if (parsed.ec != std::errc() || parsed.ptr != end || text.empty()) {
      return Fail(ErrorCode::kInvalidArgument, fmt::format("\"{}\" is no whole number", text));
    }
  }
  if (setting.kind == Kind::kFlag) {
    if (text != "true" && text != "false") {
      return Fail(ErrorCode::kInvalidArgument, fmt::format("\"{}\" is neither true nor false", text));
    }
    value.flag = text == "true";
  }
  return value;
}

std::string NearestSetting(std::string_view section, std::string_view key) {
  const std::string written = fmt::format("{}.{}", section, key);
  std::string nearest;
  size_t distance = SIZE_MAX;
  for (const Setting& setting : kSettings) {
    std::string name = fmt::format("{}.{}", setting.section, setting.key);
    // The right key in the wrong section is nearer than any misspelling.
    const size_t here = setting.key == key ? 1 : EditDistance(written, name);
    if (here >= distance) continue;
    distance = here;
    nearest = std::move(name);
  }
  return nearest;
}

std::optional<std::string> LaterSetting(std::string_view section) {
  if (section == "query") return "belongs to the SQL interface, which is not available in this version";
  return std::nullopt;
}

}  // namespace varve::config
