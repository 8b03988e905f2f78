// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <string>
#include <vector>

namespace varve::oracle {

// Ways in which people write the values of a type, right and wrong ones.
struct Spelling {
  std::string type;
  std::vector<std::string> texts;
  std::vector<std::string> stricter = {};  // PostgreSQL takes them, Varve asks for another form
};

std::vector<Spelling> AllSpellings();

}  // namespace varve::oracle
