// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sidecar/base/result.h"

namespace varve::http {

struct ResponseHead {
  int status = 200;
  std::string_view content_type = "application/json";
  std::vector<std::pair<std::string_view, std::string>> headers;
};

// Where a handler writes its answer: a connection, or a string in tests. One thread. Writing waits for the
// reader, within bounds. Every method fails with kUnavailable when the reader is gone or too slow; then the
// answer is over.
class ResponseWriter {
 public:
  virtual ~ResponseWriter() = default;
  // A whole answer of known length.
  virtual base::Status Send(const ResponseHead& head, std::string_view body) = 0;
  // The start of an answer of unknown length, its parts, its end. Without the end the connection is cut, so
  // that the reader sees that something is missing.
  virtual base::Status Begin(const ResponseHead& head) = 0;
  virtual base::Status Write(std::string_view part) = 0;
  virtual base::Status End() = 0;
};

}  // namespace varve::http
