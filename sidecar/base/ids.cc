// SPDX-License-Identifier: PostgreSQL
#include "sidecar/base/ids.h"

#include <charconv>
#include <chrono>

#include <fmt/format.h>

namespace varve::base {
namespace {

constexpr int64_t kMicrosPerSecond = 1'000'000;
constexpr int64_t kMicrosPerDay = 86'400 * kMicrosPerSecond;
constexpr int64_t kUnixDaysOfEpoch = 10'957;  // 2000-01-01

// Takes exactly `digits` decimal digits off the front.
std::optional<int64_t> TakeNumber(std::string_view* text, size_t digits) {
  if (text->size() < digits) return std::nullopt;
  int64_t value = 0;
  for (size_t i = 0; i < digits; ++i) {
    const char c = (*text)[i];
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  text->remove_prefix(digits);
  return value;
}

bool TakeChar(std::string_view* text, char expected) {
  if (text->empty() || text->front() != expected) return false;
  text->remove_prefix(1);
  return true;
}

std::optional<int64_t> TakeDayMicros(std::string_view* text) {
  const auto hour = TakeNumber(text, 2);
  if (!hour || !TakeChar(text, ':')) return std::nullopt;
  const auto minute = TakeNumber(text, 2);
  if (!minute || *hour > 23 || *minute > 59) return std::nullopt;
  int64_t micros = (*hour * 3600 + *minute * 60) * kMicrosPerSecond;
  if (!TakeChar(text, ':')) return micros;
  const auto second = TakeNumber(text, 2);
  if (!second || *second > 60) return std::nullopt;
  micros += *second * kMicrosPerSecond;
  if (!TakeChar(text, '.')) return micros;
  int64_t unit = kMicrosPerSecond;
  size_t digits = 0;
  while (!text->empty() && text->front() >= '0' && text->front() <= '9') {
    unit /= 10;
    micros += (text->front() - '0') * unit;
    text->remove_prefix(1);
    ++digits;
  }
  if (digits == 0 || digits > 9) return std::nullopt;
  return micros;
}

// The zone's offset from UTC; no zone is UTC.
std::optional<int64_t> TakeZoneMicros(std::string_view* text) {
  if (text->empty()) return 0;
  if (TakeChar(text, 'Z') || TakeChar(text, 'z')) return 0;
  const bool west = TakeChar(text, '-');
  if (!west && !TakeChar(text, '+')) return std::nullopt;
  const auto hour = TakeNumber(text, 2);
  if (!hour || *hour > 15) return std::nullopt;
  int64_t minute = 0;
  if (!text->empty()) {
    TakeChar(text, ':');
    const auto parsed = TakeNumber(text, 2);
    if (!parsed || *parsed > 59) return std::nullopt;
    minute = *parsed;
  }
  const int64_t micros = (*hour * 60 + minute) * 60 * kMicrosPerSecond;
  return west ? -micros : micros;
}

}  // namespace

std::string FormatLsn(Lsn lsn) { return fmt::format("{:X}/{:X}", lsn.value >> 32, lsn.value & 0xFFFFFFFFU); }

std::string FormatPosition(Position position) {
  if (position.era() == 0) return FormatLsn(position.lsn());
  return fmt::format("{}:{}", position.era(), FormatLsn(position.lsn()));
}

std::optional<Lsn> ParseLsn(std::string_view text) {
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto half = [](std::string_view part) -> std::optional<uint64_t> {
    uint32_t value = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value, 16);
    if (error != std::errc() || end != part.data() + part.size() || part.size() > 8) return std::nullopt;
    return value;
  };
  const auto high = half(text.substr(0, slash));
  const auto low = half(text.substr(slash + 1));
  if (!high || !low) return std::nullopt;
  return Lsn{(*high << 32) | *low};
}

std::string FormatTimestamp(Timestamp timestamp) {
  int64_t days = timestamp.micros / kMicrosPerDay;
  int64_t micros = timestamp.micros % kMicrosPerDay;
  if (micros < 0) {
    micros += kMicrosPerDay;
    --days;
  }
  const std::chrono::year_month_day date{std::chrono::sys_days{std::chrono::days{days + kUnixDaysOfEpoch}}};
  const int64_t seconds = micros / kMicrosPerSecond;
  std::string text = fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", static_cast<int>(date.year()),
                                 static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                                 seconds / 3600, seconds / 60 % 60, seconds % 60);
  if (const int64_t fraction = micros % kMicrosPerSecond; fraction != 0) {
    text += fmt::format(".{:06}", fraction);
    while (text.back() == '0') text.pop_back();
  }
  return text + "Z";
}

std::optional<Timestamp> ParseTimestamp(std::string_view text) {
  const auto year = TakeNumber(&text, 4);
  if (!year || !TakeChar(&text, '-')) return std::nullopt;
  const auto month = TakeNumber(&text, 2);
  if (!month || !TakeChar(&text, '-')) return std::nullopt;
  const auto day = TakeNumber(&text, 2);
  if (!day) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(*year)),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return std::nullopt;
  int64_t micros = 0;
  if (!text.empty()) {
    if (!TakeChar(&text, 'T') && !TakeChar(&text, 't') && !TakeChar(&text, ' ')) return std::nullopt;
    const auto of_day = TakeDayMicros(&text);
    if (!of_day) return std::nullopt;
    const auto zone = TakeZoneMicros(&text);
    if (!zone || !text.empty()) return std::nullopt;
    micros = *of_day - *zone;
  }
  const int64_t days = std::chrono::sys_days{date}.time_since_epoch().count() - kUnixDaysOfEpoch;
  return Timestamp{days * kMicrosPerDay + micros};
}

}  // namespace varve::base
