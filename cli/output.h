// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace varve::cli {

enum class Color { kNone, kRed, kGreen, kYellow, kCyan, kBold };

// Where a verb writes. The process's streams, or strings in tests. One thread.
class Output {
 public:
  // stdout and stderr; colours and progress only where they are terminals.
  static Output Process();
  // Into the two strings, which outlive it.
  static Output Captured(std::string* out, std::string* err);

  void Write(std::string_view text);
  void WriteError(std::string_view text);
  // The text in a colour, as it is where stdout is no terminal (or NO_COLOR is set).
  std::string Colored(Color color, std::string_view text) const;
  bool terminal() const { return out_terminal_; }

  // What a long answer has come to, on stderr, only where somebody looks at stderr and stdout goes elsewhere.
  void Progress(uint64_t rows);
  void EndProgress();

  // False once stdout is closed (a pager that was left).
  bool alive() const { return alive_; }
  bool Flush();

 private:
  std::string* out_ = nullptr;
  std::string* err_ = nullptr;
  bool out_terminal_ = false;
  bool err_terminal_ = false;
  bool color_ = false;
  bool alive_ = true;
  bool progress_shown_ = false;
  std::chrono::steady_clock::time_point progress_at_;
};

}  // namespace varve::cli
