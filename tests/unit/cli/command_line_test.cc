// SPDX-License-Identifier: PostgreSQL
#include "cli/command_line.h"

#include <fmt/format.h>

#include "cli/client.h"
#include "cli/reference.h"
#include "tests/support/catch.h"

namespace varve::cli {
namespace {

template <typename V>
V Parsed(std::vector<std::string> arguments) {
  const ParsedCommandLine parsed = ParseCommandLine(std::move(arguments), std::nullopt);
  INFO(parsed.error);
  REQUIRE(parsed.command);
  REQUIRE(std::holds_alternative<V>(parsed.command->verb));
  return std::get<V>(parsed.command->verb);
}

bool Has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST_CASE("verbs take their arguments") {
  const auto get =
      Parsed<GetVerb>({"get", "accounts", "42", "--as-of", "xid:7^", "--columns", "a,b", "--wait"});
  CHECK(get.table == "accounts");
  CHECK(get.key == "42");
  CHECK(get.as_of == "xid:7^");
  CHECK(get.columns == "a,b");
  CHECK(get.wait.wait);
  const auto scan = Parsed<ScanVerb>({"scan", "--where", "a=1", "accounts", "--where", "b=x y", "-n", "5",
                                      "--format", "csv", "--after", "[1,2]"});
  CHECK(scan.where == std::vector<std::string>{"a=1", "b=x y"});
  CHECK(scan.limit == 5);
  CHECK(scan.after == "[1,2]");
  CHECK(scan.table == "accounts");
  const auto diff = Parsed<DiffVerb>({"diff", "first", "now", "--table", "t", "--stat", "--exit-code"});
  CHECK(diff.from == "first");
  CHECK(diff.exit_code);
  CHECK(Parsed<DiffVerb>({"diff", "first"}).to.empty());
  CHECK(Parsed<TagCreateVerb>({"tag", "create", "a"}).reference == "now");
  CHECK(Parsed<TagDeleteVerb>({"tag", "delete", "a"}).name == "a");
  CHECK(Parsed<WaitVerb>({"wait", "--timeout", "2.5"}).timeout_seconds == 2.5);
  CHECK(Parsed<LogVerb>({"log", "--limit", "3", "--reverse"}).oldest_first);
  CHECK(Parsed<InitVerb>({"init", "--source", "dbname=x", "--tables", "a.*", "b"}).tables.size() == 2);
}

TEST_CASE("keys may be negative numbers") {
  CHECK(Parsed<GetVerb>({"get", "t", "-5"}).key == "-5");
  CHECK(Parsed<GetVerb>({"get", "t", "-5", "--as-of", "first"}).as_of == "first");
  CHECK(Parsed<HistoryVerb>({"history", "t", "-7.5"}).key == "-7.5");
  CHECK(Parsed<ScanVerb>({"scan", "t", "--after", "-1"}).after == "-1");
}

TEST_CASE("the server comes from the option, the environment, or is the default") {
  CHECK(ParseCommandLine({"status"}, std::nullopt).command->common.server == kDefaultServer);
  CHECK(ParseCommandLine({"status"}, "/run/x").command->common.server == "/run/x");
  CHECK(ParseCommandLine({"status", "--server", "/run/y"}, "/run/x").command->common.server == "/run/y");
  CHECK(ParseCommandLine({"--server", "/run/y", "status"}, std::nullopt).command->common.server == "/run/y");
}

TEST_CASE("usage errors say what is wrong and where help is") {
  const std::vector<std::vector<std::string>> wrong = {{},
                                                       {"get", "t"},
                                                       {"scan"},
                                                       {"scan", "t", "--nope"},
                                                       {"nonsense"},
                                                       {"scan", "t", "-n", "0"},
                                                       {"scan", "t", "-n", "x"},
                                                       {"scan", "t", "--format", "xml"},
                                                       {"tag"},
                                                       {"tag", "make", "a"},
                                                       {"log", "--json", "--ndjson"},
                                                       {"scan", "t", "--json", "--format", "csv"},
                                                       {"get", "t", "1", "--format", "image", "--ndjson"},
                                                       {"init"}};
  for (const auto& arguments : wrong) {
    const ParsedCommandLine parsed = ParseCommandLine(arguments, std::nullopt);
    INFO((arguments.empty() ? "" : arguments[0]) << ": " << parsed.error);
    CHECK_FALSE(parsed.command);
    CHECK(parsed.exit_status == kExitUsage);
    CHECK(Has(parsed.error, "--help"));
    CHECK(parsed.output.empty());
  }
}

TEST_CASE("a value that is given and empty is refused") {
  const std::vector<std::vector<std::string>> empty = {{"scan", "t", "--as-of", ""},
                                                       {"scan", "t", "--as-of="},
                                                       {"scan", "t", "--columns", ""},
                                                       {"scan", "t", "--after", ""},
                                                       {"scan", ""},
                                                       {"get", "t", ""},
                                                       {"get", "t", "1", "--as-of", ""},
                                                       {"log", "--from", ""},
                                                       {"log", "--to", ""},
                                                       {"show", ""},
                                                       {"diff", ""},
                                                       {"diff", "first", ""},
                                                       {"diff", "first", "--table", ""},
                                                       {"wait", ""},
                                                       {"wait", "--timeout", ""},
                                                       {"tag", "create", "a", ""},
                                                       {"tag", "delete", ""},
                                                       {"init", "--source", ""},
                                                       {"init", "--source", "dbname=x", "--config", ""},
                                                       {"doctor", "--config", ""},
                                                       {"status", "--server", ""}};
  for (const auto& arguments : empty) {
    const ParsedCommandLine parsed = ParseCommandLine(arguments, std::nullopt);
    INFO(arguments[0] << ": " << parsed.error);
    CHECK_FALSE(parsed.command);
    CHECK(parsed.exit_status == kExitUsage);
    // CLI11 says itself that --as-of= names nothing.
    CHECK((Has(parsed.error, "empty") || Has(parsed.error, "missing")));
  }
  CHECK(Has(ParseCommandLine({"status"}, "").error, "VARVE_SERVER is set and empty"));
  CHECK(ParseCommandLine({"status", "--server", "/run/y"}, "").command);
}

TEST_CASE("numbers out of range are refused in short words") {
  const auto error = [](std::vector<std::string> arguments) {
    const ParsedCommandLine parsed = ParseCommandLine(std::move(arguments), std::nullopt);
    CHECK(parsed.exit_status == kExitUsage);
    CHECK(parsed.error.size() < 120);
    return parsed.error;
  };
  for (const char* bad : {"0", "-1", "x", "1.5", "18446744073709551616"}) {
    CHECK(Has(error({"log", "--limit", bad}),
              fmt::format("--limit: a whole number from 1 on, not \"{}\"", bad)));
  }
  for (const char* bad : {"-1", "x", "nan", "inf", "1e9"}) {
    CHECK(Has(error({"wait", "--timeout", bad}),
              fmt::format("--timeout: a number of seconds from 0 to 86400, not \"{}\"", bad)));
  }
}

TEST_CASE("tables may be quoted as in psql") {
  CHECK(Parsed<ScanVerb>({"scan", "\"My Schema\".\"Ta.ble\""}).table == "My Schema.Ta.ble");
  CHECK(Parsed<GetVerb>({"get", "sales.\"Or\"\"der\"", "1"}).table == "sales.Or\"der");
  CHECK(Parsed<HistoryVerb>({"history", "\"a.b\"", "1"}).table == "public.a.b");
  CHECK(Parsed<DiffVerb>({"diff", "first", "--table", "\"A\".b"}).table == "A.b");
  CHECK(Parsed<ScanVerb>({"scan", "My Schema.Ta.ble"}).table == "My Schema.Ta.ble");
  for (const char* bad : {"\"a", "\"a\"b", "\"\"", "a.\"b\".c", "\"a\".", "\"a\"..\"b\""}) {
    INFO(bad);
    CHECK(Has(ParseCommandLine({"scan", bad}, std::nullopt).error, "is no table name"));
  }
}

TEST_CASE("verbs and options of later versions say so and are in no help") {
  for (const char* verb : {"blame", "branch", "merge", "undo", "feed", "verify", "adopt", "checkout", "gc"}) {
    const ParsedCommandLine parsed = ParseCommandLine({"--server", "/x", verb, "something"}, std::nullopt);
    CHECK(parsed.exit_status == kExitUsage);
    CHECK(Has(parsed.error, "not available in this version"));
    CHECK_FALSE(Has(ParseCommandLine({"--help"}, std::nullopt).output, std::string("\n  ") + verb + " "));
  }
  const ParsedCommandLine branch = ParseCommandLine({"scan", "t", "--branch", "b"}, std::nullopt);
  CHECK(branch.exit_status == kExitUsage);
  CHECK(Has(branch.error, "branches are not available"));
  CHECK_FALSE(Has(ParseCommandLine({"scan", "--help"}, std::nullopt).output, "--branch"));
}

TEST_CASE("help has one line of what, the forms and examples") {
  for (const char* verb : {"get", "scan", "history", "log", "show", "diff", "wait", "status", "tables",
                           "init", "doctor", "detach", "tag"}) {
    const ParsedCommandLine parsed = ParseCommandLine({verb, "--help"}, std::nullopt);
    INFO(verb);
    CHECK(parsed.exit_status == kExitDone);
    CHECK(Has(parsed.output, "Examples:\n"));
    CHECK(Has(parsed.output, std::string("  varve ") + verb));
  }
  for (const char* verb : {"get", "scan", "history", "log", "show", "diff", "wait"}) {
    CHECK_FALSE(Has(ParseCommandLine({verb, "--help"}, std::nullopt).output, "branch:"));
    CHECK(Has(ParseCommandLine({verb, "--help"}, std::nullopt).output, "time:now-5m"));
  }
  CHECK(ParseCommandLine({"--version"}, std::nullopt).output.find("varve ") == 0);
}

TEST_CASE("requests are percent-encoded") {
  ClientRequest request;
  request.path = {"v1", "tables", "s.a/b", "rows", "[1,\"x y\"]"};
  request.parameters = {{"as_of", "time:2026-01-01T00:00:00+01:00"}, {"where", "a=ü&"}};
  CHECK(TargetOf(request) ==
        "/v1/tables/s.a%2Fb/rows/%5B1%2C%22x%20y%22%5D?as_of=time%3A2026-01-01T00%3A00%3A00%2B01%3A00"
        "&where=a%3D%C3%BC%26");
}

TEST_CASE("servers that cannot be are usage errors") {
  CHECK(Client::Make("/run/x", ""));
  CHECK(Client::Make("unix:/run/x", ""));
  CHECK(Client::Make("http://[::1]:80/", ""));
  for (const char* bad : {"", "https://x:1", "http://x", "http://:80", "http://x:"}) {
    INFO(bad);
    CHECK_FALSE(Client::Make(bad, ""));
  }
}

TEST_CASE("times without a zone are the user's") {
  setenv("TZ", "Asia/Kolkata", 1);
  tzset();
  CHECK(LocalReference("2026-01-01T12:00:00") == "time:2026-01-01T06:30:00Z");
  CHECK(LocalReference("time:2026-01-01 12:00^2") == "time:2026-01-01T06:30:00Z^2");
  CHECK(LocalReference("time:2026-01-01") == "time:2025-12-31T18:30:00Z");
  for (const char* same :
       {"2026-01-01T12:00:00Z", "time:2026-01-01T12:00:00+01:00", "time:2026-01-01T12:00:00-01",
        "time:now-5m", "now", "xid:5^", "0/16B3748", "tag:2026-01-01", "nonsense", ""}) {
    CHECK(LocalReference(same) == same);
  }
  unsetenv("TZ");
  tzset();
}

}  // namespace
}  // namespace varve::cli
