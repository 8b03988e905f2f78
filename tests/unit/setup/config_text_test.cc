// SPDX-License-Identifier: PostgreSQL
#include "sidecar/setup/setup.h"
#include "tests/support/catch.h"

namespace varve::setup {
namespace {

TEST_CASE("the config file names everything that varved must know") {
  InitOptions options;
  options.server.dsn = "host=/tmp dbname='a\\'b' password=\"x\"";
  options.server.data_dir = "/var/lib/varve/main";
  options.http_socket = "/run/varve/main/http.sock";
  CHECK(ConfigText(options) ==
        "# Written by varve init. Every setting can be overridden by VARVE_<SECTION>_<KEY> in the "
        "environment.\n"
        "[source]\n"
        "dsn = \"host=/tmp dbname='a\\\\'b' password=\\\"x\\\"\"\n"
        "publication = \"varve\"\n"
        "slot = \"varve\"\n"
        "\n"
        "[store]\n"
        "data_dir = \"/var/lib/varve/main\"\n"
        "\n"
        "[http]\n"
        "socket = \"/run/varve/main/http.sock\"\n");
}

TEST_CASE("only a failed check stops") {
  CHECK(Passed({}));
  CHECK(Passed({{"a", CheckResult::kWarning, "", ""}, {"b", CheckResult::kUnknown, "", ""}}));
  CHECK_FALSE(Passed({{"a", CheckResult::kOk, "", ""}, {"b", CheckResult::kFailed, "", ""}}));
}

}  // namespace
}  // namespace varve::setup
