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

// Answers with the error, its status and, for some, the header that tells a client what to do.
base::Status SendError(const base::Error& error, ResponseWriter* writer);

}  // namespace varve::http
