// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sidecar/base/result.h"

namespace varve::http {

enum class Method : uint8_t { kGet, kPost, kDelete, kOther };
std::string_view MethodName(Method method);

// How a list is written, as Accept asks for it.
enum class Format : uint8_t { kJson, kNdjson, kCsv };
// The first of the three media types that Accept names; JSON when it names none of them.
Format FormatOf(std::string_view accept);

struct Parameter {
  std::string name;
  std::string value;
};

// One request as handlers see it: everything percent-decoded, nothing interpreted.
struct Request {
  Method method = Method::kGet;
  std::string target;
  std::vector<std::string> path;  // segments
  std::vector<Parameter> parameters;
  std::string accept;
  std::string authorization;
  std::string content_type;
  std::string host;
  std::string body;
  bool tcp = false;                   // came over TCP, not the Unix socket
  std::vector<std::string> captures;  // what stood for the {…} of the route, in order

  // The parameter's value, nothing when it is not there. Errors: kInvalidArgument when it is there twice.
  base::Result<std::optional<std::string>> Find(std::string_view name) const;
  // Same, with a value for a parameter that is not there.
  base::Result<std::string> FindOr(std::string_view name, std::string_view otherwise) const;
  std::vector<std::string> FindAll(std::string_view name) const;
  // "true", "1", "yes", "on", or nothing behind the name; "false", "0", "no", "off"; false when absent.
  base::Result<bool> FindFlag(std::string_view name) const;
  // A whole number above 0; nothing when absent.
  base::Result<std::optional<uint64_t>> FindCount(std::string_view name) const;
  // Seconds, with decimals when wanted, up to `most`.
  base::Result<std::chrono::milliseconds> FindSeconds(std::string_view name,
                                                      std::chrono::milliseconds otherwise,
                                                      std::chrono::milliseconds most) const;
};

// Splits and decodes the request target into path and parameters.
// Errors: kInvalidArgument for anything but an absolute path with a query.
base::Status ParseTarget(std::string_view target, Request* request);

// The column names in a comma-separated list; a name with a comma or quote in it is written "in ""quotes""".
// Errors: kInvalidArgument for an empty name or an open quote.
base::Result<std::vector<std::string>> ParseColumnList(std::string_view text);

// "column=value" split at the first "=". Errors: kInvalidArgument without one.
base::Result<std::pair<std::string, std::string>> ParseCondition(std::string_view text);

}  // namespace varve::http
