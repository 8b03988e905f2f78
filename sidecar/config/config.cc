// SPDX-License-Identifier: PostgreSQL
#include "sidecar/config/config.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>

#include <fmt/format.h>

#include <toml++/toml.h>

#include "sidecar/bus/endpoint.h"
#include "sidecar/config/setting.h"
#include "sidecar/http/listener.h"

namespace varve::config {

using base::ErrorCode;
using base::Fail;
using base::Status;

namespace {

constexpr size_t kFileBytesMax = size_t{1} << 20;
constexpr std::string_view kDefaultDataDir = "/var/lib/varve/main";
constexpr std::string_view kPrefix = "VARVE_";

std::string Upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

std::string VariableName(const Setting& setting) {
  return fmt::format("{}{}_{}", kPrefix, Upper(std::string(setting.section)),
                     Upper(std::string(setting.key)));
}

std::string At(const std::string& path, const toml::source_region& region) {
  return fmt::format("{}:{}", path, region.begin.line);
}

std::string_view TypeName(Kind kind) {
  switch (kind) {
    case Kind::kText: return "a text in quotes";
    case Kind::kPath: return "a path in quotes";
    case Kind::kInteger: return "a whole number";
    case Kind::kFlag: return "true or false";
  }
  return "";
}

tl::unexpected<base::Error> Unknown(const std::string& where, std::string_view section,
                                    std::string_view key) {
  if (const auto later = LaterSetting(section)) {
    return Fail(ErrorCode::kInvalidArgument, fmt::format("{}: {}.{} {}", where, section, key, *later));
  }
  return Fail(ErrorCode::kInvalidArgument, fmt::format("{}: there is no setting {}.{}; the nearest is {}",
                                                       where, section, key, NearestSetting(section, key)));
}

base::Result<Value> ValueFromNode(const Setting& setting, const toml::node& node) {
  Value value;
  bool fits = false;
  switch (setting.kind) {
    case Kind::kText:
    case Kind::kPath:
      fits = node.is_string();
      if (fits) value.text = node.as_string()->get();
      break;
    case Kind::kInteger:
      fits = node.is_integer();
      if (fits) value.integer = node.as_integer()->get();
      break;
    case Kind::kFlag:
      fits = node.is_boolean();
      if (fits) value.flag = node.as_boolean()->get();
      break;
  }
  if (!fits) return Fail(ErrorCode::kInvalidArgument, fmt::format("it is {}", TypeName(setting.kind)));
  return value;
}

// Names the place and the setting in front of what is wrong with it.
Status Applied(const std::string& where, const Setting& setting, const base::Result<Value>& value,
               Config* config) {
  Status applied = value ? Apply(setting, *value, config) : Status(Fail(value.error()));
  if (applied) return {};
  return Fail(ErrorCode::kInvalidArgument,
              fmt::format("{}: {}.{}: {}", where, setting.section, setting.key, applied.error().message));
}

// What is wrong, a line each: all of it is said at once.
class Problems {
 public:
  void Add(const Status& status) {
    if (!status) AddLine(status.error().message);
  }
  void AddLine(const std::string& line) { text_ += (text_.empty() ? "" : "\n") + line; }
  Status Outcome() const {
    if (text_.empty()) return {};
    return Fail(ErrorCode::kInvalidArgument, text_);
  }

 private:
  std::string text_;
};

void ApplySection(const std::string& path, std::string_view section, const toml::table& table, Config* config,
                  Problems* problems) {
  for (const auto& [key, node] : table) {
    const Setting* setting = FindSetting(section, key.str());
    if (setting == nullptr) {
      problems->Add(Unknown(At(path, key.source()), section, key.str()));
      continue;
    }
    problems->Add(Applied(At(path, node.source()), *setting, ValueFromNode(*setting, node), config));
  }
}

base::Result<toml::table> ParseText(std::string_view text, const std::string& path) {
  try {
    return toml::parse(text, path);
  } catch (const toml::parse_error& error) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("{}: {}", At(path, error.source()), error.description()));
  }
}

Status UnknownSection(const std::string& where, std::string_view name, const toml::table& table) {
  const std::string key = table.empty() ? "" : std::string(table.begin()->first.str());
  if (const auto later = LaterSetting(name)) {
    return Fail(ErrorCode::kInvalidArgument, fmt::format("{}: [{}] {}", where, name, *later));
  }
  return Fail(
      ErrorCode::kInvalidArgument,
      fmt::format(
          "{}: there is no section [{}]; there are [source], [store], [ingest], [http] and "
          "[log]{}",
          where, name,
          key.empty() ? "" : fmt::format("; nearest to {}.{} is {}", name, key, NearestSetting(name, key))));
}

// Errors: the text is no TOML. What is wrong with its settings is added to the problems.
Status ApplyFile(std::string_view text, const std::string& path, Config* config, Problems* problems) {
  ASSIGN_OR_RETURN(const toml::table parsed, ParseText(text, path));
  for (const auto& [name, node] : parsed) {
    const std::string where = At(path, name.source());
    const toml::table* table = node.as_table();
    if (table == nullptr) {
      problems->AddLine(fmt::format(
          "{}: {} stands outside of a section; write it under [source], [store], [ingest], [http] or [log]",
          where, std::string_view(name.str())));
    } else if (!IsSection(name.str())) {
      problems->Add(UnknownSection(where, name.str(), *table));
    } else {
      ApplySection(path, name.str(), *table, config, problems);
    }
  }
  return {};
}

// A variable that begins like one of ours and is none would be a setting that is silently not made.
void CheckVariables(const Environment& environment, Problems* problems) {
  for (const auto& variable : environment) {
    const std::string& name = variable.first;  // clang 14 captures no structured binding
    for (const Setting& section : Settings()) {
      const std::string begin = fmt::format("{}{}_", kPrefix, Upper(std::string(section.section)));
      if (name.substr(0, begin.size()) != begin) continue;
      const bool known = std::any_of(Settings().begin(), Settings().end(),
                                     [&](const Setting& setting) { return VariableName(setting) == name; });
      if (known) break;
      std::string key = name.substr(begin.size());
      std::transform(key.begin(), key.end(), key.begin(),
                     [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
      problems->Add(Unknown("environment variable " + name, section.section, key));
      break;
    }
  }
}

void ApplyEnvironment(const Environment& environment, Config* config, Problems* problems) {
  CheckVariables(environment, problems);
  for (const Setting& setting : Settings()) {
    const auto found = environment.find(VariableName(setting));
    if (found == environment.end()) continue;
    problems->Add(Applied("environment variable " + found->first, setting,
                          ValueFromText(setting, found->second), config));
  }
}

void CheckPresent(const Config& config, const std::string& where, Problems* problems) {
  const std::pair<const std::string*, std::string_view> needed[] = {
      {&config.ingest.dsn, "source.dsn (how to reach the database, as in psql)"},
      {&config.ingest.publication, "source.publication"},
      {&config.ingest.slot, "source.slot"},
      {&config.history.data_dir, "store.data_dir"},
      {&config.http.socket, "http.socket"}};
  for (const auto& [value, name] : needed) {
    if (value->empty()) problems->AddLine(fmt::format("{}: {} is missing", where, name));
  }
}

void CheckListen(const Config& config, const std::string& where, Problems* problems) {
  if (config.http.listen.empty() || !config.http.token_file.empty()) return;
  const auto address = http::ParseTcpAddress(config.http.listen);
  if (!address || address->loopback) return;
  problems->AddLine(
      fmt::format("{}: http.listen: {} can be reached from other machines: set http.token_file, or listen on "
                  "127.0.0.1",
                  where, config.http.listen));
}

base::Result<Config> Make(std::optional<std::string_view> text, const std::string& path,
                          const Environment& environment, Files files) {
  Config config;
  config.history.data_dir = kDefaultDataDir;
  Problems problems;
  if (text) {
    config.path = path;
    RETURN_IF_ERROR(ApplyFile(*text, path, &config, &problems));
  }
  ApplyEnvironment(environment, &config, &problems);
  if (config.ingest.endpoint.empty()) config.ingest.endpoint = bus::DefaultEndpoint(config.http.socket);
  const std::string where = config.path.empty() ? "configuration" : config.path;
  // A setting that was written wrong is no missing one.
  if (problems.Outcome()) CheckPresent(config, where, &problems);
  CheckListen(config, where, &problems);
  if (files == Files::kCheck && !config.http.token_file.empty()) {
    const auto token = http::ReadToken(config.http.token_file);
    if (!token) problems.AddLine(fmt::format("{}: {}", where, token.error().message));
  }
  RETURN_IF_ERROR(problems.Outcome());
  return config;
}

}  // namespace

Environment ProcessEnvironment() {
  Environment environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const size_t equals = text.find('=');
    if (equals == std::string_view::npos || text.substr(0, kPrefix.size()) != kPrefix) continue;
    environment.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return environment;
}

base::Result<Config> Load(const std::string& path, const Environment& environment, Files files) {
  const auto variable = environment.find("VARVE_CONFIG");
  const bool named = !path.empty() || variable != environment.end();
  const std::string chosen = !path.empty() ? path : named ? variable->second : std::string(kDefaultPath);
  std::ifstream file(chosen, std::ios::binary);
  if (!file) {
    const int error = errno;
    if (!named && error == ENOENT && environment.count("VARVE_SOURCE_DSN") != 0) {
      return Make(std::nullopt, chosen, environment, files);
    }
    return Fail(
        ErrorCode::kInvalidArgument,
        fmt::format("config file {}: {}; varve init --source DSN writes one, --config or VARVE_CONFIG names "
                    "another",
                    chosen, std::strerror(error)));
  }
  std::ostringstream content;
  content << file.rdbuf();
  const std::string text = std::move(content).str();
  if (text.size() > kFileBytesMax) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("config file {}: {} bytes, more than any config file has", chosen, text.size()));
  }
  return Make(std::string_view(text), chosen, environment, files);
}

base::Result<Config> Parse(std::string_view text, const std::string& path, const Environment& environment) {
  return Make(text, path, environment, Files::kIgnore);
}

}  // namespace varve::config
