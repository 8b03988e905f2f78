// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "sidecar/config/config.h"

namespace varve::config {

enum class Kind : uint8_t { kText, kPath, kInteger, kFlag };

// A value as the file or the environment gives it.
struct Value {
  std::string text;
  int64_t integer = 0;
  bool flag = false;
};

// One line of the table of settings.
struct Setting {
  std::string_view section;
  std::string_view key;
  Kind kind;
  int64_t least;  // of an integer
  int64_t most;
  // Errors: kInvalidArgument saying what is possible.
  base::Status (*apply)(const Value& value, Config* config);
};

std::span<const Setting> Settings();
// nullptr when there is none.
const Setting* FindSetting(std::string_view section, std::string_view key);
bool IsSection(std::string_view name);
// Checks kind-specific rules and applies. Errors: kInvalidArgument, without the place.
base::Status Apply(const Setting& setting, const Value& value, Config* config);
// The value that an environment variable's text stands for. Errors: kInvalidArgument.
base::Result<Value> ValueFromText(const Setting& setting, const std::string& text);
// "source.dsn", the setting or section most like what was written.
std::string NearestSetting(std::string_view section, std::string_view key);
// Why a setting of a section that later versions have is not known, nothing for any other.
std::optional<std::string> LaterSetting(std::string_view section);

}  // namespace varve::config
