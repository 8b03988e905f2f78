// SPDX-License-Identifier: PostgreSQL
#include "sidecar/http/request.h"

#include <charconv>
#include <cmath>

#include <fmt/format.h>
#include <boost/url/parse.hpp>
#include <boost/url/url_view.hpp>

namespace varve::http {

using base::ErrorCode;
using base::Fail;

std::string_view MethodName(Method method) {
  switch (method) {
    case Method::kGet: return "GET";
    case Method::kPost: return "POST";
    case Method::kDelete: return "DELETE";
    case Method::kOther: return "other";
  }
  return "other";
}

Format FormatOf(std::string_view accept) {
  const size_t json = accept.find("application/json");
  const size_t ndjson = accept.find("application/x-ndjson");
  const size_t csv = accept.find("text/csv");
  if (ndjson < json && ndjson < csv) return Format::kNdjson;
  if (csv < json && csv < ndjson) return Format::kCsv;
  return Format::kJson;
}

base::Result<std::optional<std::string>> Request::Find(std::string_view name) const {
  std::optional<std::string> found;
  for (const Parameter& parameter : parameters) {
    if (parameter.name != name) continue;
    if (found) {
      return Fail(ErrorCode::kInvalidArgument, fmt::format("parameter {} is given more than once", name));
    }
    found = parameter.value;
  }
  return found;
}

base::Result<std::string> Request::FindOr(std::string_view name, std::string_view otherwise) const {
  ASSIGN_OR_RETURN(std::optional<std::string> found, Find(name));
  return found ? *std::move(found) : std::string(otherwise);
}

std::vector<std::string> Request::FindAll(std::string_view name) const {
  std::vector<std::string> values;
  for (const Parameter& parameter : parameters) {
    if (parameter.name == name) values.push_back(parameter.value);
  }
  return values;
}

base::Result<bool> Request::FindFlag(std::string_view name) const {
  ASSIGN_OR_RETURN(const std::optional<std::string> found, Find(name));
  if (!found) return false;
  for (const std::string_view yes : {"", "true", "1", "yes", "on"}) {
    if (*found == yes) return true;
  }
  for (const std::string_view no : {"false", "0", "no", "off"}) {
    if (*found == no) return false;
  }
  return Fail(ErrorCode::kInvalidArgument,
              fmt::format("parameter {} is true or false, not \"{}\"", name, *found));
}

base::Result<std::optional<uint64_t>> Request::FindCount(std::string_view name) const {
  ASSIGN_OR_RETURN(const std::optional<std::string> found, Find(name));
  if (!found) return std::nullopt;
  uint64_t value = 0;
  const char* end = found->data() + found->size();
  const auto parsed = std::from_chars(found->data(), end, value);
  if (parsed.ec != std::errc() || parsed.ptr != end || value == 0) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("parameter {} is a whole number above 0, not \"{}\"", name, *found));
  }
  return value;
}

base::Result<std::chrono::milliseconds> Request::FindSeconds(std::string_view name,
                                                             std::chrono::milliseconds otherwise,
                                                             std::chrono::milliseconds most) const {
  ASSIGN_OR_RETURN(const std::optional<std::string> found, Find(name));
  if (!found) return otherwise;
  double seconds = 0;
  const char* end = found->data() + found->size();
  const auto parsed = std::from_chars(found->data(), end, seconds);
  const double seconds_most = std::chrono::duration<double>(most).count();
  if (parsed.ec != std::errc() || parsed.ptr != end || !std::isfinite(seconds) || seconds < 0 ||
      seconds > seconds_most) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("parameter {} is a number of seconds from 0 to {}, not \"{}\"", name,
                            seconds_most, *found));
  }
  return std::chrono::milliseconds(std::llround(seconds * 1000));
}

base::Status ParseTarget(std::string_view target, Request* request) {
  request->target = target;
  const boost::urls::result<boost::urls::url_view> url =
      boost::urls::parse_origin_form(boost::core::string_view(target.data(), target.size()));
  if (!url) {
    return Fail(ErrorCode::kInvalidArgument,
                "the request target is no path with an optional query, percent-encoded as RFC 3986 says");
  }
  for (auto segment : url->segments()) request->path.emplace_back(segment.data(), segment.size());
  // A slash at the end makes an empty last segment: /v1/status/ is /v1/status.
  if (!request->path.empty() && request->path.back().empty()) request->path.pop_back();
  boost::urls::encoding_opts options;
  options.space_as_plus = true;
  for (auto parameter : url->params(options)) {
    request->parameters.push_back(Parameter{std::string(parameter.key.data(), parameter.key.size()),
                                            std::string(parameter.value.data(), parameter.value.size())});
  }
  const auto has_nul = [](std::string_view text) { return text.find('\0') != std::string_view::npos; };
  bool nul = false;
  for (const std::string& segment : request->path) nul = nul || has_nul(segment);
  for (const Parameter& parameter : request->parameters) {
    nul = nul || has_nul(parameter.name) || has_nul(parameter.value);
  }
  if (nul) return Fail(ErrorCode::kInvalidArgument, "the request target holds a NUL byte (%00)");
  return {};
}

base::Result<std::vector<std::string>> ParseColumnList(std::string_view text) {
  std::vector<std::string> names;
  size_t at = 0;
  while (true) {
    std::string name;
    if (at < text.size() && text[at] == '"') {
      for (++at;; ++at) {
        if (at >= text.size()) {
          return Fail(ErrorCode::kInvalidArgument, fmt::format("columns: a quote is left open in {}", text));
        }
        if (text[at] == '"') {
          if (at + 1 >= text.size() || text[at + 1] != '"') break;
          ++at;
        }
        name += text[at];
      }
      ++at;
      if (at < text.size() && text[at] != ',') {
        return Fail(ErrorCode::kInvalidArgument,
                    fmt::format("columns: a comma is missing behind a quoted name in {}", text));
      }
    } else {
      const size_t comma = std::min(text.find(',', at), text.size());
      name = text.substr(at, comma - at);
      at = comma;
    }
    if (name.empty()) {
      return Fail(ErrorCode::kInvalidArgument,
                  fmt::format("columns: a name is missing in \"{}\"; write them as a,b,c", text));
    }
    names.push_back(std::move(name));
    if (at >= text.size()) return names;
    ++at;
  }
}

base::Result<std::pair<std::string, std::string>> ParseCondition(std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    return Fail(
        ErrorCode::kInvalidArgument,
        fmt::format("where is column=value, not \"{}\"; give it several times for several columns", text));
  }
  return std::pair<std::string, std::string>(text.substr(0, equals), text.substr(equals + 1));
}

}  // namespace varve::http
