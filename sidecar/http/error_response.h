// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <string>

#include "sidecar/base/result.h"
#include "sidecar/http/response.h"

namespace varve::http {

// The HTTP status that an error code has.
int HttpStatusOf(base::ErrorCode code);

// {"error":{"code":"before_history","message":"…"}}
std::string ErrorJson(const base::Error& error);

// Answers with the error, its status and, for some, the header that tells a client what to do. `allow`: the
// methods that the path answers, when another one was asked for.
base::Status SendError(const base::Error& error, const std::string& allow, ResponseWriter* writer);

}  // namespace varve::http
