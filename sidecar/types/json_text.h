// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sidecar/base/result.h"

namespace varve::types {

// Appends `text` as a JSON string with the escapes that jsonb prints (escape_json in json.c).
void AppendJsonString(std::string_view text, std::string* out);

enum class JsonToken : uint8_t {
  kEnd,
  kObjectStart,
  kObjectEnd,
  kArrayStart,
  kArrayEnd,
  kComma,
  kColon,
  kString,
  kNumber,
  kTrue,
  kFalse,
  kNull,
};

// Splits a JSON text into tokens by PostgreSQL's grammar (src/common/jsonapi.c), which is RFC 8259's. Borrows
// the text. One thread only.
class JsonLexer {
 public:
  explicit JsonLexer(std::string_view text) : text_(text) {}

  // The next token. Errors: kInvalidArgument; no more tokens may be asked for then.
  base::Result<JsonToken> Next();

  // The last token as it is written, quotes included.
  std::string_view raw() const { return text_.substr(start_, at_ - start_); }
  // Where the last token starts and where it ends.
  size_t start() const { return start_; }
  size_t end() const { return at_; }
  // The last string's value, escapes decoded.
  const std::string& string() const { return string_; }

 private:
  base::Result<JsonToken> LexString();
  base::Status LexEscape();
  base::Status LexUnicode();
  bool TakeHex(uint32_t* value);
  base::Result<JsonToken> LexNumber();
  base::Result<JsonToken> LexWord();
  bool SkipDigits();

  std::string_view text_;
  size_t start_ = 0;
  size_t at_ = 0;
  std::string string_;
};

enum class NumberForm : uint8_t {
  kJsonb,      // as jsonb prints it: the scale stays
  kCanonical,  // equal numbers, equal text
};

// Appends a JSON text as jsonb prints it: spacing, keys sorted (length, then bytes), the last of equal keys.
// Errors: kInvalidArgument where PostgreSQL's cast of json to jsonb fails.
base::Status AppendNormalJson(std::string_view text, NumberForm numbers, std::string* out);

}  // namespace varve::types
