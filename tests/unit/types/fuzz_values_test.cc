// SPDX-License-Identifier: PostgreSQL
#include "tests/unit/types/fuzz_values.h"

#include <random>
#include <string>
#include <vector>

#include "tests/support/catch.h"

namespace varve::types {
namespace {

TEST_CASE("arbitrary bytes never break a promise") {
  const auto seed = std::random_device()();
  CAPTURE(seed);
  std::mt19937 random(seed);
  const std::vector<std::string> pieces = {std::string(4, '\0'),
                                           std::string("\0\0\0\1", 4),
                                           "{",
                                           "}",
                                           "[",
                                           "]",
                                           "(",
                                           ")",
                                           ",",
                                           "\"",
                                           "\\",
                                           ":",
                                           "1",
                                           "-",
                                           ".5",
                                           "e9",
                                           "2024-01-01",
                                           "12:00",
                                           " ",
                                           "NULL",
                                           "null",
                                           "\\u00",
                                           "=>",
                                           "1 day",
                                           "\xff",
                                           "inf",
                                           "P1D",
                                           "T",
                                           "/"};
  for (int i = 0; i < 60'000; ++i) {
    std::string bytes = {static_cast<char>(random()), static_cast<char>(random())};
    for (auto count = random() % 12; count > 0; --count) {
      bytes +=
          random() % 3 == 0 ? std::string(1, static_cast<char>(random())) : pieces[random() % pieces.size()];
    }
    FuzzValue(bytes);
  }
}

}  // namespace
}  // namespace varve::types
