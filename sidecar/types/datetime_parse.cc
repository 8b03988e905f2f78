// SPDX-License-Identifier: PostgreSQL
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "sidecar/types/bytes.h"
#include "sidecar/types/datetime.h"

namespace varve::types {
namespace {

constexpr int64_t kYearMax = 6'000'000;  // beyond date's last year, 5874897

tl::unexpected<base::Error> Unreadable(std::string_view text, std::string_view type, std::string_view form) {
  return BadValue("\"" + std::string(text.substr(0, 100)) + "\" is no " + std::string(type) +
                  "; write it in ISO form, e.g. " + std::string(form));
}

// Takes apart one text from the front.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  bool empty() const { return rest_.empty(); }
  char front() const { return rest_.empty() ? '\0' : rest_.front(); }
  bool Accept(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool AcceptWord(std::string_view lower) {
    if (!EqualsIgnoringCase(rest_.substr(0, lower.size()), lower)) return false;
    rest_.remove_prefix(lower.size());
    return true;
  }
  void SkipSpace() {
    while (!rest_.empty() && IsSpace(rest_.front())) rest_.remove_prefix(1);
  }
  // A number of `low` to `high` digits.
  std::optional<int64_t> Number(size_t low, size_t high) {
    size_t count = 0;
    while (count < rest_.size() && count <= high && IsDigit(rest_[count])) ++count;
    if (count < low || count > high) return std::nullopt;
    int64_t value = 0;
    std::from_chars(rest_.data(), rest_.data() + count, value);
    rest_.remove_prefix(count);
    return value;
  }
  // ".5" as microseconds, rounded; 0 when there is none.
  int64_t Fraction() {
    if (front() != '.' || rest_.size() < 2 || !IsDigit(rest_[1])) return 0;
    double value = 0;
    size_t end = 1;
    while (end < rest_.size() && IsDigit(rest_[end])) ++end;
    std::from_chars(rest_.data(), rest_.data() + end, value, std::chars_format::fixed);
    rest_.remove_prefix(end);
    return static_cast<int64_t>(std::rint(value * kMicrosPerSecond));
  }

 private:
  std::string_view rest_;
};

bool IsLeap(int64_t year) { return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0); }

int DaysInMonth(int64_t year, int64_t month) {
  if (month == 2) return IsLeap(year) ? 29 : 28;
  return month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
}

struct Civil {
  int64_t year = 0;
  int64_t month = 0;
  int64_t day = 0;
};

// The inverse of FromDays in datetime.cc.
int64_t ToDays(const Civil& date) {
  constexpr int64_t kDaysTo2000 = 730'425;
  const int64_t year = date.month <= 2 ? date.year - 1 : date.year;
  const int64_t era = (year >= 0 ? year : year - 399) / 400;
  const int64_t year_of_era = year - era * 400;
  const int64_t month_index = date.month > 2 ? date.month - 3 : date.month + 9;
  const int64_t day_of_year = (153 * month_index + 2) / 5 + date.day - 1;
  return era * 146'097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - kDaysTo2000;
}

// YYYY-MM-DD or YYYYMMDD.
bool TakeCivil(Scanner* scanner, Civil* date) {
  constexpr size_t kCompactDigits = 8;
  const auto year = scanner->Number(4, kCompactDigits);
  if (!year) return false;
  if (scanner->front() != '-') {
    *date = Civil{*year / 10'000, *year / 100 % 100, *year % 100};
    return *year >= 10'000'000;  // eight digits
  }
  scanner->Accept('-');
  const auto month = scanner->Number(1, 2);
  if (!month || !scanner->Accept('-')) return false;
  const auto day = scanner->Number(1, 2);
  if (!day) return false;
  *date = Civil{*year, *month, *day};
  return true;
}

// Turns the year by its era mark at the end and checks the whole.
bool FinishCivil(Scanner* scanner, Civil* date) {
  scanner->SkipSpace();
  bool before_christ = false;
  if (scanner->AcceptWord("bc")) {
    before_christ = true;
  } else {
    scanner->AcceptWord("ad");
  }
  if (!scanner->empty() || date->year == 0 || date->year > kYearMax) return false;
  if (before_christ) date->year = 1 - date->year;
  return date->month >= 1 && date->month <= 12 && date->day >= 1 &&
         date->day <= DaysInMonth(date->year, date->month);
}

// HH:MM[:SS[.ffffff]], up to 24:00:00.
bool TakeClock(Scanner* scanner, int64_t* micros) {
  const auto hour = scanner->Number(1, 2);
  if (!hour || !scanner->Accept(':')) return false;
  const auto minute = scanner->Number(1, 2);
  if (!minute) return false;
  int64_t second = 0;
  int64_t fraction = 0;
  if (scanner->Accept(':')) {
    const auto seconds = scanner->Number(1, 2);
    if (!seconds) return false;
    second = *seconds;
    fraction = scanner->Fraction();
  }
  *micros = *hour * kMicrosPerHour + *minute * kMicrosPerMinute + second * kMicrosPerSecond + fraction;
  return *minute < 60 && second <= 60 && *micros <= kMicrosPerDay;
}

// Z, UTC, +HH, +HHMM, +HH:MM or +HH:MM:SS; `west` in seconds west of UTC.
bool TakeZone(Scanner* scanner, std::optional<int32_t>* west) {
  scanner->SkipSpace();
  if (scanner->AcceptWord("utc") || scanner->AcceptWord("gmt") || scanner->AcceptWord("z")) {
    *west = 0;
    return true;
  }
  const char sign = scanner->front();
  if (sign != '+' && sign != '-') return true;
  scanner->Accept(sign);
  auto number = scanner->Number(1, 4);
  if (!number) return false;
  int64_t seconds = *number >= 100 ? *number / 100 * 3600 + *number % 100 * 60 : *number * 3600;
  if (scanner->Accept(':')) {
    if (!(number = scanner->Number(2, 2)) || *number > 59) return false;
    seconds += *number * 60;
    if (scanner->Accept(':')) {
      if (!(number = scanner->Number(2, 2)) || *number > 59) return false;
      seconds += *number;
    }
  }
  if (seconds >= kZoneLimit) return false;
  *west = static_cast<int32_t>(sign == '+' ? -seconds : seconds);
  return true;
}

// 1 for infinity, -1 for -infinity, else 0.
int Infinity(std::string_view text) {
  if (EqualsIgnoringCase(text, "infinity") || EqualsIgnoringCase(text, "+infinity")) return 1;
  return EqualsIgnoringCase(text, "-infinity") ? -1 : 0;
}

base::Result<int64_t> ParseMoment(std::string_view text, bool with_zone) {
  text = TrimSpace(text);
  if (const int sign = Infinity(text); sign != 0) {
    return sign > 0 ? std::numeric_limits<int64_t>::max() : std::numeric_limits<int64_t>::min();
  }
  const auto unreadable = [&] {
    return with_zone ? Unreadable(text, "timestamptz", "2024-07-01 12:30:00.5+00")
                     : Unreadable(text, "timestamp", "2024-07-01 12:30:00.5");
  };
  Scanner scanner(text);
  Civil date;
  int64_t clock = 0;
  std::optional<int32_t> west;
  if (!TakeCivil(&scanner, &date)) return unreadable();
  if (!scanner.Accept('T') && !scanner.Accept('t')) scanner.SkipSpace();
  if (IsDigit(scanner.front()) && (!TakeClock(&scanner, &clock) || !TakeZone(&scanner, &west))) {
    return unreadable();
  }
  if (!FinishCivil(&scanner, &date)) return unreadable();
  const int64_t days = ToDays(date);
  // One day more than the range on each side still fits 64 bits; the check below then decides.
  if (days < kTimestampMin / kMicrosPerDay - 1 || days > kTimestampEnd / kMicrosPerDay) {
    return BadValue("timestamp out of range");
  }
  int64_t micros = 0;
  const int64_t shift = clock + (with_zone ? int64_t{west.value_or(0)} * kMicrosPerSecond : 0);
  if (__builtin_mul_overflow(days, kMicrosPerDay, &micros) ||
      __builtin_add_overflow(micros, shift, &micros) || micros < kTimestampMin || micros >= kTimestampEnd) {
    return BadValue("timestamp out of range");
  }
  return micros;
}

}  // namespace

base::Result<int32_t> ParseDate(std::string_view text) {
  text = TrimSpace(text);
  if (const int sign = Infinity(text); sign != 0) {
    return sign > 0 ? std::numeric_limits<int32_t>::max() : std::numeric_limits<int32_t>::min();
  }
  Scanner scanner(text);
  Civil date;
  if (!TakeCivil(&scanner, &date) || !FinishCivil(&scanner, &date)) {
    return Unreadable(text, "date", "2024-07-01");
  }
  const int64_t days = ToDays(date);
  if (days < kDateMin || days >= kDateEnd) return BadValue("date out of range");
  return static_cast<int32_t>(days);
}

base::Result<int64_t> ParseTimestamp(std::string_view text) { return ParseMoment(text, false); }
base::Result<int64_t> ParseTimestamptz(std::string_view text) { return ParseMoment(text, true); }

base::Result<int64_t> ParseTime(std::string_view text) {
  text = TrimSpace(text);
  Scanner scanner(text);
  int64_t micros = 0;
  if (!TakeClock(&scanner, &micros) || !scanner.empty()) return Unreadable(text, "time", "12:30:00.5");
  return micros;
}

base::Result<Timetz> ParseTimetz(std::string_view text) {
  text = TrimSpace(text);
  Scanner scanner(text);
  Timetz value;
  std::optional<int32_t> west;
  if (!TakeClock(&scanner, &value.micros) || !TakeZone(&scanner, &west) || !scanner.empty()) {
    return Unreadable(text, "timetz", "12:30:00.5+02");
  }
  value.zone = west.value_or(0);
  return value;
}

}  // namespace varve::types
