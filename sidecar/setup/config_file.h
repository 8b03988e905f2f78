// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <optional>
#include <string>

#include "sidecar/base/result.h"

namespace varve::setup {

// A file that is written whole or not at all: beside its place first, then renamed. Removes what it wrote
// beside unless Put has renamed it. One thread.
class ConfigFile {
 public:
  explicit ConfigFile(std::string path) : path_(std::move(path)) {}
  ~ConfigFile();
  ConfigFile(const ConfigFile&) = delete;
  ConfigFile& operator=(const ConfigFile&) = delete;

  // What the file holds; nothing when it cannot be read.
  std::optional<std::string> Read() const;
  // Writes and syncs the text beside the file, making its directory. Errors: kForbidden.
  base::Status Prepare(const std::string& text);
  // Errors: kForbidden. REQUIRES: Prepare.
  base::Status Put();

 private:
  tl::unexpected<base::Error> Failed(int error) const;

  const std::string path_;
  std::string beside_;  // empty: nothing is there
};

}  // namespace varve::setup
