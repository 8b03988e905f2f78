// SPDX-License-Identifier: PostgreSQL
#include "sidecar/http/list_answer.h"

#include "tests/support/catch.h"
#include "tests/unit/http/string_writer.h"

namespace varve::http {
namespace {

using tests::StringWriter;

Moment SomeMoment() {
  Moment moment;
  moment.point.position = base::Position{0x100};
  return moment;
}

const std::string kAt =
    R"({"at":{"position":"0/100","time":"2000-01-01T00:00:00Z","lag_bytes":0,"lag_seconds":0.000})";

base::Status Fill(Format format, size_t items, const base::Status& outcome, StringWriter* writer) {
  ListAnswer answer(writer, format, SomeMoment(), "things");
  answer.AddMember("kind", "\"x\"");
  answer.SetCsvHeader("h\n");
  for (size_t i = 0; i < items; ++i) {
    *answer.BeginItem() += format == Format::kCsv ? "1\n" : "{\"i\":1}";
    if (!answer.EndItem()) break;
  }
  if (!outcome) {
    // The item that failed in its middle.
    *answer.BeginItem() += "{\"half\":";
  } else {
    answer.AddTail("next", "7");
  }
  return answer.Finish(outcome);
}

const base::Status kFailed = base::Fail(base::ErrorCode::kInternal, "broke");

TEST_CASE("a short list is sent whole, in each form") {
  StringWriter json;
  REQUIRE(Fill(Format::kJson, 2, {}, &json));
  CHECK(json.body == kAt + ",\"kind\":\"x\",\"things\":[\n{\"i\":1},\n{\"i\":1}\n],\"next\":7}\n");
  StringWriter ndjson;
  REQUIRE(Fill(Format::kNdjson, 2, {}, &ndjson));
  CHECK(ndjson.body == kAt + ",\"kind\":\"x\"}\n{\"i\":1}\n{\"i\":1}\n{\"end\":{\"rows\":2,\"next\":7}}\n");
  StringWriter csv;
  REQUIRE(Fill(Format::kCsv, 2, {}, &csv));
  CHECK(csv.body == "h\n1\n1\n");
  for (const StringWriter* writer : {&json, &ndjson, &csv}) {
    CHECK(writer->ended);
    CHECK_FALSE(writer->streamed);
  }
}

TEST_CASE("an error before anything was sent is left to the caller") {
  StringWriter writer;
  const base::Status finished = Fill(Format::kNdjson, 10, kFailed, &writer);
  REQUIRE_FALSE(finished);
  CHECK(finished.error().message == "broke");
  CHECK(writer.body.empty());
  CHECK(writer.status == 0);
}

TEST_CASE("an error later takes the place of the item that failed, and the answer has no end") {
  constexpr size_t kMany = 20'000;
  constexpr std::string_view kError = R"("error":{"code":"internal","message":"broke"}})";
  StringWriter ndjson;
  REQUIRE(Fill(Format::kNdjson, kMany, kFailed, &ndjson));
  CHECK(ndjson.body.find("half") == std::string::npos);
  CHECK(ndjson.body.substr(ndjson.body.size() - kError.size() - 10) ==
        "{\"i\":1}\n{" + std::string(kError) + "\n");
  StringWriter json;
  REQUIRE(Fill(Format::kJson, kMany, kFailed, &json));
  CHECK(json.body.find("half") == std::string::npos);
  CHECK(json.body.substr(json.body.size() - kError.size() - 10) ==
        "{\"i\":1}]," + std::string(kError) + "\n");
  StringWriter csv;
  REQUIRE(Fill(Format::kCsv, 4 * kMany, kFailed, &csv));
  CHECK(csv.body.find("broke") == std::string::npos);
  for (const StringWriter* writer : {&ndjson, &json, &csv}) {
    CHECK(writer->streamed);
    CHECK_FALSE(writer->ended);
  }
}

}  // namespace
}  // namespace varve::http
