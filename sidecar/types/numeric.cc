// SPDX-License-Identifier: PostgreSQL
#include "sidecar/types/numeric.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "sidecar/types/bytes.h"

namespace varve::types {
namespace {

constexpr int kDigitsPerGroup = 4;  // DEC_DIGITS
constexpr uint16_t kBase = 10000;   // NBASE
constexpr int kScaleMax = 0x3FFF;   // NUMERIC_DSCALE_MAX
constexpr size_t kTextMax = size_t{1} << 30;

// Sign field of the send form.
constexpr uint16_t kPositive = 0x0000;
constexpr uint16_t kNegative = 0x4000;
constexpr uint16_t kNaN = 0xC000;
constexpr uint16_t kInfinity = 0xD000;
constexpr uint16_t kMinusInfinity = 0xF000;

// First byte of a key. Persisted: never renumber.
constexpr char kKeyMinusInfinity = 0x10;
constexpr char kKeyNegative = 0x20;
constexpr char kKeyZero = 0x30;
constexpr char kKeyPositive = 0x40;
constexpr char kKeyInfinity = 0x50;
constexpr char kKeyNaN = 0x60;

tl::unexpected<base::Error> Malformed() { return BadValue("the bytes are no numeric"); }
tl::unexpected<base::Error> Overflow() { return BadValue("value overflows numeric format"); }

tl::unexpected<base::Error> Syntax(std::string_view text) {
  return BadValue("invalid input syntax for type numeric: \"" + std::string(text.substr(0, 100)) + "\"");
}

// Drops zero groups at both ends, as strip_var does.
void Strip(Numeric* numeric) {
  auto& digits = numeric->digits;
  while (!digits.empty() && digits.back() == 0) digits.pop_back();
  const auto first = std::find_if(digits.begin(), digits.end(), [](uint16_t digit) { return digit != 0; });
  numeric->weight -= static_cast<int32_t>(first - digits.begin());
  digits.erase(digits.begin(), first);
  if (digits.empty()) {
    numeric->weight = 0;
    numeric->negative = false;
  }
}

bool ParseSpecial(std::string_view text, Numeric* numeric) {
  if (EqualsIgnoringCase(text, "nan")) {
    numeric->kind = Numeric::Kind::kNaN;
    return true;
  }
  bool negative = false;
  if (!text.empty() && (text.front() == '+' || text.front() == '-')) {
    negative = text.front() == '-';
    text.remove_prefix(1);
  }
  if (!EqualsIgnoringCase(text, "infinity") && !EqualsIgnoringCase(text, "inf")) return false;
  numeric->kind = negative ? Numeric::Kind::kMinusInfinity : Numeric::Kind::kInfinity;
  return true;
}

// The parts of a decimal text.
struct Decimal {
  bool negative = false;
  std::string digits;
  int64_t weight = -1;  // power of ten of the first digit
  int64_t scale = 0;
};

base::Status ScanExponent(std::string_view text, std::string_view rest, Decimal* decimal) {
  rest.remove_prefix(1);
  if (!rest.empty() && rest.front() == '+') {
    rest.remove_prefix(1);
    if (!rest.empty() && rest.front() == '-') return Syntax(text);
  }
  int64_t exponent = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), exponent);
  if (error == std::errc::invalid_argument || end != rest.data() + rest.size()) return Syntax(text);
  constexpr int64_t kExponentMax = std::numeric_limits<int32_t>::max() / 2;
  if (error != std::errc() || exponent >= kExponentMax || exponent <= -kExponentMax) return Overflow();
  decimal->weight += exponent;
  decimal->scale = std::max<int64_t>(decimal->scale - exponent, 0);
  return {};
}

base::Status ScanDecimal(std::string_view text, Decimal* decimal) {
  std::string_view rest = text;
  if (!rest.empty() && (rest.front() == '+' || rest.front() == '-')) {
    decimal->negative = rest.front() == '-';
    rest.remove_prefix(1);
  }
  bool point = false;
  while (!rest.empty()) {
    const char c = rest.front();
    if (IsDigit(c)) {
      decimal->digits.push_back(c);
      if (point) {
        ++decimal->scale;
      } else {
        ++decimal->weight;
      }
    } else if (c == '.' && !point) {
      point = true;
    } else {
      break;
    }
    rest.remove_prefix(1);
  }
  if (decimal->digits.empty()) return Syntax(text);
  if (rest.empty()) return {};
  if (LowerAscii(rest.front()) != 'e') return Syntax(text);
  return ScanExponent(text, rest, decimal);
}

// Appends one group of four decimal digits, leading zeros included.
void AppendGroup(uint16_t group, std::string* out) {
  const std::array<char, kDigitsPerGroup> text = {
      static_cast<char>('0' + group / 1000), static_cast<char>('0' + group / 100 % 10),
      static_cast<char>('0' + group / 10 % 10), static_cast<char>('0' + group % 10)};
  out->append(text.data(), text.size());
}

uint16_t GroupAt(const Numeric& numeric, int64_t index) {
  return index >= 0 && index < static_cast<int64_t>(numeric.digits.size())
             ? numeric.digits[static_cast<size_t>(index)]
             : uint16_t{0};
}

void AppendFinite(const Numeric& numeric, std::string* out) {
  if (numeric.negative) out->push_back('-');
  if (numeric.weight < 0) {
    out->push_back('0');
  } else {
    const size_t start = out->size();
    for (int64_t i = 0; i <= numeric.weight; ++i) {
      AppendGroup(GroupAt(numeric, i), out);
      if (i == 0) {
        const size_t digit = std::min(out->find_first_not_of('0', start), out->size() - 1);
        out->erase(start, digit - start);
      }
    }
  }
  if (numeric.scale == 0) return;
  out->push_back('.');
  const size_t end = out->size() + numeric.scale;
  for (int64_t i = int64_t{numeric.weight} + 1; out->size() < end; ++i) AppendGroup(GroupAt(numeric, i), out);
  out->resize(end);
}

}  // namespace

base::Status DecodeNumeric(std::string_view bytes, Numeric* numeric) {
  uint16_t count = 0;
  int16_t weight = 0;
  uint16_t sign = 0;
  uint16_t scale = 0;
  if (!TakeBig(&bytes, &count) || !TakeBig(&bytes, &weight) || !TakeBig(&bytes, &sign) ||
      !TakeBig(&bytes, &scale) || bytes.size() != size_t{count} * 2) {
    return Malformed();
  }
  *numeric = Numeric{};
  if (sign == kNaN) {
    numeric->kind = Numeric::Kind::kNaN;
  } else if (sign == kInfinity) {
    numeric->kind = Numeric::Kind::kInfinity;
  } else if (sign == kMinusInfinity) {
    numeric->kind = Numeric::Kind::kMinusInfinity;
  } else if ((sign != kPositive && sign != kNegative) || scale > kScaleMax) {
    return Malformed();
  }
  if (numeric->kind != Numeric::Kind::kFinite) return {};
  numeric->negative = sign == kNegative;
  numeric->weight = weight;
  numeric->scale = scale;
  numeric->digits.resize(count);
  for (uint16_t& digit : numeric->digits) {
    if (!TakeBig(&bytes, &digit) || digit >= kBase) return Malformed();
  }
  Strip(numeric);
  if (numeric->weight < std::numeric_limits<int16_t>::min()) return Malformed();
  return {};
}

base::Status ParseNumeric(std::string_view text, Numeric* numeric) {
  text = TrimSpace(text);
  *numeric = Numeric{};
  if (ParseSpecial(text, numeric)) return {};
  Decimal decimal;
  RETURN_IF_ERROR(ScanDecimal(text, &decimal));
  // Zeros in front are dropped first, so that the weight below is that of a digit that counts.
  const size_t first = std::min(decimal.digits.find_first_not_of('0'), decimal.digits.size());
  decimal.weight -= static_cast<int64_t>(first);
  if (decimal.scale > kScaleMax) return Overflow();
  numeric->scale = static_cast<uint16_t>(decimal.scale);
  if (first == decimal.digits.size()) return {};
  numeric->negative = decimal.negative;
  int64_t weight = decimal.weight / kDigitsPerGroup;
  if (decimal.weight < 0 && decimal.weight % kDigitsPerGroup != 0) --weight;
  if (weight > std::numeric_limits<int16_t>::max() || weight < std::numeric_limits<int16_t>::min()) {
    return Overflow();
  }
  numeric->weight = static_cast<int32_t>(weight);
  // `place` is where in its group of four a digit stands.
  auto place = static_cast<size_t>(kDigitsPerGroup - 1 - (decimal.weight - weight * kDigitsPerGroup));
  constexpr std::array<uint16_t, kDigitsPerGroup> kValue = {1000, 100, 10, 1};
  numeric->digits.reserve((decimal.digits.size() - first + place) / kDigitsPerGroup + 1);
  numeric->digits.push_back(0);
  for (size_t i = first; i < decimal.digits.size(); ++i) {
    if (place == kDigitsPerGroup) {
      numeric->digits.push_back(0);
      place = 0;
    }
    numeric->digits.back() =
        static_cast<uint16_t>(numeric->digits.back() + (decimal.digits[i] - '0') * kValue[place++]);
  }
  Strip(numeric);
  return {};
}

void AppendNumericBinary(const Numeric& numeric, std::string* out) {
  uint16_t sign = numeric.negative ? kNegative : kPositive;
  uint16_t scale = numeric.scale;
  switch (numeric.kind) {
    case Numeric::Kind::kFinite: break;
    case Numeric::Kind::kNaN: sign = kNaN; break;
    // numeric_send prints the special header's low bits as the scale.
    case Numeric::Kind::kInfinity: sign = kInfinity, scale = 0x20; break;
    case Numeric::Kind::kMinusInfinity: sign = kMinusInfinity, scale = 0x20; break;
  }
  AppendBig(out, static_cast<uint16_t>(numeric.digits.size()));
  AppendBig(out, static_cast<int16_t>(numeric.weight));
  AppendBig(out, sign);
  AppendBig(out, scale);
  for (const uint16_t digit : numeric.digits) AppendBig(out, digit);
}

base::Status AppendNumericText(const Numeric& numeric, std::string* out) {
  switch (numeric.kind) {
    case Numeric::Kind::kNaN: out->append("NaN"); return {};
    case Numeric::Kind::kInfinity: out->append("Infinity"); return {};
    case Numeric::Kind::kMinusInfinity: out->append("-Infinity"); return {};
    case Numeric::Kind::kFinite: break;
  }
  if (out->size() > kTextMax) return BadValue("the text of the row is longer than 1 GiB");
  AppendFinite(numeric, out);
  return {};
}

base::Status AppendNumericCanonical(const Numeric& numeric, std::string* out) {
  RETURN_IF_ERROR(AppendNumericText(numeric, out));
  if (numeric.kind != Numeric::Kind::kFinite || numeric.scale == 0) return {};
  const size_t last = out->find_last_not_of('0');
  out->resize((*out)[last] == '.' ? last : last + 1);
  return {};
}

void AppendNumericKey(const Numeric& numeric, std::string* out) {
  switch (numeric.kind) {
    case Numeric::Kind::kMinusInfinity: out->push_back(kKeyMinusInfinity); return;
    case Numeric::Kind::kInfinity: out->push_back(kKeyInfinity); return;
    case Numeric::Kind::kNaN: out->push_back(kKeyNaN); return;
    case Numeric::Kind::kFinite: break;
  }
  if (numeric.digits.empty()) {
    out->push_back(kKeyZero);
    return;
  }
  // Digits are shifted by one so that the end, 0000, sorts below every digit; all of it is complemented for
  // negatives, whose order is the other way round.
  out->push_back(numeric.negative ? kKeyNegative : kKeyPositive);
  const uint16_t flip = numeric.negative ? 0xFFFF : 0x0000;
  constexpr int32_t kWeightBias = 32768;
  AppendBig(out, static_cast<uint16_t>(static_cast<uint16_t>(numeric.weight + kWeightBias) ^ flip));
  for (const uint16_t digit : numeric.digits) AppendBig(out, static_cast<uint16_t>((digit + 1) ^ flip));
  AppendBig(out, flip);
}

base::Status AppendNumberJson(std::string_view text, std::string* out) {
  // Plain integers, nearly all numbers there are, read the same afterwards.
  constexpr size_t kPlainMax = 100;
  const std::string_view digits = !text.empty() && text.front() == '-' ? text.substr(1) : text;
  if (!digits.empty() && digits.size() < kPlainMax && digits.front() != '0' &&
      std::all_of(digits.begin(), digits.end(), IsDigit)) {
    out->append(text);
    return {};
  }
  Numeric numeric;
  RETURN_IF_ERROR(ParseNumeric(text, &numeric));
  return AppendNumericText(numeric, out);
}

}  // namespace varve::types
