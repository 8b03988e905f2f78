// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "sidecar/http/context.h"
#include "sidecar/http/handlers.h"

namespace varve::http {

// One line of the route table. openapi.json says the same to users; a test compares the two.
struct Route {
  Method method;
  std::string_view pattern;  // "{name}" stands for one segment
  Handler handler;
  std::array<std::string_view, 8> parameters;     // of the query, the unused ones empty
  std::array<base::ErrorCode, 9> errors_of_kind;  // besides those that every route can answer with
  size_t error_count;
  bool open = false;  // answered without the token
};

std::span<const Route> Routes();

// Errors that any route can answer with.
std::span<const base::ErrorCode> CommonErrors();

// The route of the request, whose `captures` it fills. Errors: kNotFound naming the routes that there are;
// kInvalidArgument for a path that has other methods (`allowed` then lists these).
base::Result<const Route*> FindRoute(Request* request, std::string* allowed);

// Errors: kInvalidArgument for a parameter that the route does not know, naming those that it knows.
base::Status CheckParameters(const Route& route, const Request& request);

}  // namespace varve::http
