// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/csv.h"

namespace varve::cli {

// A piece of text as a terminal shows it: what would move the cursor or change colours is written out, as
// psql does (src/fe_utils/mbprint.c).
struct DisplayLine {
  std::string text;
  size_t width = 0;
};
std::vector<DisplayLine> DisplayLines(std::string_view text);
// The same in one line: line ends become "\n".
std::string DisplayText(std::string_view text);

// The most that a table shows of one line of a cell, in columns of the terminal.
inline constexpr size_t kCellWidthMost = 200;

// Writes rows as psql's aligned format does; null is nothing, cells are cut at kCellWidthMost. Widths and
// sides come from the first thousand rows, so that a table of any size can be printed.
class TablePrinter {
 public:
  using Sink = std::function<void(std::string_view)>;
  TablePrinter(std::vector<std::string> columns, Sink sink);
  void Add(Cells cells);
  // Prints what is left and the number of rows.
  void Finish();
  size_t rows() const { return rows_; }

 private:
  void Measure();
  void Flush();
  void PrintHeader();
  void PrintRow(const Cells& cells);

  const std::vector<std::string> columns_;
  const Sink sink_;
  std::vector<Cells> held_;
  std::vector<size_t> widths_;
  std::vector<bool> right_;
  bool header_printed_ = false;
  size_t rows_ = 0;
};

// One row as psql's expanded format shows it.
std::string ExpandedRow(const std::vector<std::string>& columns, const Cells& cells);

}  // namespace varve::cli
