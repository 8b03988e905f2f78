// SPDX-License-Identifier: PostgreSQL
#include "sidecar/config/config.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "sidecar/config/setting.h"
#include "tests/support/catch.h"
#include "tests/support/temporary_directory.h"

namespace varve::config {
namespace {

const std::string kSource = "[source]\ndsn = \"dbname=shop\"\n";

Config Good(const std::string& text, const Environment& environment = {}) {
  const auto config = Parse(text, "v.toml", environment);
  INFO((config ? "" : config.error().message));
  REQUIRE(config);
  return *config;
}

std::string Bad(const std::string& text, const Environment& environment = {}) {
  const auto config = Parse(text, "v.toml", environment);
  REQUIRE_FALSE(config);
  CHECK(config.error().code == base::ErrorCode::kInvalidArgument);
  return config.error().message;
}

bool Has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST_CASE("a short file leaves the rest at its defaults") {
  const Config config = Good(kSource);
  CHECK(config.path == "v.toml");
  CHECK(config.ingest.dsn == "dbname=shop");
  CHECK(config.ingest.publication == "varve");
  CHECK(config.ingest.slot == "varve");
  CHECK(config.history.data_dir == "/var/lib/varve/main");
  CHECK(config.http.socket == "/run/varve/main/http.sock");
  CHECK(config.log_level == base::LogLevel::kInfo);
}

TEST_CASE("every setting reaches the module it belongs to") {
  const Config config = Good(R"(
[source]
dsn = "host=/run dbname=shop"
publication = "p"
slot = "s"
copy_connections = 4
allow_synchronous = true
[store]
data_dir = "/srv/v"
memory_mb = 512
sync_group_ms = 20
[ingest]
transport = "stream"
[http]
socket = "/srv/v/http.sock"
listen = "127.0.0.1:7117"
token_file = "/srv/v/token"
[log]
level = "debug"
)");
  CHECK(config.ingest.dsn == "host=/run dbname=shop");
  CHECK(config.ingest.publication == "p");
  CHECK(config.ingest.slot == "s");
  CHECK(config.ingest.copy_connections == 4);
  CHECK(config.ingest.allow_synchronous);
  CHECK(config.ingest.sync_group_ms == 20);
  CHECK(config.history.data_dir == "/srv/v");
  CHECK(config.history.memory_bytes == uint64_t{512} << 20);
  CHECK(config.http.socket == "/srv/v/http.sock");
  CHECK(config.http.listen == "127.0.0.1:7117");
  CHECK(config.http.token_file == "/srv/v/token");
  CHECK(config.log_level == base::LogLevel::kDebug);
}

TEST_CASE("what is wrong is named with file and line") {
  CHECK(Has(Bad(kSource + "slto = \"x\"\n"),
            "v.toml:3: there is no setting source.slto; the nearest is source.slot"));
  CHECK(Has(Bad(kSource + "data_dir = \"/x\"\n"), "the nearest is store.data_dir"));
  CHECK(Has(Bad(kSource + "[sotre]\nmemory_mb = 1\n"), "v.toml:3: there is no section [sotre]"));
  CHECK(Has(Bad("dsn = \"x\"\n"), "v.toml:1: dsn stands outside of a section"));
  CHECK(Has(Bad("[source]\ndsn = 5\n"), "v.toml:2: source.dsn: it is a text in quotes"));
  CHECK(
      Has(Bad(kSource + "[store]\nmemory_mb = \"64\"\n"), "v.toml:4: store.memory_mb: it is a whole number"));
  CHECK(Has(Bad(kSource + "[store]\nmemory_mb = 1\n"), "1 is out of range: 16 to 1048576 are possible"));
  CHECK(Has(Bad(kSource + "copy_connections = 17\n"), "1 to 16"));
  CHECK(Has(Bad(kSource + "allow_synchronous = 1\n"), "true or false"));
  CHECK(Has(Bad(kSource + "[store]\ndata_dir = \"v\"\n"), "relative path"));
  CHECK(Has(Bad(kSource + "[log]\nlevel = \"loud\"\n"), "v.toml:4: log.level"));
  CHECK(Has(Bad("[source]\ndsn = \"x\n"), "v.toml:2:"));
  CHECK(Has(Bad(kSource + "dsn = \"y\"\n"), "v.toml:3"));
  CHECK(Has(Bad("not toml ["), "v.toml:1"));
}

TEST_CASE("what must be there is missed by name") {
  CHECK(Has(Bad(""), "source.dsn"));
  CHECK(Has(Bad("[source]\ndsn = \"\"\n"), "source.dsn"));
  CHECK(Has(Bad(kSource + "[http]\nsocket = \"\"\n"), "http.socket is missing"));
}

TEST_CASE("what varved would refuse is refused when the file is read") {
  CHECK(
      Has(Bad("[source]\ndsn = \"hst=/x\"\n"), "v.toml:2: source.dsn: the connection string cannot be read"));
  CHECK(
      Has(Bad(kSource + "slot = \"My Slot\"\n"), "v.toml:3: source.slot: \"My Slot\" is no name of a slot"));
  CHECK(Has(Bad(kSource + "slot = \"" + std::string(64, 'a') + "\"\n"), "at most 63"));
  CHECK(Has(Bad(kSource + "publication = \"" + std::string(64, 'a') + "\"\n"), "at most 63"));
  for (const char* listen : {"localhost", "127.0.0.1", ":7117", "host.example:7117", "[::1]"}) {
    INFO(listen);
    CHECK(Has(Bad(kSource + "[http]\nlisten = \"" + listen + "\"\n"), "v.toml:4: http.listen: "));
  }
  CHECK(Good(kSource + "[http]\nlisten = \"localhost:7117\"\n").http.listen == "localhost:7117");
  for (const char* listen : {"0.0.0.0:7117", "[::]:7117"}) {
    CHECK(Has(Bad(kSource + "[http]\nlisten = \"" + listen + "\"\n"), "set http.token_file"));
    Good(kSource + "[http]\ntoken_file = \"/x\"\nlisten = \"" + listen + "\"\n");
  }
  CHECK(Has(Bad(kSource + "[http]\nsocket = \"/" + std::string(107, 'a') + "\"\n"), "at most 107"));
}

TEST_CASE("everything that is wrong is said at once") {
  const std::string all =
      Bad("[source]\ndsn = \"hst=/x\"\nslto = \"x\"\n[store]\ndata_dir = \"v\"\n[nonsense]\na = 1\n"
          "[http]\nlisten = \"0.0.0.0:1\"\n",
          {{"VARVE_STORE_MEMORY_MB", "lots"}, {"VARVE_HTTP_X", "1"}});
  for (const char* part : {"source.dsn: ", "source.slto", "relative path", "[nonsense]", "http.token_file",
                           "VARVE_STORE_MEMORY_MB", "VARVE_HTTP_X"}) {
    INFO(part << " in " << all);
    CHECK(Has(all, part));
  }
  CHECK_FALSE(Has(all, "source.dsn (how"));
}

TEST_CASE("the token file is looked at for varved only") {
  const test::TemporaryDirectory directory;
  const std::string token = directory.path() + "/token";
  const std::string config = directory.path() + "/varve.toml";
  std::ofstream(token).close();
  chmod(token.c_str(), 0600);
  std::ofstream(config) << kSource << "[http]\ntoken_file = \"" << token << "\"\n";
  const auto checked = [&] {
    const auto loaded = Load(config, {}, Files::kCheck);
    return loaded ? std::string() : loaded.error().message;
  };
  CHECK(Has(checked(), "16 to 1024 characters"));
  std::ofstream(token) << "0123456789abcdef";
  CHECK(checked().empty());
  chmod(token.c_str(), 0644);
  CHECK(Has(checked(), "can be read by others"));
  CHECK(Load(config, {}));
  std::remove(token.c_str());
  CHECK(Has(checked(), "cannot be read"));
}

TEST_CASE("settings of later versions say so") {
  CHECK(Has(Bad(kSource + "[query]\nsocket = \"/x\"\n"), "not available in this version"));
}

TEST_CASE("changes are taken beside the HTTP socket unless an endpoint is named") {
  CHECK(Good(kSource).ingest.endpoint == "ipc:///run/varve/main/ingest.sock");
  const std::string named = kSource + "[ingest]\ntransport = \"zmq\"\nendpoint = \"ipc:///tmp/x/y\"\n";
  CHECK(Good(named).ingest.endpoint == "ipc:///tmp/x/y");
  CHECK(Good(named).ingest.transport == ingest::TransportChoice::kZmq);
  CHECK(Good(kSource + "[ingest]\ntransport = \"stream\"\n").ingest.transport ==
        ingest::TransportChoice::kStream);
  CHECK(Has(Bad(kSource + "[ingest]\ntransport = \"tcp\"\n"), "\"stream\" or \"zmq\", not \"tcp\""));
  for (const char* wrong : {"tcp://127.0.0.1:1", "ipc://relative", "ipc:///ends/with/", "/plain/path"}) {
    INFO(wrong);
    CHECK(Has(Bad(kSource + "[ingest]\nendpoint = \"" + wrong + "\"\n"), "ipc:// and an absolute path"));
  }
  CHECK(Has(Bad(kSource + "[ingest]\nendpoint = \"ipc:///" + std::string(107, 'x') + "\"\n"),
            "108 bytes, at most 107"));
  const std::string deep = "/" + std::string(99, 'x') + "/s";
  CHECK(Good(kSource + "[http]\nsocket = \"" + deep + "\"\n").ingest.endpoint.empty());
}

TEST_CASE("the environment wins over the file") {
  const Config config = Good(kSource, {{"VARVE_SOURCE_DSN", "dbname=other"},
                                       {"VARVE_STORE_MEMORY_MB", "32"},
                                       {"VARVE_SOURCE_ALLOW_SYNCHRONOUS", "true"},
                                       {"VARVE_SERVER", "/run/x"}});
  CHECK(config.ingest.dsn == "dbname=other");
  CHECK(config.history.memory_bytes == uint64_t{32} << 20);
  CHECK(config.ingest.allow_synchronous);
  CHECK(Has(Bad(kSource, {{"VARVE_STORE_MEMORY_MB", "lots"}}),
            "environment variable VARVE_STORE_MEMORY_MB: store.memory_mb: \"lots\" is no whole number"));
  CHECK(Has(Bad(kSource, {{"VARVE_STORE_MEMORY_MB", "1"}}), "out of range"));
  CHECK(Has(Bad(kSource, {{"VARVE_STORE_MEMROY_MB", "64"}}), "the nearest is store.memory_mb"));
  CHECK(Has(Bad(kSource, {{"VARVE_HTTP_SOCKET", "relative"}}), "relative path"));
}

TEST_CASE("the file is the one that is named, of the environment, or the default") {
  const test::TemporaryDirectory directory;
  const std::string name = directory.path() + "/varve.toml";
  std::ofstream(name) << kSource;
  CHECK(Load(name, {})->path == name);
  CHECK(Load("", {{"VARVE_CONFIG", name}})->path == name);
  std::remove(name.c_str());
  const auto missing = Load(name, {{"VARVE_SOURCE_DSN", "dbname=x"}});
  REQUIRE_FALSE(missing);
  CHECK(Has(missing.error().message, "varve init --source"));
  CHECK_FALSE(Load("", {{"VARVE_CONFIG", name}, {"VARVE_SOURCE_DSN", "dbname=x"}}));
}

TEST_CASE("every setting has its variable") {
  for (const Setting& setting : Settings()) {
    INFO(setting.section << "." << setting.key);
    CHECK(FindSetting(setting.section, setting.key) == &setting);
    CHECK(IsSection(setting.section));
  }
  CHECK_FALSE(IsSection("query"));
}

}  // namespace
}  // namespace varve::config
