// SPDX-License-Identifier: PostgreSQL
#include <array>
#include <charconv>
#include <limits>
#include <utility>
#include <vector>

#include "sidecar/types/bytes.h"
#include "sidecar/types/datetime.h"

namespace varve::types {
namespace {

struct Unit {
  std::string_view name;
  int64_t months = 0;
  int64_t days = 0;
  int64_t micros = 0;
};

// Also without the s at their end.
constexpr std::array kUnits = {
    Unit{"years", 12, 0, 0},
    Unit{"mons", 1, 0, 0},
    Unit{"months", 1, 0, 0},
    Unit{"weeks", 0, 7, 0},
    Unit{"days", 0, 1, 0},
    Unit{"hours", 0, 0, kMicrosPerHour},
    Unit{"mins", 0, 0, kMicrosPerMinute},
    Unit{"minutes", 0, 0, kMicrosPerMinute},
    Unit{"secs", 0, 0, kMicrosPerSecond},
    Unit{"seconds", 0, 0, kMicrosPerSecond},
};
// ISO 8601 designators before and behind the T.
constexpr std::array kDateDesignators = {Unit{"Y", 12, 0, 0}, Unit{"M", 1, 0, 0}, Unit{"W", 0, 7, 0},
                                         Unit{"D", 0, 1, 0}};
constexpr std::array kClockDesignators = {Unit{"H", 0, 0, kMicrosPerHour}, Unit{"M", 0, 0, kMicrosPerMinute},
                                          Unit{"S", 0, 0, kMicrosPerSecond}};

// A signed decimal: whole part and microseconds of a fraction. The sum of parts may be anything that fits.
struct Quantity {
  int64_t whole = 0;
  int64_t millionths = 0;
  bool negative = false;
};

bool TakeDigits(std::string_view* rest, int64_t* value) {
  const auto [end, error] = std::from_chars(rest->data(), rest->data() + rest->size(), *value);
  if (error != std::errc() || *value < 0 || (!rest->empty() && rest->front() == '-')) return false;
  rest->remove_prefix(static_cast<size_t>(end - rest->data()));
  return true;
}

bool TakeFraction(std::string_view* rest, int64_t* millionths) {
  *millionths = 0;
  if (rest->empty() || rest->front() != '.') return true;
  rest->remove_prefix(1);
  constexpr int kDigits = 6;
  int count = 0;
  for (; !rest->empty() && IsDigit(rest->front()); ++count) {
    if (count == kDigits) return false;
    *millionths = *millionths * 10 + (rest->front() - '0');
    rest->remove_prefix(1);
  }
  for (; count < kDigits; ++count) *millionths *= 10;
  return true;
}

void TakeSign(std::string_view* rest, bool* negative) {
  *negative = false;
  if (rest->empty() || (rest->front() != '+' && rest->front() != '-')) return;
  *negative = rest->front() == '-';
  rest->remove_prefix(1);
}

bool AddScaled(int64_t value, int64_t unit, bool negative, int64_t* sum) {
  int64_t scaled = 0;
  if (__builtin_mul_overflow(value, unit, &scaled)) return false;
  return negative ? !__builtin_sub_overflow(*sum, scaled, sum) : !__builtin_add_overflow(*sum, scaled, sum);
}

// The parts before they are narrowed to an Interval, and the units that were given: PostgreSQL takes each
// once.
struct Sums {
  int64_t months = 0;
  int64_t days = 0;
  int64_t micros = 0;
  std::vector<Unit> given;
};

bool GiveOnce(const Unit& unit, Sums* sums) {
  for (const Unit& other : sums->given) {
    if (other.months == unit.months && other.days == unit.days && other.micros == unit.micros) return false;
  }
  sums->given.push_back(unit);
  return true;
}

bool Add(const Quantity& quantity, const Unit& unit, Sums* sums) {
  // Fractions only of clock units, where they are exact for all that matters.
  if (quantity.millionths != 0 && unit.micros == 0) return false;
  return AddScaled(quantity.whole, unit.months, quantity.negative, &sums->months) &&
         AddScaled(quantity.whole, unit.days, quantity.negative, &sums->days) &&
         AddScaled(quantity.whole, unit.micros, quantity.negative, &sums->micros) &&
         AddScaled(quantity.millionths, unit.micros / kMicrosPerSecond, quantity.negative, &sums->micros);
}

template <typename Units>
const Unit* FindUnit(const Units& units, std::string_view name) {
  for (const Unit& unit : units) {
    if (unit.name == name) return &unit;
  }
  return nullptr;
}

const Unit* FindWord(std::string name) {
  if (!name.empty() && name.back() != 's') name.push_back('s');
  return FindUnit(kUnits, name);
}

// The rest of HH:MM[:SS[.ffffff]] once HH is read.
bool AddClock(std::string_view* rest, const Quantity& hours, Sums* sums) {
  int64_t minutes = 0;
  int64_t seconds = 0;
  int64_t millionths = 0;
  rest->remove_prefix(1);
  if (!TakeDigits(rest, &minutes) || minutes > 59) return false;
  if (!rest->empty() && rest->front() == ':') {
    rest->remove_prefix(1);
    if (!TakeDigits(rest, &seconds) || seconds > 60 || !TakeFraction(rest, &millionths)) return false;
  }
  for (const int64_t micros : {kMicrosPerHour, kMicrosPerMinute, kMicrosPerSecond}) {
    if (!GiveOnce(Unit{"", 0, 0, micros}, sums)) return false;
  }
  return AddScaled(hours.whole, kMicrosPerHour, hours.negative, &sums->micros) &&
         AddScaled(minutes, kMicrosPerMinute, hours.negative, &sums->micros) &&
         AddScaled(seconds, kMicrosPerSecond, hours.negative, &sums->micros) &&
         AddScaled(millionths, 1, hours.negative, &sums->micros);
}

// "1 year 2 mons -3 days +04:05:06.789".
bool ReadPostgres(std::string_view rest, Sums* sums) {
  if (rest.empty()) return false;
  while (!rest.empty()) {
    Quantity quantity;
    TakeSign(&rest, &quantity.negative);
    if (!TakeDigits(&rest, &quantity.whole)) return false;
    if (!rest.empty() && rest.front() == ':') {
      if (!AddClock(&rest, quantity, sums)) return false;
    } else {
      if (!TakeFraction(&rest, &quantity.millionths)) return false;
      rest = TrimSpace(rest);
      std::string name;
      while (!rest.empty() && LowerAscii(rest.front()) >= 'a' && LowerAscii(rest.front()) <= 'z') {
        name.push_back(LowerAscii(rest.front()));
        rest.remove_prefix(1);
      }
      const Unit* unit = FindWord(std::move(name));
      if (unit == nullptr || !GiveOnce(*unit, sums) || !Add(quantity, *unit, sums)) return false;
    }
    rest = TrimSpace(rest);
  }
  return true;
}

// "P1Y2M-3DT4H5M6.789S"; the P is behind us.
bool ReadIso(std::string_view rest, Sums* sums) {
  bool clock = false;
  if (rest.empty()) return false;
  while (!rest.empty()) {
    if (rest.front() == 'T') {
      if (clock || rest.size() == 1) return false;
      clock = true;
      rest.remove_prefix(1);
      continue;
    }
    Quantity quantity;
    TakeSign(&rest, &quantity.negative);
    if (!TakeDigits(&rest, &quantity.whole) || !TakeFraction(&rest, &quantity.millionths) || rest.empty()) {
      return false;
    }
    const Unit* unit = clock ? FindUnit(kClockDesignators, rest.substr(0, 1))
                             : FindUnit(kDateDesignators, rest.substr(0, 1));
    if (unit == nullptr || !Add(quantity, *unit, sums)) return false;
    rest.remove_prefix(1);
  }
  return true;
}

}  // namespace

base::Result<Interval> ParseInterval(std::string_view text) {
  using Int32 = std::numeric_limits<int32_t>;
  using Int64 = std::numeric_limits<int64_t>;
  text = TrimSpace(text);
  if (EqualsIgnoringCase(text, "infinity")) return Interval{Int64::max(), Int32::max(), Int32::max()};
  if (EqualsIgnoringCase(text, "-infinity")) return Interval{Int64::min(), Int32::min(), Int32::min()};
  Sums sums;
  const bool read =
      !text.empty() && text.front() == 'P' ? ReadIso(text.substr(1), &sums) : ReadPostgres(text, &sums);
  const auto fits = [](int64_t value) { return value >= Int32::min() && value <= Int32::max(); };
  if (!read || !fits(sums.days) || !fits(sums.months)) {
    return BadValue(
        "\"" + std::string(text.substr(0, 100)) +
        "\" is no interval; write it as 1 year 2 mons -3 days +04:05:06.789 or P1Y2M-3DT4H5M6.789S");
  }
  return Interval{sums.micros, static_cast<int32_t>(sums.days), static_cast<int32_t>(sums.months)};
}

}  // namespace varve::types
