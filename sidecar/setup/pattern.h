// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <string_view>

namespace varve::setup {

// Whether the whole text fits the pattern: * stands for any characters, ? for one, all else for itself.
bool FitsPattern(std::string_view pattern, std::string_view text);

// Whether schema.name fits "schema.name" or "name" (schema public), each part a pattern.
bool FitsTablePattern(std::string_view pattern, std::string_view schema, std::string_view name);

}  // namespace varve::setup
