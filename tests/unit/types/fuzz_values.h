// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <string_view>

namespace varve::types {

// Feeds arbitrary bytes to every function of this module: the first two choose a column's type and what to
// do, the rest is the value or text. Aborts where a promise is broken: what was printed must read back.
void FuzzValue(std::string_view bytes);

}  // namespace varve::types
