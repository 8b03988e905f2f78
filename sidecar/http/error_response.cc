// SPDX-License-Identifier: PostgreSQL
#include "sidecar/http/error_response.h"

#include "sidecar/http/json_text.h"

namespace varve::http {

using base::ErrorCode;

int HttpStatusOf(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument: return 400;
    case ErrorCode::kUnauthorized: return 401;
    case ErrorCode::kForbidden: return 403;
    case ErrorCode::kNotTracked: return 404;
    case ErrorCode::kNotFound: return 404;
    case ErrorCode::kUnknownReference: return 404;
    case ErrorCode::kBeforeHistory: return 410;
    case ErrorCode::kHistoryGap: return 410;
    case ErrorCode::kInTheFuture: return 400;
    case ErrorCode::kBehind: return 503;
    case ErrorCode::kExists: return 409;
    case ErrorCode::kConflict: return 409;
    case ErrorCode::kStale: return 409;
    case ErrorCode::kSchemaChanged: return 409;
    case ErrorCode::kConstraint: return 409;
    case ErrorCode::kTooLarge: return 413;
    case ErrorCode::kUnavailable: return 503;
    case ErrorCode::kStoreFull: return 507;
    case ErrorCode::kInternal: return 500;
  }
  return 500;
}

std::string ErrorJson(const base::Error& error) {
  std::string json = R"({"error":{"code":)";
  AppendJsonString(base::ErrorCodeName(error.code), &json);
  json += R"(,"message":)";
  AppendJsonString(error.message, &json);
  json += "}}";
  return json;
}

base::Status SendError(const base::Error& error, const std::string& allow, ResponseWriter* writer) {
  ResponseHead head;
  head.status = HttpStatusOf(error.code);
  if (error.code == ErrorCode::kUnauthorized) head.headers.emplace_back("WWW-Authenticate", "Bearer");
  if (!allow.empty()) head.headers.emplace_back("Allow", allow);
  if (head.status == 503) head.headers.emplace_back("Retry-After", "1");
  return writer->Send(head, ErrorJson(error) + "\n");
}

}  // namespace varve::http
