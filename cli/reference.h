// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <string>

namespace varve::cli {

// A time that is written without a zone means the user's zone, which varved does not know: it gets it here.
// Everything else stays as it is.
std::string LocalReference(const std::string& reference);

}  // namespace varve::cli
