// SPDX-License-Identifier: PostgreSQL
#include <thread>

#include <boost/json/parse.hpp>

#include "tests/support/catch.h"
#include "tests/unit/http/string_writer.h"

namespace varve::tests {
namespace {

using Step = FakeHistory::Step;

std::string CodeOf(const StringWriter& answer) {
  const auto parsed = boost::json::parse(answer.body).as_object();
  return std::string(parsed.at("error").as_object().at("code").as_string());
}

std::string MessageOf(const StringWriter& answer) {
  const auto parsed = boost::json::parse(answer.body).as_object();
  return std::string(parsed.at("error").as_object().at("message").as_string());
}

boost::json::object Document(const StringWriter& answer) {
  REQUIRE(answer.status == 200);
  CHECK(answer.ended);
  return boost::json::parse(answer.body).as_object();
}

std::vector<std::string> Lines(const StringWriter& answer) {
  std::vector<std::string> lines;
  size_t at = 0;
  for (size_t end = answer.body.find('\n'); end != std::string::npos; end = answer.body.find('\n', at)) {
    lines.push_back(answer.body.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

TEST_CASE("a scan is NDJSON: the moment, bare rows, the end") {
  Interface interface;
  const StringWriter answer = interface.GetLines("/v1/tables/accounts/rows");
  CHECK(answer.status == 200);
  CHECK(answer.content_type == "application/x-ndjson");
  CHECK(answer.ended);
  CHECK(Lines(answer) ==
        std::vector<std::string>{
            R"({"at":{"position":"0/100","time":"2026-01-01T00:00:00Z","lag_bytes":0,"lag_seconds":0.000}})",
            R"({"id": 1, "email": "a@x", "balance": 10})", R"({"id": 2, "email": null, "balance": 20})",
            R"({"end":{"rows":2}})"});
  CHECK(answer.headers ==
        "Varve-Position: 0/100\nVarve-Time: 2026-01-01T00:00:00Z\nVarve-Lag-Bytes: 0\nVarve-Lag-Seconds: "
        "0.000\n");
}

TEST_CASE("a scan is one JSON document or CSV when these are asked for") {
  Interface interface;
  const auto document = Document(interface.Get("/v1/tables/public.accounts/rows"));
  CHECK(document.at("rows").as_array().size() == 2);
  CHECK(document.at("at").as_object().at("position").as_string() == "0/100");
  CHECK_FALSE(document.contains("next"));
  const StringWriter csv = interface.Get("/v1/tables/accounts/rows?columns=email,id", "text/csv");
  CHECK(csv.body == "email,id\na@x,1\n,2\n");
  CHECK(csv.content_type.substr(0, 8) == "text/csv");
}

TEST_CASE("an empty scan is still a whole answer") {
  Interface interface;
  CHECK(Lines(interface.GetLines("/v1/tables/accounts/rows?where=email%3Dnobody")).back() ==
        R"({"end":{"rows":0}})");
  CHECK(
      Document(interface.Get("/v1/tables/accounts/rows?where=email%3Dnobody")).at("rows").as_array().empty());
}

TEST_CASE("a limited scan says where to go on, and goes on there") {
  Interface interface;
  CHECK(Lines(interface.GetLines("/v1/tables/accounts/rows?limit=1")).back() ==
        R"({"end":{"rows":1,"next":1}})");
  CHECK(Lines(interface.GetLines("/v1/tables/accounts/rows?limit=2")).back() == R"({"end":{"rows":2}})");
  const auto rest = Document(interface.Get("/v1/tables/accounts/rows?limit=1&after=1"));
  CHECK(rest.at("rows").as_array().at(0).as_object().at("id").as_int64() == 2);
}

TEST_CASE("a row as it is, was, and as its bytes are") {
  Interface interface;
  interface.history->Commit({{Account(1, "b@x", 11)}});
  const auto now = Document(interface.Get("/v1/tables/accounts/rows/1"));
  CHECK(now.at("row").as_object().at("email").as_string() == "b@x");
  CHECK(now.at("since").as_string() == "0/200");
  CHECK(now.at("at").as_object().at("xid").as_int64() == 700);
  const auto then = Document(interface.Get("/v1/tables/accounts/rows/1?as_of=xid:700%5E"));
  CHECK(then.at("row").as_object().at("email").as_string() == "a@x");
  const auto image = Document(interface.Get("/v1/tables/accounts/rows/1?as_of=first&format=image"));
  CHECK(image.at("image").as_string() == "03003f0000000103614078000000000000000a");
  CHECK(image.at("version").as_string().size() == 16);
  CHECK(interface.Get("/v1/tables/accounts/rows/1?columns=id", "text/csv").body == "id\n1\n");
  CHECK(interface.Get("/v1/tables/accounts/rows/%7B%22id%22%3A1%7D").status == 200);
}

TEST_CASE("what cannot be answered is an error with its code") {
  Interface interface;
  const std::tuple<const char*, int, const char*> cases[] = {
      {"/v1/tables/accounts/rows/9", 404, "not_found"},
      {"/v1/tables/accounts/rows/abc", 400, "invalid_argument"},
      {"/v1/tables/orders/rows", 404, "not_tracked"},
      {"/v1/tables/accounts/rows?as_of=nonsense", 404, "unknown_reference"},
      {"/v1/tables/accounts/rows?as_of=first%5E", 410, "before_history"},
      {"/v1/tables/accounts/rows?as_of=", 400, "invalid_argument"},
      {"/v1/tables/accounts/rows?as_of", 400, "invalid_argument"},
      {"/v1/tables/accounts/rows?columns=", 400, "invalid_argument"},
      {"/v1/tables/accounts/rows?after=", 400, "invalid_argument"},
      {"/v1/tables/accounts/rows?limit=", 400, "invalid_argument"},
      {"/v1/tables/accounts/rows?timeout=", 400, "invalid_argument"},
      {"/v1/tables/accounts/rows/1?as_of=", 400, "invalid_argument"},
      {"/v1/tables/accounts/rows/1/history?from=", 400, "invalid_argument"},
      {"/v1/transactions?from=", 400, "invalid_argument"},
      {"/v1/transactions?to=", 400, "invalid_argument"},
      {"/v1/diff?from=first&to=", 400, "invalid_argument"},
      {"/v1/wait?ref=", 400, "invalid_argument"},
      {"/v1/tables/accounts/rows?columns=nope", 400, "invalid_argument"},
      {"/v1/tables/accounts/rows?where=nope%3D1", 400, "invalid_argument"},
      {"/v1/tables/accounts/rows?limit=0", 400, "invalid_argument"},
      {"/v1/tables/accounts/rows?branch=b", 400, "invalid_argument"},
      {"/v1/tables/accounts/rows/1?format=xml", 400, "invalid_argument"},
      {"/v1/tables/accounts/rows/9/history", 404, "not_found"},
      {"/v1/transactions?order=up", 400, "invalid_argument"},
      {"/v1/transactions/first", 404, "not_found"},
      {"/v1/transactions/xid:5", 404, "unknown_reference"},
      {"/v1/diff", 400, "invalid_argument"},
      {"/v1/branches", 404, "not_found"},
  };
  for (const auto& [target, status, code] : cases) {
    INFO(target);
    const StringWriter answer = interface.Get(target);
    CHECK(answer.status == status);
    CHECK(CodeOf(answer) == code);
    CHECK(answer.ended);
  }
  http::Request request;
  request.target = "/v1/status";
  request.method = http::Method::kDelete;
  const StringWriter answer = interface.Ask(request);
  CHECK(answer.status == 400);
  CHECK(answer.headers == "Allow: GET\n");
}

TEST_CASE("a row's history begins with the version of the first copy") {
  Interface interface;
  interface.history->Commit({{Account(1, "b@x", 10)}});
  interface.history->Commit({{Account(1, "b@x", 10), true}});
  const std::vector<std::string> lines = Lines(interface.GetLines("/v1/tables/accounts/rows/1/history"));
  REQUIRE(lines.size() == 5);
  CHECK(lines[1] ==
        R"({"op":"base","position":"0/100","time":"2026-01-01T00:00:00Z","table":"public.accounts",)"
        R"("key":1,"after":{"id": 1, "email": "a@x", "balance": 10}})");
  CHECK(lines[2] == R"({"op":"update","position":"0/200","time":"2026-01-01T00:01:00Z","xid":700,"seq":0,)"
                    R"("table":"public.accounts","key":1,"changed":["email"],)"
                    R"("before":{"id": 1, "email": "a@x", "balance": 10},)"
                    R"("after":{"id": 1, "email": "b@x", "balance": 10}})");
  CHECK(lines[3].find(R"({"op":"delete")") == 0);
  CHECK(lines[4] == R"({"end":{"rows":3}})");
  // Untouched, its one version is the answer.
  CHECK(Lines(interface.GetLines("/v1/tables/accounts/rows/2/history")).size() == 3);
}

TEST_CASE("transactions are listed newest first, or as asked") {
  Interface interface;
  for (int i = 0; i < 3; ++i) interface.history->Commit({{Account(1, "b@x", i)}, {Account(10 + i, "n", 0)}});
  const std::vector<std::string> lines = Lines(interface.GetLines("/v1/transactions?limit=2"));
  REQUIRE(lines.size() == 4);
  CHECK(lines[1] == R"({"position":"0/400","time":"2026-01-01T00:03:00Z","xid":702,"tables":[)"
                    R"({"table":"public.accounts","inserts":1,"updates":1,"deletes":0,)"
                    R"("truncates":0,"definitions":0}],"messages":0})");
  CHECK(lines[3] == R"({"end":{"rows":2,"more":true}})");
  const std::vector<std::string> ascending =
      Lines(interface.GetLines("/v1/transactions?order=asc&from=xid:700&to=xid:701"));
  REQUIRE(ascending.size() == 3);
  CHECK(ascending[1].find(R"({"position":"0/300")") == 0);
  const std::vector<std::string> show = Lines(interface.GetLines("/v1/transactions/xid:701"));
  REQUIRE(show.size() == 4);
  CHECK(show[0].find(R"("transaction":{"position":"0/300")") != std::string::npos);
  CHECK(show[2].find(R"({"op":"insert","seq":1,"table":"public.accounts","key":11,"after":)") == 0);
}

TEST_CASE("a diff has its ends, its changes or its counts") {
  Interface interface;
  interface.history->Commit({{Account(1, "b@x", 10)}});
  interface.history->Commit({{Account(1, "c@x", 10)}, {Account(2, std::nullopt, 20), true}});
  const std::vector<std::string> net = Lines(interface.GetLines("/v1/diff?from=first"));
  REQUIRE(net.size() == 4);
  CHECK(
      net[0].find(R"("from":{"position":"0/100","time":"2026-01-01T00:00:00Z"},"to":{"position":"0/300")") !=
      std::string::npos);
  CHECK(Lines(interface.GetLines("/v1/diff?from=first&raw=true&table=accounts")).size() == 5);
  CHECK(CodeOf(interface.Get("/v1/diff?from=now&to=first&raw=true")) == "invalid_argument");
  const auto stat = Document(interface.Get("/v1/diff?from=first&stat=true"));
  const auto counts = stat.at("tables").as_array().at(0).as_object();
  CHECK(counts.at("updates").as_int64() == 1);
  CHECK(counts.at("deletes").as_int64() == 1);
}

StringWriter PostTag(Interface* interface, std::string body) {
  http::Request request;
  request.method = http::Method::kPost;
  request.target = "/v1/tags";
  request.body = std::move(body);
  return interface->Ask(std::move(request));
}

TEST_CASE("tags are made, listed and deleted") {
  Interface interface;
  interface.history->Commit({{Account(1, "b@x", 10)}});
  const StringWriter made = PostTag(&interface, R"({"name":"before/it","ref":"xid:700^"})");
  CHECK(made.status == 201);
  CHECK(made.body.find(R"("tag":{"name":"before/it","position":"0/100")") != std::string::npos);
  CHECK(PostTag(&interface, R"({"name":"before/it"})").status == 409);
  for (const char* bad :
       {"", "[]", "{}", R"({"name":5})", R"({"name":"a","at":"now"})", R"({"name":"a^"})"}) {
    INFO(bad);
    CHECK(PostTag(&interface, bad).status == 400);
  }
  CHECK(Document(interface.Get("/v1/tags")).at("tags").as_array().size() == 1);
  CHECK(interface.Get("/v1/tables/accounts/rows/1?as_of=tag:before/it").body.find("a@x") !=
        std::string::npos);
  http::Request remove;
  remove.method = http::Method::kDelete;
  remove.target = "/v1/tags?name=before/it";
  CHECK(interface.Ask(remove).status == 200);
  CHECK(interface.Ask(remove).status == 404);
}

TEST_CASE("an error before the first part keeps its status, one behind it stands at the end") {
  Interface interface;
  interface.history->SetBulk(100'000, 10);
  const StringWriter early = interface.GetLines("/v1/tables/accounts/rows");
  CHECK(early.status == 500);
  CHECK(CodeOf(early) == "internal");
  interface.history->SetBulk(100'000, 50'000);
  const StringWriter late = interface.GetLines("/v1/tables/accounts/rows");
  CHECK(late.status == 200);
  CHECK_FALSE(late.ended);
  CHECK(Lines(late).size() == 50'002);
  CHECK(Lines(late).back() == R"({"error":{"code":"internal","message":"the fake disk broke"}})");
  const StringWriter document = interface.Get("/v1/tables/accounts/rows");
  CHECK_FALSE(document.ended);
  const auto parsed = boost::json::parse(document.body).as_object();
  CHECK(parsed.contains("error"));
}

TEST_CASE("a long answer comes in parts and a reader that leaves ends the scan") {
  Interface interface;
  interface.history->SetBulk(100'000, std::nullopt);
  const StringWriter whole = interface.GetLines("/v1/tables/accounts/rows");
  CHECK(whole.streamed);
  CHECK(Lines(whole).size() == 100'002);
  http::Request request;
  request.target = "/v1/tables/accounts/rows";
  StringWriter gone;
  gone.gone_after = 100'000;
  http::Dispatch(interface.context, &request, &gone);
  CHECK_FALSE(gone.ended);
  CHECK(gone.body.size() <= 100'000);
}

TEST_CASE("a closed history or an unfinished first copy is unavailable, with the reason") {
  Interface interface;
  ingest::IngestStatus status;
  status.phase = ingest::Phase::kCopying;
  status.rows_copied = 10;
  status.rows_expected = 100;
  interface.ingest.SetStatus(status);
  interface.history->SetComplete(false);
  CHECK(interface.Get("/healthz").status == 200);
  const StringWriter copying = interface.Get("/readyz");
  CHECK(copying.status == 503);
  CHECK(MessageOf(copying) == "the first copy is running: 10 rows so far of about 100");
  CHECK(interface.Get("/v1/tables/accounts/rows").status == 503);
  const auto running = Document(interface.Get("/v1/status"));
  CHECK_FALSE(running.at("ready").as_bool());
  CHECK(running.at("rows_copied").as_int64() == 10);

  status.phase = ingest::Phase::kStopped;
  status.last_error = "the disk is full";
  status.remedy = "make room";
  interface.ingest.SetStatus(status);
  interface.open = false;
  const StringWriter closed = interface.Get("/v1/tables/accounts/rows/1");
  CHECK(closed.status == 503);
  CHECK(MessageOf(closed) == "the history is closed at this moment: the disk is full; make room");
  CHECK(interface.Get("/v1/status").status == 200);
  CHECK(interface.Get("/metrics").status == 200);
}

TEST_CASE("now with wait is the server's position first") {
  Interface interface;
  interface.ingest.SetServerLsn(base::Lsn{0x200});
  const StringWriter behind = interface.Get("/v1/tables/accounts/rows/1?wait=true&timeout=0.05");
  CHECK(behind.status == 503);
  CHECK(CodeOf(behind) == "behind");
  std::thread later([&interface] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    interface.history->Commit({{Account(1, "b@x", 10)}});
  });
  const auto row = Document(interface.Get("/v1/tables/accounts/rows/1?wait=true&timeout=10"));
  later.join();
  CHECK(row.at("row").as_object().at("email").as_string() == "b@x");
  CHECK(interface.Get("/v1/wait").status == 200);
  interface.ingest.SetServerLsn(std::nullopt);
  CHECK(CodeOf(interface.Get("/v1/wait")) == "unavailable");
  CHECK(interface.Get("/v1/wait?ref=0/200").status == 200);
}

TEST_CASE("a time after the last commit is answered only when nothing can come before it") {
  Interface interface;
  const std::string target = "/v1/tables/accounts/rows/1?timeout=0.05&as_of=time:2026-06-01T00:00:00Z";
  // The server has more than is here: some of it may have committed before that time.
  interface.ingest.SetServerLsn(base::Lsn{0x180});
  CHECK(CodeOf(interface.Get(target)) == "behind");
  interface.history->PublishThrough(base::Position{0x180});
  CHECK(interface.Get(target).status == 200);
  // What a keepalive said so much later that all WAL of that time is in the file is as good as asking.
  interface.ingest.SetServerLsn(std::nullopt);
  CHECK(CodeOf(interface.Get(target)) == "unavailable");
  ingest::IngestStatus status;
  status.phase = ingest::Phase::kStreaming;
  status.server_lsn = base::Lsn{0x170};
  status.server_time = *base::ParseTimestamp("2026-06-01T00:00:30Z");
  interface.ingest.SetStatus(status);
  CHECK(CodeOf(interface.Get(target)) == "unavailable");
  status.server_time = *base::ParseTimestamp("2026-06-01T00:00:31Z");
  interface.ingest.SetStatus(status);
  CHECK(interface.Get(target).status == 200);
  // Up to the last commit nobody has to be asked.
  status.server_lsn = {};
  interface.ingest.SetStatus(status);
  CHECK(interface.Get("/v1/tables/accounts/rows/1?as_of=time:2026-01-01T00:00:00Z").status == 200);
}

TEST_CASE("an LSN is waited for, and one ahead of the server refused") {
  Interface interface;
  interface.ingest.SetServerLsn(base::Lsn{0x300});
  CHECK(CodeOf(interface.Get("/v1/tables/accounts/rows/1?as_of=0/301&timeout=0.05")) == "in_the_future");
  CHECK(CodeOf(interface.Get("/v1/tables/accounts/rows/1?as_of=0/300&timeout=0.05")) == "behind");
  interface.history->PublishThrough(base::Position{0x300});
  CHECK(interface.Get("/v1/tables/accounts/rows/1?as_of=0/300").status == 200);
}

TEST_CASE("over TCP a token or a loopback name is asked for") {
  Interface interface;
  http::Request request;
  request.target = "/v1/status";
  request.tcp = true;
  for (const char* host : {"localhost", "localhost:7117", "127.0.0.1:1", "[::1]:7117", "[::1]"}) {
    request.host = host;
    CHECK(interface.Ask(request).status == 200);
  }
  for (const char* host : {"", "evil.example", "127.0.0.1.evil.example:80", "localhost.evil:80"}) {
    INFO(host);
    request.host = host;
    CHECK(CodeOf(interface.Ask(request)) == "forbidden");
  }
  interface.context.token = "0123456789abcdef";
  CHECK(interface.Ask(request).headers == "WWW-Authenticate: Bearer\n");
  request.authorization = "Bearer 0123456789abcdeX";
  CHECK(CodeOf(interface.Ask(request)) == "unauthorized");
  request.authorization = "Bearer 0123456789abcdef";
  CHECK(interface.Ask(request).status == 200);
  http::Request health;
  health.target = "/healthz";
  health.tcp = true;
  CHECK(interface.Ask(health).status == 200);
  // A foreign page's form cannot say that its body is JSON.
  request.target = "/v1/tags";
  request.method = http::Method::kPost;
  request.body = R"({"name":"a"})";
  request.content_type = "text/plain";
  CHECK(interface.Ask(request).status == 400);
  request.content_type = "application/json; charset=utf-8";
  CHECK(interface.Ask(request).status == 201);
}

TEST_CASE("tokens are compared whole") {
  CHECK(http::EqualInConstantTime("abc", "abc"));
  CHECK_FALSE(http::EqualInConstantTime("abc", "ab"));
  CHECK_FALSE(http::EqualInConstantTime("abc", "abcabc"));
  CHECK_FALSE(http::EqualInConstantTime("abc", ""));
  CHECK_FALSE(http::EqualInConstantTime("", "a"));
}

TEST_CASE("tables say what they are") {
  Interface interface;
  const std::vector<std::string> lines = Lines(interface.GetLines("/v1/tables"));
  REQUIRE(lines.size() == 3);
  CHECK(lines[1] ==
        R"({"table":"public.accounts","schema":"public","name":"accounts","oid":16384,"state":"tracked",)"
        R"("first":"0/100","changes":0,"identity":"default","key":["id"],"columns":[)"
        R"({"name":"id","type":"oid 23"},{"name":"email","type":"oid 25"},)"
        R"({"name":"balance","type":"oid 20"}]})");
}

}  // namespace
}  // namespace varve::tests
