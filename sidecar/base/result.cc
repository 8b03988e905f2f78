// SPDX-License-Identifier: PostgreSQL
#include "sidecar/base/result.h"

#include "sidecar/base/check.h"

namespace varve::base {

std::string_view ErrorCodeName(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument: return "invalid_argument";
    case ErrorCode::kUnauthorized: return "unauthorized";
    case ErrorCode::kForbidden: return "forbidden";
    case ErrorCode::kNotTracked: return "not_tracked";
    case ErrorCode::kNotFound: return "not_found";
    case ErrorCode::kUnknownReference: return "unknown_reference";
    case ErrorCode::kBeforeHistory: return "before_history";
    case ErrorCode::kHistoryGap: return "history_gap";
    case ErrorCode::kInTheFuture: return "in_the_future";
    case ErrorCode::kBehind: return "behind";
    case ErrorCode::kExists: return "exists";
    case ErrorCode::kConflict: return "conflict";
    case ErrorCode::kStale: return "stale";
    case ErrorCode::kSchemaChanged: return "schema_changed";
    case ErrorCode::kConstraint: return "constraint";
    case ErrorCode::kTooLarge: return "too_large";
    case ErrorCode::kUnavailable: return "unavailable";
    case ErrorCode::kStoreFull: return "store_full";
    case ErrorCode::kInternal: return "internal";
  }
  CHECK(false);
}

}  // namespace varve::base
