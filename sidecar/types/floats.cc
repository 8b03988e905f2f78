// SPDX-License-Identifier: PostgreSQL
#include "sidecar/types/floats.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>

namespace varve::types {
namespace {

// A decimal text in scientific form, taken apart: digits x 10^exponent, digits without point.
struct Shortest {
  std::array<char, 24> digits{};
  size_t count = 0;
  int exponent = 0;  // of the first digit
};

template <typename Float>
Shortest Scientific(Float value, int precision) {
  std::array<char, 64> text{};
  const auto end =
      precision < 0
          ? std::to_chars(text.begin(), text.end(), value, std::chars_format::scientific)
          : std::to_chars(text.begin(), text.end(), value, std::chars_format::scientific, precision);
  Shortest shortest;
  const char* at = text.begin();
  for (; *at != 'e'; ++at) {
    if (*at != '.') shortest.digits[shortest.count++] = *at;
  }
  ++at;
  if (*at == '+') ++at;
  std::from_chars(at, end.ptr, shortest.exponent);
  while (shortest.count > 1 && shortest.digits[shortest.count - 1] == '0') --shortest.count;
  return shortest;
}

// odd * 2^twos, odd part only when it fits.
struct Odd {
  uint64_t odd = 0;
  int twos = 0;
};

Odd Split(uint64_t value) {
  Odd result{value, 0};
  while ((result.odd & 1) == 0) {
    result.odd >>= 1;
    ++result.twos;
  }
  return result;
}

// odd part x 5^power; 0 when it does not fit 64 bits, in which case it equals no boundary.
uint64_t TimesFives(uint64_t odd, int power) {
  for (; power > 0; --power) {
    if (odd > std::numeric_limits<uint64_t>::max() / 5) return 0;
    odd *= 5;
  }
  return odd;
}

// Whether the decimal lies exactly half-way between `value` and a neighbour. PostgreSQL does not accept such
// texts (other readers may round them to the neighbour), std::to_chars does when the number is even.
template <typename Float>
bool IsBoundary(Float value, const Shortest& decimal) {
  uint64_t digits = 0;
  std::from_chars(decimal.digits.data(), decimal.digits.data() + decimal.count, digits);
  const int ten = decimal.exponent - static_cast<int>(decimal.count) + 1;
  const Odd text = Split(digits);
  constexpr int kMantissaBits = std::numeric_limits<Float>::digits;
  constexpr int kExponentMin = std::numeric_limits<Float>::min_exponent - kMantissaBits;
  int binary = 0;
  std::frexp(value, &binary);
  int exponent = binary - kMantissaBits;
  if (exponent < kExponentMin) exponent = kExponentMin;
  const auto mantissa = static_cast<uint64_t>(std::ldexp(value, -exponent));
  const bool narrow_below =
      mantissa == uint64_t{1} << (kMantissaBits - 1) && exponent > kExponentMin;  // a power of two
  const std::array<Odd, 2> boundaries = {
      Odd{2 * mantissa + 1, exponent - 1},
      narrow_below ? Odd{4 * mantissa - 1, exponent - 2} : Odd{2 * mantissa - 1, exponent - 1}};
  for (const Odd& boundary : boundaries) {
    // digits x 10^ten = boundary, with the fives on the side where they are whole.
    const uint64_t left = ten >= 0 ? TimesFives(text.odd, ten) : text.odd;
    const uint64_t right = ten >= 0 ? boundary.odd : TimesFives(boundary.odd, -ten);
    if (left != 0 && left == right && text.twos + ten == boundary.twos) return true;
  }
  return false;
}

template <typename Float>
bool RoundTrips(Float value, const Shortest& decimal) {
  std::array<char, 40> text{};
  char* at = text.begin();
  for (size_t i = 0; i < decimal.count; ++i) *at++ = decimal.digits[i];
  *at++ = 'e';
  at = std::to_chars(at, text.end(), decimal.exponent - static_cast<int>(decimal.count) + 1).ptr;
  Float back = 0;
  std::from_chars(text.begin(), at, back);
  return back == value;
}

template <typename Float>
Shortest ShortestInside(Float value) {
  Shortest shortest = Scientific(value, -1);
  if (!IsBoundary(value, shortest)) return shortest;
  for (int count = static_cast<int>(shortest.count); count <= std::numeric_limits<Float>::max_digits10;
       ++count) {
    const Shortest candidate = Scientific(value, count - 1);
    if (RoundTrips(value, candidate) && !IsBoundary(value, candidate)) return candidate;
  }
  return shortest;
}

void AppendExponent(int exponent, std::string* out) {
  out->push_back('e');
  out->push_back(exponent < 0 ? '-' : '+');
  exponent = std::abs(exponent);
  if (exponent < 10) out->push_back('0');
  out->append(std::to_string(exponent));
}

template <typename Float>
void Append(Float value, std::string* out) {
  if (std::isnan(value)) {
    out->append("NaN");
    return;
  }
  if (std::signbit(value)) out->push_back('-');
  value = std::abs(value);
  if (std::isinf(value)) {
    out->append("Infinity");
    return;
  }
  if (value == 0) {
    out->push_back('0');
    return;
  }
  // Outside these powers PostgreSQL changes to scientific form.
  constexpr int kPlainMin = -4;
  constexpr int kPlainMax = std::numeric_limits<Float>::digits10;
  const Shortest shortest = ShortestInside(value);
  const std::string_view digits(shortest.digits.data(), shortest.count);
  if (shortest.exponent < kPlainMin || shortest.exponent >= kPlainMax) {
    out->push_back(digits.front());
    if (digits.size() > 1) out->append(1, '.').append(digits.substr(1));
    AppendExponent(shortest.exponent, out);
  } else if (shortest.exponent < 0) {
    out->append("0.").append(static_cast<size_t>(-shortest.exponent - 1), '0').append(digits);
  } else {
    const auto whole = static_cast<size_t>(shortest.exponent) + 1;
    if (digits.size() <= whole) {
      out->append(digits).append(whole - digits.size(), '0');
    } else {
      out->append(digits.substr(0, whole)).append(1, '.').append(digits.substr(whole));
    }
  }
}

}  // namespace

void AppendFloatText(float value, std::string* out) { Append(value, out); }
void AppendFloatText(double value, std::string* out) { Append(value, out); }

}  // namespace varve::types
