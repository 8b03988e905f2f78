// SPDX-License-Identifier: PostgreSQL
#include "sidecar/http/request.h"

#include "tests/support/catch.h"

namespace varve::http {
namespace {

Request Parsed(std::string_view target) {
  Request request;
  REQUIRE(ParseTarget(target, &request));
  return request;
}

TEST_CASE("path and parameters are decoded once") {
  const Request request =
      Parsed("/v1/tables/s%2Ft.a%25b/rows/%22a%20b%22?as_of=time:2026-01-01T00:00:00%2B01:00&x=a+b&y");
  CHECK(request.path == std::vector<std::string>{"v1", "tables", "s/t.a%b", "rows", "\"a b\""});
  CHECK(*request.FindOr("as_of", "") == "time:2026-01-01T00:00:00+01:00");
  CHECK(*request.FindOr("x", "") == "a b");
  CHECK(*request.FindOr("y", "no") == "");
  CHECK(*request.FindOr("z", "no") == "no");
}

TEST_CASE("a plus in the path is a plus") { CHECK(Parsed("/v1/t+1").path.back() == "t+1"); }

TEST_CASE("a slash at the end is no segment") { CHECK(Parsed("/v1/status/").path.size() == 2); }

TEST_CASE("targets that are no path are refused") {
  Request request;
  for (const char* target : {"v1/status", "http://x/v1", "*", "", "/%zz", "/a b", "/%00", "/a?b=%00"}) {
    INFO(target);
    Request each;
    const base::Status parsed = ParseTarget(target, &each);
    REQUIRE_FALSE(parsed);
    CHECK(parsed.error().code == base::ErrorCode::kInvalidArgument);
  }
}

TEST_CASE("a parameter that may stand once must not stand twice") {
  const Request request = Parsed("/x?limit=1&limit=2");
  REQUIRE_FALSE(request.Find("limit"));
  CHECK(request.FindAll("limit") == std::vector<std::string>{"1", "2"});
}

TEST_CASE("flags, counts and seconds say what they accept") {
  CHECK(*Parsed("/x?wait").FindFlag("wait"));
  CHECK(*Parsed("/x?wait=true").FindFlag("wait"));
  CHECK_FALSE(*Parsed("/x?wait=false").FindFlag("wait"));
  CHECK_FALSE(*Parsed("/x").FindFlag("wait"));
  CHECK_FALSE(Parsed("/x?wait=maybe").FindFlag("wait"));
  CHECK(**Parsed("/x?limit=18446744073709551615").FindCount("limit") == UINT64_MAX);
  for (const char* bad :
       {"/x?limit=0", "/x?limit=-1", "/x?limit=1x", "/x?limit=", "/x?limit=18446744073709551616"}) {
    INFO(bad);
    CHECK_FALSE(Parsed(bad).FindCount("limit"));
  }
  using std::chrono::milliseconds;
  const milliseconds most(5000);
  CHECK(*Parsed("/x?timeout=2.5").FindSeconds("timeout", milliseconds(1), most) == milliseconds(2500));
  CHECK(*Parsed("/x").FindSeconds("timeout", milliseconds(1), most) == milliseconds(1));
  for (const char* bad :
       {"/x?timeout=6", "/x?timeout=-1", "/x?timeout=nan", "/x?timeout=", "/x?timeout=1s"}) {
    INFO(bad);
    CHECK_FALSE(Parsed(bad).FindSeconds("timeout", milliseconds(1), most));
  }
}

TEST_CASE("column lists may hold any name") {
  CHECK(*ParseColumnList("a,b c") == std::vector<std::string>{"a", "b c"});
  CHECK(*ParseColumnList("\"a,b\",\"say \"\"x\"\"\"") == std::vector<std::string>{"a,b", "say \"x\""});
  for (const char* bad : {"", "a,", ",a", "\"a", "\"a\"b", "a,,b"}) {
    INFO(bad);
    CHECK_FALSE(ParseColumnList(bad));
  }
}

TEST_CASE("conditions are split at the first equals sign") {
  CHECK(*ParseCondition("a=b=c") == std::pair<std::string, std::string>("a", "b=c"));
  CHECK(*ParseCondition("a=") == std::pair<std::string, std::string>("a", ""));
  CHECK_FALSE(ParseCondition("a"));
  CHECK_FALSE(ParseCondition("=a"));
}

TEST_CASE("the media type that Accept names first wins") {
  CHECK(FormatOf("") == Format::kJson);
  CHECK(FormatOf("*/*") == Format::kJson);
  CHECK(FormatOf("application/x-ndjson") == Format::kNdjson);
  CHECK(FormatOf("text/csv, application/json") == Format::kCsv);
  CHECK(FormatOf("application/json, application/x-ndjson") == Format::kJson);
}

}  // namespace
}  // namespace varve::http
