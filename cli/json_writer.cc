// SPDX-License-Identifier: PostgreSQL
#include "cli/json_writer.h"

#include "cli/json.h"

namespace varve::cli {

void JsonWriter::Raw(std::string_view name, std::string_view json) {
  if (text_.size() > 1) text_ += ',';
  AppendJsonString(name, &text_);
  text_ += ':';
  text_ += json;
}

void JsonWriter::Text(std::string_view name, std::string_view value) {
  std::string json;
  AppendJsonString(value, &json);
  Raw(name, json);
}

std::string TextJson(const std::string& text) {
  std::string json;
  AppendJsonString(text, &json);
  return json;
}

}  // namespace varve::cli
