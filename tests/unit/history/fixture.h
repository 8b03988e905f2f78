// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/history/stream.h"

namespace varve::test {

inline constexpr base::FullXid kXidNear{(uint64_t{3} << 32) | 700};

inline Cells Account(int32_t id, const std::string& name,
                     const std::optional<std::string>& note = std::nullopt) {
  return {{1, Int4(id)}, {2, name}, {3, note}};
}

// A history in a directory of its own, with the table accounts.
struct HistoryFixture {
  TemporaryDirectory directory;
  FixedClock clock;
  std::unique_ptr<history::History> history = OpenHistory(directory.path(), &clock);
  RelationPtr accounts = Accounts();

  void Start(const std::vector<Cells>& rows);
  // Appends and publishes.
  void Apply(const TestTransaction& transaction);
  void Reopen();
  std::optional<Cells> Get(int32_t id, uint64_t lsn) const;
  std::vector<Cells> Scan(uint64_t lsn, const history::ScanOptions& options = {}) const;
  history::TableInfo TableNamed(const std::string& name) const;
  base::Result<history::ReadPoint> Resolve(const std::string& reference) const;
};

// The error of a call that must fail.
template <typename T>
base::Error ErrorOf(const base::Result<T>& result) {
  REQUIRE_FALSE(result.has_value());
  return result.error();
}

inline bool Contains(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

}  // namespace varve::test
