// SPDX-License-Identifier: PostgreSQL
#include "sidecar/setup/pattern.h"

#include <cstddef>

namespace varve::setup {

bool FitsPattern(std::string_view pattern, std::string_view text) {
  // On a mismatch the last * takes one character more: linear in pattern times text, no recursion.
  size_t p = 0;
  size_t t = 0;
  size_t star = std::string_view::npos;
  size_t star_text = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_text = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++star_text;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

bool FitsTablePattern(std::string_view pattern, std::string_view schema, std::string_view name) {
  const size_t dot = pattern.find('.');
  if (dot == std::string_view::npos) return schema == "public" && FitsPattern(pattern, name);
  return FitsPattern(pattern.substr(0, dot), schema) && FitsPattern(pattern.substr(dot + 1), name);
}

}  // namespace varve::setup
