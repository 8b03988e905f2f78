// SPDX-License-Identifier: PostgreSQL
#include "cli/json.h"

#include <charconv>

#include <fmt/format.h>

namespace varve::cli {

using base::ErrorCode;
using base::Fail;

namespace {

constexpr int kDepthMax = 10'000;

tl::unexpected<base::Error> Bad() { return Fail(ErrorCode::kInvalidArgument, "the answer is no valid JSON"); }

bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

void SkipBlanks(std::string_view* text) {
  while (!text->empty() && IsBlank(text->front())) text->remove_prefix(1);
}

bool Take(std::string_view* text, char c) {
  SkipBlanks(text);
  if (text->empty() || text->front() != c) return false;
  text->remove_prefix(1);
  return true;
}

// The length of the string at the front, its quotes included, 0 when it does not end.
size_t StringLength(std::string_view text) {
  for (size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      return i + 1;
    }
  }
  return 0;
}

// Takes one value; only brackets and strings are looked at, which is enough to find its end.
base::Result<std::string_view> TakeValue(std::string_view* text) {
  SkipBlanks(text);
  const std::string_view whole = *text;
  size_t length = 0;
  int depth = 0;
  do {
    if (length >= whole.size() || depth > kDepthMax) return Bad();
    const char c = whole[length];
    if (c == '"') {
      const size_t string = StringLength(whole.substr(length));
      if (string == 0) return Bad();
      length += string;
      continue;
    }
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    if (depth < 0 || (depth == 0 && (c == ',' || c == ':'))) return Bad();
    ++length;
    if (depth == 0 && c != '}' && c != ']') {
      // A number or a word: up to what cannot belong to it.
      while (length < whole.size() &&
             std::string_view(",:]} \t\r\n\"{[").find(whole[length]) == std::string_view::npos) {
        ++length;
      }
    }
  } while (depth > 0);
  text->remove_prefix(length);
  return whole.substr(0, length);
}

void AppendUtf8(uint32_t code, std::string* out) {
  if (code < 0x80) {
    *out += static_cast<char>(code);
  } else if (code < 0x800) {
    *out += static_cast<char>(0xC0 | (code >> 6));
    *out += static_cast<char>(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    *out += static_cast<char>(0xE0 | (code >> 12));
    *out += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
    *out += static_cast<char>(0x80 | (code & 0x3F));
  } else {
    *out += static_cast<char>(0xF0 | (code >> 18));
    *out += static_cast<char>(0x80 | ((code >> 12) & 0x3F));
    *out += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
    *out += static_cast<char>(0x80 | (code & 0x3F));
  }
}

// The four hexadecimal digits behind "\u"; nothing when there are none.
std::optional<uint32_t> TakeHex(std::string_view* text) {
  uint32_t value = 0;
  if (text->size() < 4) return std::nullopt;
  const auto [end, error] = std::from_chars(text->data(), text->data() + 4, value, 16);
  if (error != std::errc() || end != text->data() + 4) return std::nullopt;
  text->remove_prefix(4);
  return value;
}

bool TakeEscape(std::string_view* text, std::string* out) {
  const char c = text->front();
  text->remove_prefix(1);
  constexpr std::string_view kFrom = "\"\\/bfnrt";
  constexpr std::string_view kTo = "\"\\/\b\f\n\r\t";
  if (const size_t at = kFrom.find(c); at != std::string_view::npos) {
    *out += kTo[at];
    return true;
  }
  if (c != 'u') return false;
  std::optional<uint32_t> code = TakeHex(text);
  if (!code) return false;
  if (*code >= 0xD800 && *code < 0xDC00) {
    if (text->substr(0, 2) != "\\u") return false;
    text->remove_prefix(2);
    const std::optional<uint32_t> low = TakeHex(text);
    if (!low || *low < 0xDC00 || *low > 0xDFFF) return false;
    code = 0x10000 + ((*code - 0xD800) << 10) + (*low - 0xDC00);
  }
  AppendUtf8(*code, out);
  return true;
}

}  // namespace

base::Result<std::vector<JsonMember>> JsonMembers(std::string_view text) {
  std::vector<JsonMember> members;
  if (!Take(&text, '{')) return Bad();
  if (!Take(&text, '}')) {
    do {
      ASSIGN_OR_RETURN(const std::string_view name, TakeValue(&text));
      std::optional<std::string> decoded = JsonString(name);
      if (!decoded || !Take(&text, ':')) return Bad();
      ASSIGN_OR_RETURN(const std::string_view value, TakeValue(&text));
      members.push_back(JsonMember{*std::move(decoded), value});
    } while (Take(&text, ','));
    if (!Take(&text, '}')) return Bad();
  }
  SkipBlanks(&text);
  if (!text.empty()) return Bad();
  return members;
}

base::Result<std::vector<std::string_view>> JsonItems(std::string_view text) {
  std::vector<std::string_view> items;
  if (!Take(&text, '[')) return Bad();
  if (!Take(&text, ']')) {
    do {
      ASSIGN_OR_RETURN(const std::string_view value, TakeValue(&text));
      items.push_back(value);
    } while (Take(&text, ','));
    if (!Take(&text, ']')) return Bad();
  }
  SkipBlanks(&text);
  if (!text.empty()) return Bad();
  return items;
}

std::optional<std::string> JsonString(std::string_view value) {
  if (value.size() < 2 || value.front() != '"' || value.back() != '"') return std::nullopt;
  value = value.substr(1, value.size() - 2);
  std::string text;
  while (!value.empty()) {
    const char c = value.front();
    value.remove_prefix(1);
    if (c != '\\') {
      text += c;
    } else if (value.empty() || !TakeEscape(&value, &text)) {
      return std::nullopt;
    }
  }
  return text;
}

std::optional<std::string> JsonForPeople(std::string_view value) {
  if (value == "null") return std::nullopt;
  std::optional<std::string> text = JsonString(value);
  return text ? text : std::string(value);
}

base::Result<JsonObject> JsonObject::Parse(std::string_view object) {
  JsonObject parsed;
  ASSIGN_OR_RETURN(parsed.members_, JsonMembers(object));
  return parsed;
}

std::string_view JsonObject::Raw(std::string_view name) const {
  for (const JsonMember& member : members_) {
    if (member.name == name) return member.value;
  }
  return {};
}

std::string JsonObject::Text(std::string_view name) const { return JsonForPeople(Raw(name)).value_or(""); }

uint64_t JsonObject::Count(std::string_view name) const {
  uint64_t value = 0;
  const std::string_view raw = Raw(name);
  std::from_chars(raw.data(), raw.data() + raw.size(), value);
  return value;
}

JsonObject JsonObject::Object(std::string_view name) const {
  base::Result<JsonObject> object = Parse(Raw(name));
  return object ? *std::move(object) : JsonObject();
}

std::vector<std::string_view> JsonObject::Items(std::string_view name) const {
  base::Result<std::vector<std::string_view>> items = JsonItems(Raw(name));
  return items ? *std::move(items) : std::vector<std::string_view>();
}

void AppendJsonString(std::string_view text, std::string* out) {
  *out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      *out += '\\';
      *out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      *out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      *out += c;
    }
  }
  *out += '"';
}

}  // namespace varve::cli
