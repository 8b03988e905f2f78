// SPDX-License-Identifier: PostgreSQL
#include "sidecar/http/routes.h"

#include <algorithm>
#include <set>

#include <boost/json/parse.hpp>

#include "sidecar/http/error_response.h"
#include "sidecar/http/openapi.h"
#include "tests/support/catch.h"

namespace varve::http {
namespace {

namespace json = boost::json;
using base::ErrorCode;

const Route* Found(Method method, std::string_view target, std::vector<std::string>* captures = nullptr) {
  Request request;
  REQUIRE(ParseTarget(target, &request));
  request.method = method;
  std::string allowed;
  const auto route = FindRoute(&request, &allowed);
  if (captures != nullptr) *captures = request.captures;
  return route ? *route : nullptr;
}

TEST_CASE("a path finds its route and what stands in it") {
  std::vector<std::string> captures;
  const Route* route =
      Found(Method::kGet, "/v1/tables/public.a/rows/%5B1%2C%22x%2Fy%22%5D/history", &captures);
  REQUIRE(route != nullptr);
  CHECK(route->pattern == "/v1/tables/{table}/rows/{key}/history");
  CHECK(captures == std::vector<std::string>{"public.a", "[1,\"x/y\"]"});
  CHECK(Found(Method::kGet, "/v1/tables/a/rows")->pattern == "/v1/tables/{table}/rows");
  CHECK(Found(Method::kPost, "/v1/tags")->method == Method::kPost);
  for (const char* other : {"/", "/v1", "/v1/tables/a", "/v1/tables//rows", "/v1/tables/a/rows/1/blame",
                            "/v2/status", "/v1/branches", "/healthz/x"}) {
    INFO(other);
    CHECK(Found(Method::kGet, other) == nullptr);
  }
}

TEST_CASE("what is not there names what there is") {
  Request request;
  REQUIRE(ParseTarget("/v1/branches", &request));
  std::string allowed;
  const auto missing = FindRoute(&request, &allowed);
  CHECK(missing.error().code == ErrorCode::kNotFound);
  CHECK(missing.error().message.find("/v1/branches") != std::string::npos);
  CHECK(missing.error().message.find("/v1/tables/{table}/rows") != std::string::npos);
  CHECK(allowed.empty());
  Request posted;
  REQUIRE(ParseTarget("/v1/tags", &posted));
  posted.method = Method::kOther;
  const auto other = FindRoute(&posted, &allowed);
  CHECK(other.error().code == ErrorCode::kInvalidArgument);
  CHECK(allowed == "GET, POST, DELETE");
}

TEST_CASE("unknown parameters are refused with the known ones") {
  const Route* route = Found(Method::kGet, "/v1/wait");
  Request request;
  REQUIRE(ParseTarget("/v1/wait?reff=now", &request));
  const base::Status unknown = CheckParameters(*route, request);
  CHECK(unknown.error().code == ErrorCode::kInvalidArgument);
  CHECK(unknown.error().message.find("ref, timeout") != std::string::npos);
  Request branch;
  REQUIRE(ParseTarget("/v1/wait?branch=b", &branch));
  CHECK(CheckParameters(*route, branch).error().message.find("branches are not available") == 0);
  Request nameless;
  REQUIRE(ParseTarget("/v1/wait?=b", &nameless));
  CHECK_FALSE(CheckParameters(*route, nameless));
}

TEST_CASE("every error code has its HTTP status") {
  const std::pair<ErrorCode, int> expected[] = {
      {ErrorCode::kInvalidArgument, 400}, {ErrorCode::kUnauthorized, 401},
      {ErrorCode::kForbidden, 403},       {ErrorCode::kNotTracked, 404},
      {ErrorCode::kNotFound, 404},        {ErrorCode::kUnknownReference, 404},
      {ErrorCode::kBeforeHistory, 410},   {ErrorCode::kHistoryGap, 410},
      {ErrorCode::kInTheFuture, 400},     {ErrorCode::kBehind, 503},
      {ErrorCode::kExists, 409},          {ErrorCode::kConflict, 409},
      {ErrorCode::kStale, 409},           {ErrorCode::kSchemaChanged, 409},
      {ErrorCode::kConstraint, 409},      {ErrorCode::kTooLarge, 413},
      {ErrorCode::kUnavailable, 503},     {ErrorCode::kStoreFull, 507},
      {ErrorCode::kInternal, 500}};
  for (const auto& [code, status] : expected) CHECK(HttpStatusOf(code) == status);
  CHECK(ErrorJson(base::Error{ErrorCode::kBehind, "say \"x\"\n"}) ==
        R"({"error":{"code":"behind","message":"say \"x\"\n"}})");
}

// What openapi.json says of one operation.
struct Documented {
  std::set<std::string> query;
  std::set<std::string> path;
  std::set<std::string> errors;
  bool open = false;
};

std::string Lower(std::string_view method) {
  std::string text(method);
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

Documented Read(const json::object& document, const json::object& operation) {
  Documented documented;
  for (const json::value& parameter : operation.at("parameters").as_array()) {
    const json::object& object = parameter.as_object();
    const std::string name(object.at("name").as_string());
    (object.at("in").as_string() == "query" ? documented.query : documented.path).insert(name);
  }
  const json::object& shared = document.at("components").as_object().at("responses").as_object();
  for (const auto& [status, response] : operation.at("responses").as_object()) {
    if (status[0] != '4' && status[0] != '5') continue;
    const std::string reference(response.as_object().at("$ref").as_string());
    const json::object& target = shared.at(reference.substr(reference.rfind('/') + 1)).as_object();
    std::string codes(target.at("description").as_string());
    for (size_t at = 0; at < codes.size(); at += 2) {
      const size_t end = std::min(codes.find(", ", at), codes.size());
      documented.errors.insert(std::string(status) + " " + codes.substr(at, end - at));
      at = end;
    }
  }
  documented.open = operation.contains("security") && operation.at("security").as_array().empty();
  return documented;
}

Documented Expected(const Route& route) {
  Documented expected;
  expected.open = route.open;
  for (const std::string_view name : route.parameters) {
    if (!name.empty()) expected.query.emplace(name);
  }
  std::string_view pattern = route.pattern;
  for (size_t at = pattern.find('{'); at != std::string_view::npos; at = pattern.find('{', at + 1)) {
    expected.path.emplace(pattern.substr(at + 1, pattern.find('}', at) - at - 1));
  }
  const auto add = [&expected](ErrorCode code) {
    expected.errors.insert(std::to_string(HttpStatusOf(code)) + " " + std::string(base::ErrorCodeName(code)));
  };
  for (size_t i = 0; i < route.error_count; ++i) add(route.errors_of_kind[i]);
  for (const ErrorCode code : CommonErrors()) add(code);
  return expected;
}

TEST_CASE("openapi.json has every route with its parameters and errors, and no other") {
  const std::string_view text = OpenApiDocument();
  const json::value parsed = json::parse(json::string_view(text.data(), text.size()));
  const json::object& document = parsed.as_object();
  std::set<std::string> documented;
  for (const auto& [path, operations] : document.at("paths").as_object()) {
    for (const auto& [method, operation] : operations.as_object()) {
      documented.insert(std::string(method) + " " + std::string(path));
    }
  }
  std::set<std::string> routes;
  for (const Route& route : Routes()) {
    const std::string method = Lower(MethodName(route.method));
    routes.insert(method + " " + std::string(route.pattern));
    INFO(method << " " << route.pattern);
    const json::object& paths = document.at("paths").as_object();
    const auto path = paths.find(json::string_view(route.pattern.data(), route.pattern.size()));
    REQUIRE(path != paths.end());
    REQUIRE(path->value().as_object().contains(method));
    const Documented found = Read(document, path->value().as_object().at(method).as_object());
    const Documented expected = Expected(route);
    CHECK(found.query == expected.query);
    CHECK(found.path == expected.path);
    CHECK(found.errors == expected.errors);
    CHECK(found.open == expected.open);
  }
  CHECK(documented == routes);
}

TEST_CASE("every reference inside openapi.json leads somewhere") {
  const std::string_view text = OpenApiDocument();
  const json::value document = json::parse(json::string_view(text.data(), text.size()));
  constexpr std::string_view kStart = R"("$ref": "#)";
  size_t count = 0;
  for (size_t at = text.find(kStart); at != std::string_view::npos; at = text.find(kStart, at + 1)) {
    const std::string_view pointer =
        text.substr(at + kStart.size(), text.find('"', at + kStart.size()) - at - kStart.size());
    INFO(pointer);
    boost::system::error_code error;
    CHECK(document.find_pointer(json::string_view(pointer.data(), pointer.size()), error) != nullptr);
    ++count;
  }
  CHECK(count > 50);
}

}  // namespace
}  // namespace varve::http
