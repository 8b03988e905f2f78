// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <string_view>

namespace varve::http {

// openapi.json of this directory, as it was at build time.
std::string_view OpenApiDocument();

}  // namespace varve::http
