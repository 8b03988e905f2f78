// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sidecar/base/result.h"

namespace varve::cli {

// JSON taken apart without being changed: a value stays the text that it was, so that numbers keep their
// digits and a row can be printed as it came. Views borrow from the text.

struct JsonMember {
  std::string name;
  std::string_view value;
};

// Errors: kInvalidArgument for anything but one whole object or array.
base::Result<std::vector<JsonMember>> JsonMembers(std::string_view object);
base::Result<std::vector<std::string_view>> JsonItems(std::string_view array);

// What a JSON string says; nothing for any other value.
std::optional<std::string> JsonString(std::string_view value);
// A value as people see it: strings without quotes, null as nothing, everything else as it is.
std::optional<std::string> JsonForPeople(std::string_view value);

// The members of an object, by name.
class JsonObject {
 public:
  static base::Result<JsonObject> Parse(std::string_view object);

  // Empty when there is no such member.
  std::string_view Raw(std::string_view name) const;
  bool Has(std::string_view name) const { return !Raw(name).empty(); }
  // A string's contents or any other value's text; empty when there is none.
  std::string Text(std::string_view name) const;
  uint64_t Count(std::string_view name) const;
  // The object that a member is; empty when it is none.
  JsonObject Object(std::string_view name) const;
  std::vector<std::string_view> Items(std::string_view name) const;
  const std::vector<JsonMember>& members() const { return members_; }

 private:
  std::vector<JsonMember> members_;
};

// Appends the text as a JSON string.
void AppendJsonString(std::string_view text, std::string* out);

}  // namespace varve::cli
