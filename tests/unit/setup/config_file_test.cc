// SPDX-License-Identifier: PostgreSQL
#include "sidecar/setup/config_file.h"

#include <filesystem>
#include <iterator>

#include "tests/support/catch.h"
#include "tests/support/temporary_directory.h"

namespace varve::setup {
namespace {

size_t Entries(const std::string& directory) {
  return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(directory), {}));
}

TEST_CASE("a config file is there whole or not at all") {
  const test::TemporaryDirectory temporary;
  const std::string& directory = temporary.path();
  const std::string path = directory + "/sub/varve.toml";
  {
    ConfigFile file(path);
    CHECK_FALSE(file.Read());
    REQUIRE(file.Prepare("a = 1\n"));
    CHECK_FALSE(file.Read());
  }
  CHECK(Entries(directory + "/sub") == 0);
  {
    ConfigFile file(path);
    REQUIRE(file.Prepare("a = 1\n"));
    REQUIRE(file.Put());
    CHECK(file.Read() == "a = 1\n");
  }
  CHECK(Entries(directory + "/sub") == 1);
}

TEST_CASE("a place that cannot be written is refused before anything else") {
  const test::TemporaryDirectory temporary;
  const std::string& directory = temporary.path();
  const base::Status refused = ConfigFile(directory).Prepare("a");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == base::ErrorCode::kForbidden);
  CHECK(refused.error().message.find("--config") != std::string::npos);
  CHECK(Entries(directory) == 0);
  CHECK_FALSE(ConfigFile("/dev/null/x/varve.toml").Prepare("a"));
}

}  // namespace
}  // namespace varve::setup
