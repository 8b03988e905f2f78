// SPDX-License-Identifier: PostgreSQL
#include "sidecar/ingest/transport.h"

#include <sys/stat.h>

#include "tests/support/catch.h"
#include "tests/support/temporary_directory.h"

namespace varve::ingest {
namespace {

struct Fixture {
  Fixture() {
    options.endpoint = "ipc://" + directory.path() + "/s";
    settings.ingest_endpoint = options.endpoint;
    settings.database_oid = 5;
    settings.shares_machine = true;
  }
  base::Result<Transport> Choose(TransportChoice choice, const std::string& failed = "") {
    options.transport = choice;
    return ChooseTransport(options, settings, failed, &trouble);
  }
  test::TemporaryDirectory directory;
  Options options;
  pg::ServerSettings settings;
  Trouble trouble;
};

TEST_CASE("auto and zmq take the bus where the server sends to our endpoint, stream never does") {
  Fixture fixture;
  CHECK(fixture.Choose(TransportChoice::kAuto)->bus != nullptr);
  CHECK(fixture.Choose(TransportChoice::kZmq)->bus != nullptr);
  CHECK(fixture.Choose(TransportChoice::kStream)->bus == nullptr);
  fixture.settings.ingest_endpoint = "ipc://" + fixture.directory.path() + "/%d";
  fixture.options.endpoint = "ipc://" + fixture.directory.path() + "/5";
  CHECK(fixture.Choose(TransportChoice::kAuto)->bus != nullptr);
}

TEST_CASE("where the bus cannot be used auto says why and takes the stream, zmq refuses") {
  Fixture fixture;
  SECTION("the server is elsewhere") { fixture.settings.shares_machine = false; }
  SECTION("its setting is empty") { fixture.settings.ingest_endpoint = ""; }
  SECTION("it sends to another") { fixture.settings.ingest_endpoint = "ipc:///other"; }
  SECTION("we have none") { fixture.options.endpoint = ""; }
  SECTION("everybody may enter") { chmod(fixture.directory.path().c_str(), 0777); }
  const auto transport = fixture.Choose(TransportChoice::kAuto);
  REQUIRE(transport);
  CHECK(transport->bus == nullptr);
  CHECK_FALSE(transport->reason.empty());
  CHECK(fixture.trouble.remedy().empty());
  CHECK_FALSE(fixture.Choose(TransportChoice::kZmq));
}

TEST_CASE("after the bus has failed auto keeps off it, zmq tries again") {
  Fixture fixture;
  const auto transport = fixture.Choose(TransportChoice::kAuto, "batch 7 was announced");
  CHECK(transport->bus == nullptr);
  CHECK(transport->reason == "batch 7 was announced");
  CHECK(fixture.Choose(TransportChoice::kZmq, "batch 7 was announced")->bus != nullptr);
}

TEST_CASE("an error that the stream would bring too is not blamed on the bus") {
  CHECK(MayBeOfBus({"08006", "", "", ""}));
  CHECK(MayBeOfBus({"55000", "", "", ""}));
  CHECK(MayBeOfBus({"53000", "", "", ""}));
  CHECK_FALSE(MayBeOfBus({"", "", "", ""}));
  CHECK_FALSE(MayBeOfBus({"55006", "", "", ""}));
  CHECK_FALSE(MayBeOfBus({"57P01", "", "", ""}));
}

}  // namespace
}  // namespace varve::ingest
