// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <string>

namespace varve::types {

// Appends what float4out and float8out print with extra_float_digits = 1: the shortest decimal strictly
// inside the interval that rounds to the number, as src/common/f2s.c and d2s.c.
void AppendFloatText(float value, std::string* out);
void AppendFloatText(double value, std::string* out);

}  // namespace varve::types
