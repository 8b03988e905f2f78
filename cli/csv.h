// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace varve::cli {

using Cells = std::vector<std::optional<std::string>>;

// Reads CSV as COPY writes it, in parts of any size: an unquoted empty field is null.
class CsvReader {
 public:
  explicit CsvReader(std::function<void(Cells)> on_line) : on_line_(std::move(on_line)) {}
  void Add(std::string_view part);

 private:
  void EndField();

  std::function<void(Cells)> on_line_;
  Cells cells_;
  std::string field_;
  bool quoted_ = false;        // the field began with a quote
  bool inside_ = false;        // between its quotes
  bool quote_inside_ = false;  // the last character was a quote between them
};

}  // namespace varve::cli
