// SPDX-License-Identifier: PostgreSQL
#pragma once

#include "sidecar/http/context.h"

namespace varve::http {

// Finds the route of a request, checks that it may be asked and what it asks, and has it answered: by the
// route's handler or with an error. Thread-safe.
void Dispatch(const Context& context, Request* request, ResponseWriter* writer);

// Whether the two are equal, in a time that depends on the length of `given` only.
bool EqualInConstantTime(std::string_view secret, std::string_view given);

}  // namespace varve::http
