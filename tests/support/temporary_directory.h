// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>
#include <system_error>

namespace varve::test {

// A fresh directory that goes with the object.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string name = std::filesystem::temp_directory_path().string() + "/varve-test.XXXXXX";
    path_ = mkdtemp(name.data());
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace varve::test
