// SPDX-License-Identifier: PostgreSQL
#include "cli/reference.h"

#include <ctime>

#include <string_view>

#include "sidecar/base/ids.h"

namespace varve::cli {
namespace {

constexpr int64_t kMicrosPerSecond = 1'000'000;
constexpr int64_t kUnixSecondsOfEpoch = 946'684'800;  // 2000-01-01

bool HasZone(std::string_view time) {
  if (time.back() == 'Z' || time.back() == 'z') return true;
  // Behind the date, which has dashes of its own.
  return time.size() > 10 && time.find_first_of("+-", 10) != std::string_view::npos;
}

}  // namespace

std::string LocalReference(const std::string& reference) {
  constexpr std::string_view kTime = "time:";
  std::string_view text = reference;
  if (text.substr(0, kTime.size()) == kTime) text.remove_prefix(kTime.size());
  const size_t caret = text.find('^');
  const std::string_view time = text.substr(0, caret);
  if (time.empty() || HasZone(time)) return reference;
  const auto parsed = base::ParseTimestamp(time);
  if (!parsed) return reference;
  int64_t seconds = parsed->micros / kMicrosPerSecond;
  int64_t fraction = parsed->micros % kMicrosPerSecond;
  if (fraction < 0) {
    fraction += kMicrosPerSecond;
    --seconds;
  }
  const std::time_t written = seconds + kUnixSecondsOfEpoch;
  std::tm fields{};
  gmtime_r(&written, &fields);
  fields.tm_isdst = -1;
  const std::time_t meant = std::mktime(&fields);
  const base::Timestamp utc{(static_cast<int64_t>(meant) - kUnixSecondsOfEpoch) * kMicrosPerSecond +
                            fraction};
  return std::string(kTime) + base::FormatTimestamp(utc) +
         std::string(caret == std::string_view::npos ? "" : text.substr(caret));
}

}  // namespace varve::cli
