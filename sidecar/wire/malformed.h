// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <string>
#include <utility>

#include "sidecar/base/result.h"

namespace varve::wire {

// kInvalidArgument: the server sent something that it must not send.
inline tl::unexpected<base::Error> Malformed(std::string what) {
  return base::Fail(base::ErrorCode::kInvalidArgument, "malformed message of the stream: " + std::move(what));
}

}  // namespace varve::wire
