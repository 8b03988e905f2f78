// SPDX-License-Identifier: PostgreSQL
#include "cli/output.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include <fmt/format.h>

namespace varve::cli {
namespace {

constexpr std::chrono::milliseconds kProgressEvery(500);

std::string_view Code(Color color) {
  switch (color) {
    case Color::kNone: return "";
    case Color::kRed: return "\x1b[31m";
    case Color::kGreen: return "\x1b[32m";
    case Color::kYellow: return "\x1b[33m";
    case Color::kCyan: return "\x1b[36m";
    case Color::kBold: return "\x1b[1m";
  }
  return "";
}

}  // namespace

Output Output::Process() {
  Output output;
  output.out_terminal_ = isatty(STDOUT_FILENO) == 1;
  output.err_terminal_ = isatty(STDERR_FILENO) == 1;
  const char* no_color = std::getenv("NO_COLOR");
  output.color_ = output.out_terminal_ && (no_color == nullptr || *no_color == '\0');
  return output;
}

Output Output::Captured(std::string* out, std::string* err) {
  Output output;
  output.out_ = out;
  output.err_ = err;
  return output;
}

void Output::Write(std::string_view text) {
  if (out_ != nullptr) {
    out_->append(text);
  } else if (alive_) {
    alive_ = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  }
}

void Output::WriteError(std::string_view text) {
  EndProgress();
  if (err_ != nullptr) {
    err_->append(text);
  } else {
    Flush();
    std::fwrite(text.data(), 1, text.size(), stderr);
  }
}

std::string Output::Colored(Color color, std::string_view text) const {
  if (!color_ || color == Color::kNone) return std::string(text);
  return fmt::format("{}{}\x1b[0m", Code(color), text);
}

void Output::Progress(uint64_t rows) {
  if (!err_terminal_ || out_terminal_) return;
  const auto now = std::chrono::steady_clock::now();
  if (now - progress_at_ < kProgressEvery) return;
  if (progress_at_ != std::chrono::steady_clock::time_point{}) {
    fmt::print(stderr, "\r{} rows", rows);
    std::fflush(stderr);
    progress_shown_ = true;
  }
  progress_at_ = now;
}

void Output::EndProgress() {
  if (!progress_shown_) return;
  progress_shown_ = false;
  std::fputs("\r\x1b[K", stderr);
}

bool Output::Flush() {
  if (out_ == nullptr) alive_ = std::fflush(stdout) == 0 && alive_;
  return alive_;
}

}  // namespace varve::cli
