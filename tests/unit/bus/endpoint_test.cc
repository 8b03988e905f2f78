// SPDX-License-Identifier: PostgreSQL
#include "sidecar/bus/endpoint.h"

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "tests/support/catch.h"
#include "tests/support/temporary_directory.h"

namespace varve::bus {
namespace {

constexpr uid_t kNobody = 65534;

TEST_CASE("an endpoint is ipc:// and an absolute path that fits a socket") {
  CHECK(CheckEndpoint("ipc:///run/varve/main/ingest.sock"));
  CHECK(PathOf("ipc:///run/varve/main/ingest.sock") == "/run/varve/main/ingest.sock");
  for (const char* wrong :
       {"", "ipc://", "ipc:///", "ipc://x", "tcp://127.0.0.1:1", "/run/x", "ipc:///run/"}) {
    INFO(wrong);
    CHECK_FALSE(CheckEndpoint(wrong));
  }
  CHECK(CheckEndpoint("ipc:///" + std::string(106, 'x')));
  CHECK_FALSE(CheckEndpoint("ipc:///" + std::string(107, 'x')));
}

TEST_CASE("the default lies beside the HTTP socket where it fits") {
  CHECK(DefaultEndpoint("/run/varve/main/http.sock") == "ipc:///run/varve/main/ingest.sock");
  CHECK(DefaultEndpoint("/" + std::string(100, 'x') + "/s").empty());
}

// As plugin/output/endpoint.c does it.
TEST_CASE("the server's setting has the database's oid for %d and % for %%") {
  CHECK(ExpandEndpoint("ipc:///x/%d.sock", 16384) == "ipc:///x/16384.sock");
  CHECK(ExpandEndpoint("ipc:///100%%/%d%d", 5) == "ipc:///100%/55");
  CHECK(ExpandEndpoint(SettingFor("ipc:///a%d%%b%"), 5) == "ipc:///a%d%%b%");
}

TEST_CASE("why the server does not send to our endpoint") {
  CHECK_FALSE(FaultOfSetting("ipc:///x/s", "ipc:///x/s", 5, true));
  CHECK_FALSE(FaultOfSetting("ipc:///x/5", "ipc:///x/%d", 5, true));
  CHECK(FaultOfSetting("ipc:///x/s", "ipc:///x/s", 5, false)->message == "the server is on another machine");
  const auto empty = FaultOfSetting("ipc:///x/s", "", 5, true);
  REQUIRE(empty);
  CHECK(empty->remedy.find("varve.ingest_endpoint = 'ipc:///x/s'") != std::string::npos);
  const auto other = FaultOfSetting("ipc:///x/s", "ipc:///x/%d", 5, true);
  REQUIRE(other);
  CHECK(other->message.find("leads to ipc:///x/5") != std::string::npos);
  CHECK(FaultOfSetting("", "ipc:///x/s", 5, true));
}

TEST_CASE("a directory that everybody may enter, or that is none, is refused") {
  const test::TemporaryDirectory directory;
  CHECK_FALSE(FaultOfDirectory(directory.path()));
  chmod(directory.path().c_str(), 0750);
  CHECK_FALSE(FaultOfDirectory(directory.path()));
  for (const mode_t mode : {0755, 0751, 0777}) {
    chmod(directory.path().c_str(), mode);
    CHECK(FaultOfDirectory(directory.path()));
  }
  CHECK(FaultOfDirectory(directory.path() + "/none"));
  std::ofstream(directory.path() + "/file") << "x";
  CHECK(FaultOfDirectory(directory.path() + "/file"));
}

TEST_CASE("a user reaches a socket when directory and file let it") {
  const test::TemporaryDirectory directory;
  const std::string path = directory.path() + "/s";
  CHECK_FALSE(FaultForUser(path, geteuid()));
  CHECK(FaultForUser(path, kNobody));
  chmod(directory.path().c_str(), 0711);
  CHECK_FALSE(FaultForUser(path, kNobody));
  std::ofstream(path) << "x";
  chmod(path.c_str(), 0660);
  CHECK(FaultForUser(path, kNobody));
  CHECK_FALSE(FaultForUser(path, geteuid()));
  chmod(path.c_str(), 0666);
  CHECK_FALSE(FaultForUser(path, kNobody));
}

}  // namespace
}  // namespace varve::bus
