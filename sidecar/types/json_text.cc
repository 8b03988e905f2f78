// SPDX-License-Identifier: PostgreSQL
#include "sidecar/types/json_text.h"

#include <algorithm>
#include <array>

#include "sidecar/types/bytes.h"

namespace varve::types {
namespace {

constexpr uint32_t kHighSurrogate = 0xD800;
constexpr uint32_t kLowSurrogate = 0xDC00;
constexpr uint32_t kSurrogateEnd = 0xE000;

bool IsJsonSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

bool IsWordCharacter(char c) {
  return IsDigit(c) || c == '_' || (LowerAscii(c) >= 'a' && LowerAscii(c) <= 'z') ||
         (static_cast<uint8_t>(c) & 0x80U) != 0;
}

tl::unexpected<base::Error> Invalid(std::string_view what) {
  return BadValue("invalid JSON: " + std::string(what));
}

void AppendUtf8(uint32_t code, std::string* out) {
  const auto put = [&](uint32_t byte) { out->push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | (code >> 6));
    put(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    put(0xE0 | (code >> 12));
    put(0x80 | ((code >> 6) & 0x3F));
    put(0x80 | (code & 0x3F));
  } else {
    put(0xF0 | (code >> 18));
    put(0x80 | ((code >> 12) & 0x3F));
    put(0x80 | ((code >> 6) & 0x3F));
    put(0x80 | (code & 0x3F));
  }
}

// The letter after the backslash, 'u' for other control characters, 0 for none.
constexpr std::array<char, 256> MakeEscapes() {
  std::array<char, 256> escapes{};
  for (size_t c = 0; c < ' '; ++c) escapes[c] = 'u';
  escapes['\b'] = 'b';
  escapes['\f'] = 'f';
  escapes['\n'] = 'n';
  escapes['\r'] = 'r';
  escapes['\t'] = 't';
  escapes['"'] = '"';
  escapes['\\'] = '\\';
  return escapes;
}
constexpr std::array<char, 256> kEscapes = MakeEscapes();

}  // namespace

void AppendJsonString(std::string_view text, std::string* out) {
  constexpr std::string_view kHex = "0123456789abcdef";
  out->push_back('"');
  size_t plain = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<uint8_t>(text[i]);
    const char escape = kEscapes[byte];
    if (escape == 0) [[likely]] {
      continue;
    }
    out->append(text.substr(plain, i - plain));
    plain = i + 1;
    out->push_back('\\');
    out->push_back(escape);
    if (escape == 'u') out->append("00").append(1, kHex[byte >> 4]).append(1, kHex[byte & 15]);
  }
  out->append(text.substr(plain)).append(1, '"');
}

base::Result<JsonToken> JsonLexer::Next() {
  while (at_ < text_.size() && IsJsonSpace(text_[at_])) ++at_;
  start_ = at_;
  if (at_ == text_.size()) return JsonToken::kEnd;
  const char c = text_[at_];
  switch (c) {
    case '{': ++at_; return JsonToken::kObjectStart;
    case '}': ++at_; return JsonToken::kObjectEnd;
    case '[': ++at_; return JsonToken::kArrayStart;
    case ']': ++at_; return JsonToken::kArrayEnd;
    case ',': ++at_; return JsonToken::kComma;
    case ':': ++at_; return JsonToken::kColon;
    case '"': return LexString();
    default: break;
  }
  if (c == '-' || IsDigit(c)) return LexNumber();
  return LexWord();
}

base::Result<JsonToken> JsonLexer::LexString() {
  string_.clear();
  ++at_;
  while (true) {
    const size_t plain = at_;
    while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\\' &&
           static_cast<uint8_t>(text_[at_]) >= ' ') {
      ++at_;
    }
    string_.append(text_.substr(plain, at_ - plain));
    if (at_ == text_.size()) return Invalid("a string does not end");
    if (static_cast<uint8_t>(text_[at_]) < ' ') return Invalid("a control character in a string");
    if (text_[at_++] == '"') return JsonToken::kString;
    RETURN_IF_ERROR(LexEscape());
  }
}

base::Status JsonLexer::LexEscape() {
  if (at_ == text_.size()) return Invalid("a string does not end");
  switch (text_[at_++]) {
    case '"': string_.push_back('"'); return {};
    case '\\': string_.push_back('\\'); return {};
    case '/': string_.push_back('/'); return {};
    case 'b': string_.push_back('\b'); return {};
    case 'f': string_.push_back('\f'); return {};
    case 'n': string_.push_back('\n'); return {};
    case 'r': string_.push_back('\r'); return {};
    case 't': string_.push_back('\t'); return {};
    case 'u': return LexUnicode();
    default: return Invalid("unknown escape in a string");
  }
}

bool JsonLexer::TakeHex(uint32_t* value) {
  constexpr size_t kDigits = 4;
  if (text_.size() - at_ < kDigits) return false;
  *value = 0;
  for (const char c : text_.substr(at_, kDigits)) {
    const char lower = LowerAscii(c);
    if (!IsDigit(c) && (lower < 'a' || lower > 'f')) return false;
    *value = *value * 16 + static_cast<uint32_t>(IsDigit(c) ? c - '0' : lower - 'a' + 10);
  }
  at_ += kDigits;
  return true;
}

base::Status JsonLexer::LexUnicode() {
  uint32_t code = 0;
  if (!TakeHex(&code)) return Invalid("\\u must be followed by four hexadecimal digits");
  if (code == 0) return Invalid("\\u0000 cannot be converted to text, so that jsonb does not take it");
  if (code >= kLowSurrogate && code < kSurrogateEnd) {
    return Invalid("a Unicode low surrogate must follow a high surrogate");
  }
  if (code >= kHighSurrogate && code < kLowSurrogate) {
    uint32_t low = 0;
    if (text_.substr(at_, 2) != "\\u" || (at_ += 2, !TakeHex(&low)) || low < kLowSurrogate ||
        low >= kSurrogateEnd) {
      return Invalid("a Unicode low surrogate must follow a high surrogate");
    }
    code = 0x10000 + ((code - kHighSurrogate) << 10) + (low - kLowSurrogate);
  }
  AppendUtf8(code, &string_);
  return {};
}

bool JsonLexer::SkipDigits() {
  const size_t before = at_;
  while (at_ < text_.size() && IsDigit(text_[at_])) ++at_;
  return at_ > before;
}

base::Result<JsonToken> JsonLexer::LexNumber() {
  if (text_[at_] == '-') ++at_;
  const size_t first = at_;
  if (!SkipDigits()) return Invalid("a number without digits");
  if (text_[first] == '0' && at_ - first > 1) return Invalid("a number that starts with 0");
  if (at_ < text_.size() && text_[at_] == '.') {
    ++at_;
    if (!SkipDigits()) return Invalid("a number without digits after its point");
  }
  if (at_ < text_.size() && LowerAscii(text_[at_]) == 'e') {
    ++at_;
    if (at_ < text_.size() && (text_[at_] == '+' || text_[at_] == '-')) ++at_;
    if (!SkipDigits()) return Invalid("a number without digits in its exponent");
  }
  if (at_ < text_.size() && IsWordCharacter(text_[at_])) return Invalid("letters behind a number");
  return JsonToken::kNumber;
}

base::Result<JsonToken> JsonLexer::LexWord() {
  while (at_ < text_.size() && IsWordCharacter(text_[at_])) ++at_;
  const std::string_view word = raw();
  if (word == "true") return JsonToken::kTrue;
  if (word == "false") return JsonToken::kFalse;
  if (word == "null") return JsonToken::kNull;
  return Invalid("unexpected \"" + std::string(word.empty() ? text_.substr(at_, 1) : word.substr(0, 50)) +
                 "\"");
}

}  // namespace varve::types
