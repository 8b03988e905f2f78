// SPDX-License-Identifier: PostgreSQL
#include "cli/csv.h"

#include <utility>

namespace varve::cli {

void CsvReader::EndField() {
  if (field_.empty() && !quoted_) {
    cells_.emplace_back();
  } else {
    cells_.emplace_back(std::exchange(field_, {}));
  }
  field_.clear();
  quoted_ = inside_ = quote_inside_ = false;
}

void CsvReader::Add(std::string_view part) {
  for (const char c : part) {
    if (inside_ && !quote_inside_) {
      if (c == '"') {
        quote_inside_ = true;
      } else {
        field_ += c;
      }
      continue;
    }
    if (quote_inside_ && c == '"') {
      field_ += c;
      quote_inside_ = false;
      continue;
    }
    if (quote_inside_) inside_ = quote_inside_ = false;
    if (c == '"' && field_.empty() && !quoted_) {
      quoted_ = inside_ = true;
    } else if (c == ',') {
      EndField();
    } else if (c == '\n') {
      EndField();
      on_line_(std::exchange(cells_, {}));
    } else {
      field_ += c;
    }
  }
}

}  // namespace varve::cli
