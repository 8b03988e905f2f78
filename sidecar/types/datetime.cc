// SPDX-License-Identifier: PostgreSQL
#include "sidecar/types/datetime.h"

#include <array>
#include <charconv>
#include <cstdlib>
#include <limits>

#include "sidecar/types/bytes.h"

namespace varve::types {
namespace {

constexpr int kFractionDigits = 6;

void AppendPadded(uint64_t value, size_t width, std::string* out) {
  std::array<char, 20> text{};
  const auto end = std::to_chars(text.begin(), text.end(), value);
  const auto length = static_cast<size_t>(end.ptr - text.begin());
  if (length < width) out->append(width - length, '0');
  out->append(text.data(), length);
}

struct CivilDate {
  int64_t year = 0;  // 0 is 1 BC
  int month = 0;
  int day = 0;
};

// Days since 2000-01-01 to the proleptic Gregorian calendar (H. Hinnant, "chrono-compatible low-level date
// algorithms"), which agrees with PostgreSQL's j2date.
CivilDate FromDays(int64_t days) {
  constexpr int64_t kDaysTo2000 = 730'425;  // from 0000-03-01
  constexpr int64_t kDaysPerEra = 146'097;
  const int64_t shifted = days + kDaysTo2000;
  const int64_t era = (shifted >= 0 ? shifted : shifted - (kDaysPerEra - 1)) / kDaysPerEra;
  const int64_t day_of_era = shifted - era * kDaysPerEra;
  const int64_t year_of_era =
      (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  const int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const int64_t month_index = (5 * day_of_year + 2) / 153;
  CivilDate date;
  date.day = static_cast<int>(day_of_year - (153 * month_index + 2) / 5 + 1);
  date.month = static_cast<int>(month_index < 10 ? month_index + 3 : month_index - 9);
  date.year = year_of_era + era * 400 + (date.month <= 2 ? 1 : 0);
  return date;
}

void AppendCivil(const CivilDate& date, std::string* out) {
  AppendPadded(static_cast<uint64_t>(date.year > 0 ? date.year : 1 - date.year), 4, out);
  out->push_back('-');
  AppendPadded(static_cast<uint64_t>(date.month), 2, out);
  out->push_back('-');
  AppendPadded(static_cast<uint64_t>(date.day), 2, out);
}

// ":SS" and the fraction without zeros at its end.
void AppendSeconds(int64_t micros_of_minute, std::string* out) {
  AppendPadded(static_cast<uint64_t>(micros_of_minute / kMicrosPerSecond), 2, out);
  const int64_t fraction = micros_of_minute % kMicrosPerSecond;
  if (fraction == 0) return;
  out->push_back('.');
  AppendPadded(static_cast<uint64_t>(fraction), kFractionDigits, out);
  out->resize(out->find_last_not_of('0') + 1);
}

void AppendClock(int64_t micros, std::string* out) {
  AppendPadded(static_cast<uint64_t>(micros / kMicrosPerHour), 2, out);
  out->push_back(':');
  AppendPadded(static_cast<uint64_t>(micros / kMicrosPerMinute % 60), 2, out);
  out->push_back(':');
  AppendSeconds(micros % kMicrosPerMinute, out);
}

bool AppendInfinity(int64_t value, int64_t low, int64_t high, std::string* out) {
  if (value == high) {
    out->append("infinity");
  } else if (value == low) {
    out->append("-infinity");
  } else {
    return false;
  }
  return true;
}

base::Status AppendMoment(int64_t micros, DateForm form, std::string_view zone, std::string* out) {
  using Limits = std::numeric_limits<int64_t>;
  if (AppendInfinity(micros, Limits::min(), Limits::max(), out)) return {};
  // As timestamp2tm: what rounding to a typmod lifted above the greatest input is printed all the same.
  if (micros < kTimestampMin) return BadValue("timestamp out of range");
  int64_t days = micros / kMicrosPerDay;
  int64_t clock = micros % kMicrosPerDay;
  if (clock < 0) {
    clock += kMicrosPerDay;
    --days;
  }
  const CivilDate date = FromDays(days);
  AppendCivil(date, out);
  out->push_back(form == DateForm::kJson ? 'T' : ' ');
  AppendClock(clock, out);
  out->append(zone);
  if (date.year <= 0) out->append(" BC");
  return {};
}

// One "3 mons" of an interval. PostgreSQL puts a plus before a positive part that follows a negative one
// (AddPostgresIntPart in datetime.c).
void AppendIntervalPart(int64_t value, std::string_view unit, size_t start, bool* after_negative,
                        std::string* out) {
  if (value == 0) return;
  if (out->size() > start) out->push_back(' ');
  if (*after_negative && value > 0) out->push_back('+');
  out->append(std::to_string(value)).append(1, ' ').append(unit);
  if (value != 1) out->push_back('s');
  *after_negative = value < 0;
}

}  // namespace

base::Status AppendDate(int32_t days, std::string* out) {
  using Limits = std::numeric_limits<int32_t>;
  if (AppendInfinity(days, Limits::min(), Limits::max(), out)) return {};
  if (days < kDateMin || days >= kDateEnd) return BadValue("date out of range");
  const CivilDate date = FromDays(days);
  AppendCivil(date, out);
  if (date.year <= 0) out->append(" BC");
  return {};
}

base::Status AppendTimestamp(int64_t micros, DateForm form, std::string* out) {
  return AppendMoment(micros, form, "", out);
}

base::Status AppendTimestamptz(int64_t micros, DateForm form, std::string* out) {
  return AppendMoment(micros, form, form == DateForm::kJson ? "+00:00" : "+00", out);
}

base::Status AppendTime(int64_t micros, std::string* out) {
  if (micros < 0 || micros > kMicrosPerDay) return BadValue("time out of range");
  AppendClock(micros, out);
  return {};
}

base::Status AppendTimetz(Timetz value, std::string* out) {
  RETURN_IF_ERROR(AppendTime(value.micros, out));
  if (value.zone <= -kZoneLimit || value.zone >= kZoneLimit) return BadValue("time zone out of range");
  const auto seconds = static_cast<uint64_t>(std::abs(value.zone));
  out->push_back(value.zone <= 0 ? '+' : '-');
  AppendPadded(seconds / 3600, 2, out);
  if (seconds % 3600 == 0) return {};
  out->push_back(':');
  AppendPadded(seconds / 60 % 60, 2, out);
  if (seconds % 60 == 0) return {};
  out->push_back(':');
  AppendPadded(seconds % 60, 2, out);
  return {};
}

base::Status AppendInterval(Interval value, std::string* out) {
  // Since PostgreSQL 17 three fields at their limits are infinity; before, nothing but chance makes them so.
  using Days = std::numeric_limits<int32_t>;
  using Micros = std::numeric_limits<int64_t>;
  if (value.days == value.months && (value.days == Days::max() || value.days == Days::min()) &&
      value.micros == (value.days > 0 ? Micros::max() : Micros::min())) {
    out->append(value.days > 0 ? "infinity" : "-infinity");
    return {};
  }
  const size_t start = out->size();
  bool after_negative = false;
  AppendIntervalPart(value.months / 12, "year", start, &after_negative, out);
  AppendIntervalPart(value.months % 12, "mon", start, &after_negative, out);
  AppendIntervalPart(value.days, "day", start, &after_negative, out);
  if (value.micros == 0 && out->size() > start) return {};
  if (out->size() > start) out->push_back(' ');
  if (value.micros < 0) {
    out->push_back('-');
  } else if (after_negative) {
    out->push_back('+');
  }
  const uint64_t clock = value.micros < 0 ? uint64_t{0} - static_cast<uint64_t>(value.micros)
                                          : static_cast<uint64_t>(value.micros);
  AppendPadded(clock / kMicrosPerHour, 2, out);
  out->push_back(':');
  AppendPadded(clock / kMicrosPerMinute % 60, 2, out);
  out->push_back(':');
  AppendSeconds(static_cast<int64_t>(clock % kMicrosPerMinute), out);
  return {};
}

}  // namespace varve::types
