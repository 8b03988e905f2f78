// SPDX-License-Identifier: PostgreSQL
#include "sidecar/http/routes.h"

#include <algorithm>
#include <initializer_list>

#include <fmt/format.h>

namespace varve::http {

using base::ErrorCode;
using base::Fail;

namespace {

constexpr Route Make(Method method, std::string_view pattern, Handler handler,
                     std::initializer_list<std::string_view> parameters,
                     std::initializer_list<ErrorCode> errors) {
  Route route{method, pattern, handler, {}, {}, errors.size()};
  std::copy(parameters.begin(), parameters.end(), route.parameters.begin());
  std::copy(errors.begin(), errors.end(), route.errors_of_kind.begin());
  return route;
}

constexpr Route MakeOpen(std::string_view pattern, Handler handler, std::initializer_list<ErrorCode> errors) {
  Route route = Make(Method::kGet, pattern, handler, {}, errors);
  route.open = true;
  return route;
}

constexpr ErrorCode kNotTracked = ErrorCode::kNotTracked;
constexpr ErrorCode kNotFound = ErrorCode::kNotFound;
constexpr ErrorCode kUnknown = ErrorCode::kUnknownReference;
constexpr ErrorCode kBefore = ErrorCode::kBeforeHistory;
constexpr ErrorCode kFuture = ErrorCode::kInTheFuture;
constexpr ErrorCode kBehind = ErrorCode::kBehind;
constexpr ErrorCode kSchema = ErrorCode::kSchemaChanged;
constexpr ErrorCode kUnavailable = ErrorCode::kUnavailable;

constexpr std::array kRoutes = {
    MakeOpen("/healthz", GetHealth, {}),
    MakeOpen("/readyz", GetReady, {kUnavailable}),
    Make(Method::kGet, "/metrics", GetMetrics, {}, {}),
    Make(Method::kGet, "/v1/openapi.json", GetOpenApi, {}, {}),
    Make(Method::kGet, "/v1/status", GetServerStatus, {}, {}),
    Make(Method::kGet, "/v1/tables", GetTables, {}, {kUnavailable}),
    Make(Method::kGet, "/v1/wait", GetWait, {"ref", "timeout"},
         {kUnknown, kBefore, kFuture, kBehind, kUnavailable}),
    Make(Method::kGet, "/v1/transactions", GetTransactions,
         {"from", "to", "limit", "order", "wait", "timeout"},
         {kUnknown, kBefore, kFuture, kBehind, kUnavailable}),
    Make(Method::kGet, "/v1/transactions/{ref}", GetOneTransaction, {"wait", "timeout"},
         {kNotFound, kUnknown, kBefore, kFuture, kBehind, kSchema, kUnavailable}),
    Make(Method::kGet, "/v1/tables/{table}/rows", GetRows,
         {"as_of", "where", "columns", "limit", "after", "wait", "timeout"},
         {kNotTracked, kUnknown, kBefore, kFuture, kBehind, kSchema, kUnavailable}),
    Make(Method::kGet, "/v1/tables/{table}/rows/{key}", GetRow,
         {"as_of", "columns", "format", "wait", "timeout"},
         {kNotTracked, kNotFound, kUnknown, kBefore, kFuture, kBehind, kSchema, kUnavailable}),
    Make(Method::kGet, "/v1/tables/{table}/rows/{key}/history", GetRowHistory,
         {"from", "to", "wait", "timeout"},
         {kNotTracked, kNotFound, kUnknown, kBefore, kFuture, kBehind, kSchema, kUnavailable}),
    Make(Method::kGet, "/v1/diff", GetDiff, {"from", "to", "table", "raw", "stat", "wait", "timeout"},
         {kNotTracked, kUnknown, kBefore, kFuture, kBehind, kSchema, kUnavailable}),
    Make(Method::kGet, "/v1/tags", GetTags, {}, {kUnavailable}),
    Make(Method::kPost, "/v1/tags", PostTag, {"wait", "timeout"},
         {kUnknown, kBefore, kFuture, kBehind, ErrorCode::kExists, kUnavailable}),
    Make(Method::kDelete, "/v1/tags", DeleteTag, {"name"}, {kNotFound, kUnavailable}),
};

constexpr std::array kCommonErrors = {ErrorCode::kInvalidArgument, ErrorCode::kUnauthorized,
                                      ErrorCode::kForbidden,       ErrorCode::kTooLarge,
                                      ErrorCode::kStoreFull,       ErrorCode::kInternal};

bool IsCapture(std::string_view segment) { return !segment.empty() && segment.front() == '{'; }

// Compares pattern and path segment by segment.
bool Matches(std::string_view pattern, const std::vector<std::string>& path,
             std::vector<std::string>* captures) {
  captures->clear();
  for (const std::string& segment : path) {
    if (pattern.empty()) return false;
    pattern.remove_prefix(1);  // the slash
    const std::string_view wanted = pattern.substr(0, pattern.find('/'));
    pattern.remove_prefix(wanted.size());
    if (IsCapture(wanted)) {
      if (segment.empty()) return false;
      captures->push_back(segment);
    } else if (wanted != segment) {
      return false;
    }
  }
  return pattern.empty();
}

}  // namespace

std::span<const Route> Routes() { return kRoutes; }

std::span<const ErrorCode> CommonErrors() { return kCommonErrors; }

base::Result<const Route*> FindRoute(Request* request, std::string* allowed) {
  for (const Route& route : kRoutes) {
    if (!Matches(route.pattern, request->path, &request->captures)) continue;
    if (route.method == request->method) return &route;
    *allowed += (allowed->empty() ? "" : ", ") + std::string(MethodName(route.method));
  }
  if (!allowed->empty()) {
    return Fail(ErrorCode::kInvalidArgument, fmt::format("this path answers {} only", *allowed));
  }
  std::string patterns;
  std::string_view last;
  for (const Route& route : kRoutes) {
    if (route.pattern != last) patterns += (patterns.empty() ? "" : " ") + std::string(route.pattern);
    last = route.pattern;
  }
  std::string path;
  for (const std::string& segment : request->path) path += "/" + segment;
  return Fail(ErrorCode::kNotFound, fmt::format("there is no {} here; what there is (described in "
                                                "/v1/openapi.json): {}",
                                                path.empty() ? "/" : path, patterns));
}

base::Status CheckParameters(const Route& route, const Request& request) {
  for (const Parameter& parameter : request.parameters) {
    if (parameter.name == "branch") {
      return Fail(ErrorCode::kInvalidArgument,
                  "branches are not available in this version: leave branch out");
    }
    const auto& known = route.parameters;
    if (!parameter.name.empty() && std::find(known.begin(), known.end(), parameter.name) != known.end())
      continue;
    std::string names;
    for (const std::string_view name : known) {
      if (!name.empty()) names += (names.empty() ? "" : ", ") + std::string(name);
    }
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("unknown parameter \"{}\"; {} knows {}", parameter.name, route.pattern,
                            names.empty() ? "none" : names));
  }
  return {};
}

}  // namespace varve::http
