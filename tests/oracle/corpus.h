// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <string>
#include <vector>

namespace varve::oracle {

// Values of one type that are known to go wrong somewhere, each as text for its input function.
struct Corpus {
  std::string type;
  std::vector<std::string> texts;
};

// Statements that make the types of the corpus which PostgreSQL does not bring: run once a session.
const std::vector<std::string>& SetupStatements();
const std::vector<Corpus>& AllCorpora();

}  // namespace varve::oracle
