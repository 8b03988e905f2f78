// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace varve::oracle {

// Makes the types of the corpus once a process.
void Prepare();

// Types that RandomValues knows.
const std::vector<std::string>& RandomTypes();

// Values from a seed, as text for the type's input function. They crowd around edges and each other, so that
// equal ones with different representations are common.
class RandomValues {
 public:
  explicit RandomValues(uint64_t seed) : engine_(seed) {}

  std::string Text(std::string_view type);
  // JSON with about one mistake in it.
  std::string BrokenJson();

 private:
  uint64_t Below(uint64_t bound) { return engine_() % bound; }
  bool OneIn(uint64_t bound) { return Below(bound) == 0; }
  int64_t Between(int64_t low, int64_t high);
  std::string Pick(const std::vector<std::string>& choices) { return choices[Below(choices.size())]; }

  std::string Integer(int bits);
  std::string Numeric();
  std::string Float(bool is_double);
  std::string Day(int64_t year_max);
  std::string Clock();
  std::string Zone();
  std::string Interval();
  std::string String();
  std::string Bytes();
  std::string Json(int depth);
  std::string JsonString();
  std::string Array(std::string_view element);
  std::string Record(const std::vector<std::string>& types);
  std::string Network(bool cidr);
  std::string Scalar(std::string_view type);
  std::string Hstore();

  std::mt19937_64 engine_;
};

}  // namespace varve::oracle
