// SPDX-License-Identifier: PostgreSQL
#include <algorithm>
#include <optional>

#include "sidecar/types/bytes.h"
#include "sidecar/types/column_error.h"
#include "sidecar/types/json_text.h"
#include "sidecar/types/key.h"
#include "sidecar/types/key_encoding.h"
#include "sidecar/types/oids.h"

namespace varve::types {
namespace {

using base::ErrorCode;
using model::Column;
using model::Relation;
using KeyColumns = std::vector<const Column*>;

// One value of a written key: the text for the type's input rules.
struct Written {
  enum class Kind : uint8_t { kScalar, kNull, kContainer };
  Kind kind = Kind::kScalar;
  std::string text;  // of a string its value, of a container its JSON
};

tl::unexpected<base::Error> BadKey(const Relation& relation, std::string_view what) {
  return base::Fail(ErrorCode::kInvalidArgument,
                    "key of " + relation.QualifiedName() + ": " + std::string(what));
}

std::string ColumnList(const KeyColumns& columns) {
  std::string list;
  for (const Column* column : columns) list.append(list.empty() ? "" : ", ").append(column->name);
  return list;
}

// Reads the text of a key as far as columns are concerned; what is inside of a nested container is left to
// the column that it belongs to.
class KeyReader {
 public:
  KeyReader(const KeyColumns& columns, std::string_view text)
      : columns_(columns), text_(text), lexer_(text) {}

  // Values by key column.
  base::Result<std::vector<Written>> Read();

 private:
  base::Result<Written> ReadValue(JsonToken token);
  base::Status ReadArray(std::vector<Written>* values);
  base::Status ReadObject(std::vector<Written>* values);

  const KeyColumns& columns_;
  std::string_view text_;
  JsonLexer lexer_;
};

base::Result<Written> KeyReader::ReadValue(JsonToken token) {
  switch (token) {
    case JsonToken::kString: return Written{Written::Kind::kScalar, lexer_.string()};
    case JsonToken::kNumber:
    case JsonToken::kTrue:
    case JsonToken::kFalse: return Written{Written::Kind::kScalar, std::string(lexer_.raw())};
    case JsonToken::kNull: return Written{Written::Kind::kNull, ""};
    case JsonToken::kObjectStart:
    case JsonToken::kArrayStart: break;
    default: return BadValue("a value is missing");
  }
  const size_t start = lexer_.start();
  for (size_t depth = 1; depth > 0;) {
    ASSIGN_OR_RETURN(const JsonToken next, lexer_.Next());
    if (next == JsonToken::kEnd) return BadValue("a bracket is not closed");
    if (next == JsonToken::kObjectStart || next == JsonToken::kArrayStart) ++depth;
    if (next == JsonToken::kObjectEnd || next == JsonToken::kArrayEnd) --depth;
  }
  return Written{Written::Kind::kContainer, std::string(text_.substr(start, lexer_.end() - start))};
}

base::Status KeyReader::ReadArray(std::vector<Written>* values) {
  ASSIGN_OR_RETURN(JsonToken token, lexer_.Next());
  while (token != JsonToken::kArrayEnd) {
    ASSIGN_OR_RETURN(Written value, ReadValue(token));
    values->push_back(std::move(value));
    ASSIGN_OR_RETURN(token, lexer_.Next());
    if (token == JsonToken::kArrayEnd) break;
    if (token != JsonToken::kComma) return BadValue("a comma is missing");
    ASSIGN_OR_RETURN(token, lexer_.Next());
    if (token == JsonToken::kArrayEnd) return BadValue("a value is missing");
  }
  if (values->size() == columns_.size()) return {};
  return BadValue(std::to_string(values->size()) + " values for " + std::to_string(columns_.size()) +
                  " columns (" + ColumnList(columns_) + ")");
}

base::Status KeyReader::ReadObject(std::vector<Written>* values) {
  std::vector<std::optional<Written>> found(columns_.size());
  ASSIGN_OR_RETURN(JsonToken token, lexer_.Next());
  while (token != JsonToken::kObjectEnd) {
    if (token != JsonToken::kString) return BadValue("a column name is missing");
    const std::string name = lexer_.string();
    const auto column = std::find_if(columns_.begin(), columns_.end(),
                                     [&](const Column* candidate) { return candidate->name == name; });
    if (column == columns_.end()) {
      return BadValue("\"" + name + "\" is none of its columns (" + ColumnList(columns_) + ")");
    }
    auto& slot = found[static_cast<size_t>(column - columns_.begin())];
    if (slot) return BadValue("\"" + name + "\" is given twice");
    ASSIGN_OR_RETURN(token, lexer_.Next());
    if (token != JsonToken::kColon) return BadValue("a colon is missing");
    ASSIGN_OR_RETURN(token, lexer_.Next());
    ASSIGN_OR_RETURN(slot, ReadValue(token));
    ASSIGN_OR_RETURN(token, lexer_.Next());
    if (token == JsonToken::kObjectEnd) break;
    if (token != JsonToken::kComma) return BadValue("a comma is missing");
    ASSIGN_OR_RETURN(token, lexer_.Next());
    if (token == JsonToken::kObjectEnd) return BadValue("a column name is missing");
  }
  for (size_t i = 0; i < found.size(); ++i) {
    if (!found[i]) return BadValue("column \"" + columns_[i]->name + "\" is missing");
    values->push_back(*std::move(found[i]));
  }
  return {};
}

base::Result<std::vector<Written>> KeyReader::Read() {
  std::vector<Written> values;
  ASSIGN_OR_RETURN(JsonToken token, lexer_.Next());
  if (token == JsonToken::kArrayStart) {
    RETURN_IF_ERROR(ReadArray(&values));
  } else if (token == JsonToken::kObjectStart) {
    RETURN_IF_ERROR(ReadObject(&values));
  } else if (columns_.size() == 1) {
    ASSIGN_OR_RETURN(Written value, ReadValue(token));
    values.push_back(std::move(value));
  } else {
    return BadValue("it has several columns (" + ColumnList(columns_) + "): write an array or an object");
  }
  ASSIGN_OR_RETURN(token, lexer_.Next());
  if (token != JsonToken::kEnd) return BadValue("there is more behind its value");
  return values;
}

// Whether the text is one JSON value; anything else may be a bare string.
bool IsJson(std::string_view text) {
  std::string ignored;
  return AppendNormalJson(text, NumberForm::kJsonb, &ignored).has_value();
}

base::Result<std::string> ColumnText(const Relation& relation, const Column& column, const Written& value) {
  const auto fail = [&](std::string_view what) {
    return base::Fail(ErrorCode::kInvalidArgument, ColumnName(relation, column) + ": " + std::string(what));
  };
  switch (value.kind) {
    case Written::Kind::kScalar: return value.text;
    case Written::Kind::kNull: return fail("a key has no null");
    case Written::Kind::kContainer: break;
  }
  if (column.base_type_oid == kJsonbOid) return value.text;
  return fail("an array or object is no value of it; write the text that psql shows, as a JSON string");
}

}  // namespace

base::Result<std::string> ParseKey(const Relation& relation, std::string_view text) {
  ASSIGN_OR_RETURN(const KeyColumns columns, RequireKey(relation));
  std::vector<Written> values;
  if (columns.size() == 1 && !IsJson(text)) {
    values.push_back(Written{Written::Kind::kScalar, std::string(text)});
  } else {
    auto read = KeyReader(columns, text).Read();
    if (!read) return BadKey(relation, read.error().message);
    values = *std::move(read);
  }
  std::string key;
  for (size_t i = 0; i < columns.size(); ++i) {
    ASSIGN_OR_RETURN(const std::string written, ColumnText(relation, *columns[i], values[i]));
    ASSIGN_OR_RETURN(const std::string value, ParseValue(relation, *columns[i], written));
    RETURN_IF_ERROR(AppendKeyColumn(relation, *columns[i], value, &key));
  }
  return key;
}

}  // namespace varve::types
