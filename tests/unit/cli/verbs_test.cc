// SPDX-License-Identifier: PostgreSQL
// Verbs against a real server with a history in memory: what they print and how they exit.
#include "cli/verbs.h"

#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "sidecar/http/listener.h"
#include "sidecar/http/server.h"
#include "tests/support/catch.h"
#include "tests/support/fake_history.h"
#include "tests/support/temporary_directory.h"

namespace varve::tests {
namespace {

struct Ran {
  int status = 0;
  std::string out;
  std::string err;
};

// Begins with accounts 1 (a@x, 10) and 2 (null, 20); xid 700 changes 1, xid 701 deletes 2 and adds 3.
class World {
 public:
  World() {
    history->Copy(Account(1, "a@x", 10));
    history->Copy(Account(2, std::nullopt, 20));
    history->Commit({{Account(1, "b@x", 10)}});
    history->Commit({{Account(2, std::nullopt, 20), true}, {Account(3, "c", 30)}});
    ingest::IngestStatus status;
    status.phase = ingest::Phase::kStreaming;
    status.slot = "varve";
    ingest.SetStatus(status);
    http::Options options;
    options.socket = directory_.path() + "/http.sock";
    server_ = *http::Server::Start(
        options, [this] { return history; }, &ingest, base::Clock::System());
  }
  ~World() { server_->Stop(); }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  std::string socket() const { return directory_.path() + "/http.sock"; }
  Ran Run(std::vector<std::string> arguments) const { return RunAt(socket(), std::move(arguments)); }
  static Ran RunAt(const std::string& server, std::vector<std::string> arguments) {
    const cli::ParsedCommandLine parsed = cli::ParseCommandLine(std::move(arguments), server);
    REQUIRE(parsed.command);
    Ran ran;
    cli::Output output = cli::Output::Captured(&ran.out, &ran.err);
    ran.status = cli::RunCommand(*parsed.command, &output);
    return ran;
  }

  std::shared_ptr<FakeHistory> history = std::make_shared<FakeHistory>();
  FakeIngest ingest;

 private:
  const test::TemporaryDirectory directory_;
  std::unique_ptr<http::Server> server_;
};

bool Has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

const std::string kAtNow = "at 0/300, 2026-01-01T00:02:00Z; varved is 0 bytes, 0.000 s behind\n";

TEST_CASE("get prints a row for people and for programs") {
  const World world;
  const Ran people = world.Run({"get", "accounts", "1"});
  CHECK(people.status == 0);
  CHECK(people.out == "-[ RECORD 1 ]\nid      | 1\nemail   | b@x\nbalance | 10\n");
  CHECK(people.err == kAtNow);
  const Ran json = world.Run({"get", "accounts", "1", "--as-of", "xid:700^", "--json", "-q"});
  CHECK(Has(json.out, R"("row":{"id": 1, "email": "a@x", "balance": 10}})"));
  CHECK(json.err.empty());
  CHECK(Has(world.Run({"get", "accounts", "1", "--format", "image"}).out, R"("image":"0300)"));
  const Ran none = world.Run({"get", "accounts", "2"});
  CHECK(none.status == 4);
  CHECK(none.out.empty());
  CHECK(none.err.find("varve: not_found: public.accounts has no row with the key 2") == 0);
}

TEST_CASE("scan prints a table, CSV or lines") {
  const World world;
  CHECK(world.Run({"scan", "accounts", "--as-of", "first"}).out ==
        " id | email | balance \n----+-------+---------\n  1 | a@x   |      10\n  2 |       |      20\n(2 "
        "rows)\n");
  CHECK(world.Run({"scan", "accounts", "--format", "csv"}).out == "id,email,balance\n1,b@x,10\n3,c,30\n");
  const Ran lines = world.Run({"scan", "accounts", "--ndjson", "--limit", "1"});
  CHECK(Has(lines.out,
            "\n{\"id\": 1, \"email\": \"b@x\", \"balance\": 10}\n{\"end\":{\"rows\":1,\"next\":1}}\n"));
  CHECK(world.Run({"scan", "accounts", "--where", "email=c", "--columns", "id"}).out ==
        " id \n----\n  3\n(1 row)\n");
}

TEST_CASE("log, show and history tell who changed what") {
  const World world;
  const Ran log = world.Run({"log"});
  CHECK(log.out ==
        "xid:701       0/300         2026-01-01 00:02:00Z         accounts +1 -1\n"
        "xid:700       0/200         2026-01-01 00:01:00Z         accounts ~1\n");
  CHECK(Has(world.Run({"log", "-n", "1"}).err, "there are more than these 1"));
  const Ran show = world.Run({"show", "xid:700"});
  CHECK(show.out ==
        "transaction xid:700\nPosition: 0/200\nDate:     2026-01-01 00:01:00Z\nTables:   accounts ~1\n\n"
        "@@ accounts 1 update @@\n- email: \"a@x\"\n+ email: \"b@x\"\n");
  const Ran history = world.Run({"history", "accounts", "1"});
  CHECK(Has(history.out, "(first copy) | {\"id\": 1, \"email\": \"a@x\", \"balance\": 10}\n"));
  CHECK(Has(history.out,
            " 700 | 0/200    | 2026-01-01 00:01:00Z | update       | email: \"a@x\" -> \"b@x\"\n(2 rows)\n"));
}

TEST_CASE("diff shows both ends and says with its exit status whether there is a difference") {
  const World world;
  const Ran diff = world.Run({"diff", "first", "now"});
  CHECK(diff.status == 0);
  CHECK(diff.out ==
        "--- 0/100 first copy 2026-01-01 00:00:00Z\n+++ 0/300 xid:701 2026-01-01 00:02:00Z\n"
        "@@ accounts 1 update @@\n- email: \"a@x\"\n+ email: \"b@x\"\n"
        "@@ accounts 2 delete @@\n- {\"id\": 2, \"email\": null, \"balance\": 20}\n"
        "@@ accounts 3 insert @@\n+ {\"id\": 3, \"email\": \"c\", \"balance\": 30}\n");
  for (const char* format : {"", "--json", "--ndjson", "--stat"}) {
    INFO(format);
    std::vector<std::string> some = {"diff", "first", "now", "--exit-code"};
    std::vector<std::string> none = {"diff", "now", "now", "--exit-code"};
    if (*format != '\0') {
      some.emplace_back(format);
      none.emplace_back(format);
    }
    CHECK(world.Run(some).status == 1);
    CHECK(world.Run(none).status == 0);
  }
}

TEST_CASE("tags, tables, status and wait") {
  World world;
  CHECK(world.Run({"tag", "create", "before", "xid:700^"}).out ==
        "tag:before is 0/100, 2026-01-01 00:00:00Z\n");
  CHECK(world.Run({"tag", "create", "before"}).status == 4);
  CHECK(Has(world.Run({"tag", "list"}).out, " before | 0/100    | 2026-01-01 00:00:00Z | \n"));
  CHECK(Has(world.Run({"get", "accounts", "1", "--as-of", "tag:before"}).out, "a@x"));
  CHECK(world.Run({"tag", "delete", "before"}).out == "tag:before is deleted\n");
  CHECK(Has(world.Run({"tables"}).out, " public.accounts | tracked | id  | 0/100 "));
  const Ran status = world.Run({"status"});
  CHECK(Has(status.out, "state       streaming\n"));
  CHECK(Has(status.out, "published   0/300, 2026-01-01 00:02:00Z, xid:701\n"));
  CHECK(Has(world.Run({"status", "--json"}).out, R"("slot":"varve")"));
  world.ingest.SetServerLsn(base::Lsn{0x300});
  CHECK(world.Run({"wait"}).out == "0/300\n");
  world.ingest.SetServerLsn(base::Lsn{0x900});
  const Ran behind = world.Run({"wait", "--timeout", "0.05"});
  CHECK(behind.status == 4);
  CHECK(behind.err.find("varve: behind: waited 0.05 s; ") == 0);
}

TEST_CASE("wait waits for varved to start") {
  const test::TemporaryDirectory directory;
  const std::string path = directory.path() + "/http.sock";
  const Ran nobody = World::RunAt(path, {"wait", "--timeout", "0.3"});
  CHECK(nobody.status == 3);
  CHECK(Has(nobody.err, "waited 0.3 s; --timeout SECONDS waits longer: varved cannot be reached at " + path));
  Ran ran;
  std::thread waiting([&] { ran = World::RunAt(path, {"wait", "--timeout", "30"}); });
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  World world;
  world.ingest.SetServerLsn(base::Lsn{0x300});
  std::filesystem::create_symlink(world.socket(), path);
  waiting.join();
  CHECK(ran.status == 0);
  CHECK(ran.out == "0/300\n");
}

TEST_CASE("wait waits for the first copy") {
  World world;
  world.ingest.SetServerLsn(base::Lsn{0x300});
  world.history->SetComplete(false);
  const Ran late = world.Run({"wait", "--timeout", "0.3"});
  CHECK(late.status == 4);
  CHECK(Has(late.err,
            "unavailable: waited 0.3 s; --timeout SECONDS waits longer: the first copy is not complete"));
  Ran ran;
  std::thread waiting([&] { ran = world.Run({"wait", "--timeout", "30"}); });
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  world.history->SetComplete(true);
  waiting.join();
  CHECK(ran.out == "0/300\n");
}

TEST_CASE("a long cell is cut in a table and whole elsewhere") {
  const World world;
  const std::string wide(1000, 'x');
  world.history->Commit({{Account(3, wide, 30)}});
  const std::string table = world.Run({"scan", "accounts"}).out;
  CHECK(Has(table, std::string(199, 'x') + "…"));
  CHECK_FALSE(Has(table, std::string(200, 'x')));
  CHECK(Has(world.Run({"get", "accounts", "3"}).out, wide));
  CHECK(Has(world.Run({"scan", "accounts", "--json"}).out, wide));
}

TEST_CASE("why a table cannot be read stands below the tables") {
  const World world;
  const std::string text = world.Run({"tables"}).out;
  CHECK(text.find("reason") == std::string::npos);
}

TEST_CASE("an answer that fails midway is refused with the reason, in every format") {
  const World world;
  world.history->SetBulk(5000, 4000);
  for (const char* format : {"table", "json", "ndjson"}) {
    INFO(format);
    const Ran cut = world.Run({"scan", "accounts", "--format", format});
    INFO(cut.err);
    // CSV, which the table is made of, has no place for the reason.
    CHECK(cut.status == (std::string(format) == "table" ? 3 : 4));
    CHECK(Has(cut.err,
              std::string(format) == "table" ? "cut before its end" : "internal: the fake disk broke"));
    CHECK_FALSE(Has(cut.out, "rows)"));
  }
}

TEST_CASE("a server that is not there is unreachable") {
  const Ran ran = World::RunAt("/tmp/varve-nobody/http.sock", {"status"});
  CHECK(ran.status == 3);
  CHECK(Has(ran.err, "/tmp/varve-nobody/http.sock"));
}

TEST_CASE("answers of something else than varved are named, whatever they are") {
  const test::TemporaryDirectory directory;
  const std::string path = directory.path() + "/http.sock";
  const auto listener = http::ListenUnix(path);
  REQUIRE(listener);
  const std::pair<std::string, int> answers[] = {
      {"", 3},
      {"garbage\r\n\r\n", 3},
      {"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{", 3},
      {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno", 3},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"at\"", 3},
      {"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 4\r\n\r\noops", 4},
  };
  for (const auto& answer : answers) {
    const std::string& text = answer.first;
    INFO(text);
    std::thread server([&] {
      int peer = -1;
      while ((peer = accept(listener->get(), nullptr, nullptr)) < 0) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      char request[4096];
      (void)!read(peer, request, sizeof(request));
      (void)!write(peer, text.data(), text.size());
      close(peer);
    });
    const Ran ran = World::RunAt(path, {"tables"});
    server.join();
    CHECK(ran.status == answer.second);
    CHECK(ran.err.find("varve: ") == 0);
  }
}

}  // namespace
}  // namespace varve::tests
