// SPDX-License-Identifier: PostgreSQL
#include "sidecar/model/reference.h"

#include "tests/support/catch.h"

namespace varve::model {
namespace {

constexpr base::Timestamp kNow{1'000'000'000'000};

Reference Parse(const char* text) { return ParseReference(text, kNow).value(); }
base::ErrorCode CodeOf(const char* text) { return ParseReference(text, kNow).error().code; }

}  // namespace

TEST_CASE("every documented form of a reference is understood") {
  REQUIRE(std::holds_alternative<NowReference>(Parse("now").base));
  REQUIRE(std::holds_alternative<FirstReference>(Parse("first").base));
  REQUIRE(std::get<LsnReference>(Parse("lsn:0/16B3748").base).lsn == base::Lsn{0x16B3748});
  REQUIRE_FALSE(std::get<LsnReference>(Parse("0/16B3748").base).era.has_value());
  REQUIRE(std::get<LsnReference>(Parse("lsn:3:0/16B3748").base).era == 3);
  REQUIRE(std::get<XidReference>(Parse("xid:12345").base).xid == 12345);
  REQUIRE(std::get<XidReference>(Parse("xid:2:4294967295").base).epoch == 2U);
  REQUIRE(std::get<TagReference>(Parse("tag:before/v1.2-migration").base).name == "before/v1.2-migration");
  REQUIRE(std::get<BranchReference>(Parse("branch:agent/refunds").base).name == "agent/refunds");
  REQUIRE(std::get<TimeReference>(Parse("time:now-5m").base).time.micros == kNow.micros - 300'000'000);
  REQUIRE(std::get<TimeReference>(Parse("2000-01-01T00:00:01Z").base).time.micros == 1'000'000);
  REQUIRE(std::get<TimeReference>(Parse("time:2000-01-01 01:00:01+01:00").base).time.micros == 1'000'000);
}

TEST_CASE("carets add up") {
  REQUIRE(Parse("now").back == 0);
  REQUIRE(Parse("xid:7^").back == 1);
  REQUIRE(Parse("xid:7^3").back == 3);
  REQUIRE(Parse("xid:7^^").back == 2);
  REQUIRE(Parse("xid:7^2^3").back == 5);
  REQUIRE(Parse("tag:a^0").back == 0);
}

TEST_CASE("what is no reference is refused with its reason") {
  using base::ErrorCode;
  for (const char* bad : {"", "xid:", "xid:-1", "xid:4294967296", "xid:1x", "lsn:", "lsn:256:0/1",
                          "time:yesterday", "time:now-5", "time:now-m", "tag:", "tag:a b", "tag:-a", "now^x",
                          "now^-1", "now^9999999999", "branch:a^"}) {
    INFO(bad);
    REQUIRE(CodeOf(bad) == ErrorCode::kInvalidArgument);
  }
  for (const char* unknown : {"release", "12345", "commit:7", "now-5m:", "^", "0/1/2"}) {
    INFO(unknown);
    REQUIRE(CodeOf(unknown) == ErrorCode::kUnknownReference);
  }
  const std::string message = ParseReference("release", kNow).error().message;
  REQUIRE(message.find("tag:release") != std::string::npos);
  REQUIRE(message.find("branch") == std::string::npos);
}

}  // namespace varve::model
