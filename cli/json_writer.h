// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <string>
#include <string_view>

namespace varve::cli {

// An object with texts, put together member by member.
class JsonWriter {
 public:
  void Raw(std::string_view name, std::string_view json);
  void Text(std::string_view name, std::string_view value);
  void Flag(std::string_view name, bool value) { Raw(name, value ? "true" : "false"); }
  std::string Finish() { return text_ + "}"; }

 private:
  std::string text_ = "{";
};

template <typename Items, typename ToJson>
std::string ArrayJson(const Items& items, ToJson to_json) {
  std::string json = "[";
  for (const auto& item : items) {
    if (json.size() > 1) json += ',';
    json += to_json(item);
  }
  return json + "]";
}

std::string TextJson(const std::string& text);

}  // namespace varve::cli
