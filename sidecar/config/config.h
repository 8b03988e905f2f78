// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "sidecar/base/log.h"
#include "sidecar/base/result.h"
#include "sidecar/history/history.h"
#include "sidecar/http/server.h"
#include "sidecar/ingest/ingest.h"

namespace varve::config {

inline constexpr std::string_view kDefaultPath = "/etc/varve/varve.toml";

// What varved is configured with: the options of each module.
struct Config {
  std::string path;  // of the file; empty when there is none and the environment says everything
  history::Options history;
  ingest::Options ingest;
  http::Options http;
  base::LogLevel log_level = base::LogLevel::kInfo;
};

using Environment = std::map<std::string, std::string>;

// The variables of this process whose names begin with VARVE_.
Environment ProcessEnvironment();

// Whether the files that a configuration names are looked at too, which only the user who runs varved can.
enum class Files { kIgnore, kCheck };

// Reads the file (`path`, else VARVE_CONFIG, else kDefaultPath) and the variables VARVE_SECTION_KEY, which
// win over it. Only a default file may be missing, and only when VARVE_SOURCE_DSN is set. Errors:
// kInvalidArgument naming file, line and remedy, a line for each thing that is wrong.
base::Result<Config> Load(const std::string& path, const Environment& environment,
                          Files files = Files::kIgnore);

// Reads the text of a config file. `path` is for messages. Errors as above.
base::Result<Config> Parse(std::string_view text, const std::string& path, const Environment& environment);

}  // namespace varve::config
