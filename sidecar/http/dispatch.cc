// SPDX-License-Identifier: PostgreSQL
#include "sidecar/http/dispatch.h"

#include <fmt/format.h>

#include "sidecar/http/error_response.h"
#include "sidecar/http/routes.h"

namespace varve::http {

using base::ErrorCode;
using base::Fail;

namespace {

bool IsLoopbackHost(std::string_view host) {
  if (!host.empty() && host.front() == '[') {
    return host.substr(0, host.find(']') + 1) == "[::1]";
  }
  const std::string_view name = host.substr(0, host.find(':'));
  return name == "localhost" || name == "127.0.0.1";
}

// Over the Unix socket the file's mode decides who may ask.
base::Status Authorize(const Context& context, const Request& request) {
  if (!request.tcp) return {};
  if (context.token.empty()) {
    // A web page that has its own name resolve to 127.0.0.1 would ask in the name of whoever looks at it.
    if (IsLoopbackHost(request.host)) return {};
    return Fail(
        ErrorCode::kForbidden,
        fmt::format("the Host header says \"{}\": without a token only localhost, 127.0.0.1 and [::1] are "
                    "answered over TCP",
                    request.host));
  }
  constexpr std::string_view kScheme = "Bearer ";
  const std::string_view given = request.authorization;
  if (given.substr(0, kScheme.size()) == kScheme &&
      EqualInConstantTime(context.token, given.substr(kScheme.size()))) {
    return {};
  }
  return Fail(ErrorCode::kUnauthorized,
              "send the header Authorization: Bearer TOKEN with the token of [http] token_file");
}

base::Status CheckBody(const Request& request) {
  if (request.method != Method::kPost || !request.tcp) return {};
  // A form of a foreign web page can post any other type without asking first.
  if (request.content_type.substr(0, request.content_type.find(';')) == "application/json") return {};
  return Fail(ErrorCode::kInvalidArgument, "a body is sent with Content-Type: application/json");
}

base::Result<const Route*> Admit(const Context& context, Request* request, std::string* allowed) {
  RETURN_IF_ERROR(ParseTarget(std::string(request->target), request));
  base::Result<const Route*> route = FindRoute(request, allowed);
  if (!route || !(*route)->open) {
    RETURN_IF_ERROR(Authorize(context, *request));
  }
  if (!route) return route;
  RETURN_IF_ERROR(CheckParameters(**route, *request));
  RETURN_IF_ERROR(CheckBody(*request));
  return route;
}

}  // namespace

bool EqualInConstantTime(std::string_view secret, std::string_view given) {
  unsigned difference = secret.size() == given.size() ? 0 : 1;
  for (size_t i = 0; i < given.size(); ++i) {
    const char other = secret.empty() ? '\0' : secret[i % secret.size()];
    difference |= static_cast<unsigned char>(given[i]) ^ static_cast<unsigned char>(other);
  }
  return difference == 0;
}

void Dispatch(const Context& context, Request* request, ResponseWriter* writer) {
  std::string allowed;
  const base::Result<const Route*> route = Admit(context, request, &allowed);
  const base::Status answered =
      route ? (*route)->handler(context, *request, writer) : base::Status(Fail(route.error()));
  // A reader that is gone does not get to know about the error either.
  if (!answered) (void)SendError(answered.error(), allowed, writer);
}

}  // namespace varve::http
