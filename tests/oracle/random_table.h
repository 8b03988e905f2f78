// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "tests/oracle/random_values.h"

namespace varve::oracle {

// A table with columns of random types, and random changes of it. Everything comes from the seed. What
// happens to its rows is noted in roundtrip.written, as to_jsonb has it in the transaction that does it.
class RandomTable {
 public:
  // REQUIRES: the oracle's server runs with the plugin's library.
  static void Prepare();

  explicit RandomTable(uint64_t seed);
  RandomTable(const RandomTable&) = delete;
  RandomTable& operator=(const RandomTable&) = delete;

  void Create();
  // Some transactions; most of what they do stays.
  void Change();
  void Drop();

  // The statements so far, for who looks at a failure.
  const std::string& history() const { return history_; }

 private:
  struct Column {
    std::string name;
    std::string type;
  };

  uint64_t Below(uint64_t bound) { return engine_() % bound; }
  bool OneIn(uint64_t bound) { return Below(bound) == 0; }
  void Execute(const std::string& statement);
  Column NewColumn();
  // An expression that has a value of the type, or NULL.
  std::string Expression(const std::string& type);
  std::string Constant(const std::string& type);
  std::string Large(const std::string& type);
  std::string SomeRow();
  void Insert();
  void Update();
  void Reshape();
  void Statement();

  std::mt19937_64 engine_;
  RandomValues values_;
  std::string name_;
  std::string history_;
  std::vector<Column> columns_;
  int next_id_ = 1;
  int next_column_ = 1;
};

}  // namespace varve::oracle
