// SPDX-License-Identifier: PostgreSQL
// A real server on a real socket, with a history in memory.
#include "sidecar/http/server.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "sidecar/http/connection.h"
#include "sidecar/http/listener.h"
#include "tests/support/catch.h"
#include "tests/support/fake_history.h"
#include "tests/support/temporary_directory.h"

namespace varve::tests {
namespace {

using http::Descriptor;
using std::chrono::milliseconds;

struct Directory : test::TemporaryDirectory {
  std::string operator/(const char* file) const { return path() + "/" + file; }
};

struct Running {
  explicit Running(http::Options wanted = {}) : options(std::move(wanted)) {
    options.socket = directory / "http.sock";
    history->Copy(Account(1, "a@x", 10));
    auto started = http::Server::Start(
        options, [this] { return history; }, &ingest, base::Clock::System());
    REQUIRE(started);
    server = *std::move(started);
  }
  Directory directory;
  http::Options options;
  std::shared_ptr<FakeHistory> history = std::make_shared<FakeHistory>();
  FakeIngest ingest;
  std::unique_ptr<http::Server> server;
};

Descriptor Connect(const std::string& path) {
  Descriptor fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  REQUIRE(connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0);
  return fd;
}

void Write(const Descriptor& fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t sent = send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;  // the server may refuse before it has read everything
    text.remove_prefix(static_cast<size_t>(sent));
  }
}

// Up to the end of the connection, or until `enough` of it is there.
std::string ReadAll(const Descriptor& fd, size_t enough = SIZE_MAX) {
  std::string text;
  char part[65536];
  while (text.size() < enough) {
    pollfd entry{fd.get(), POLLIN, 0};
    if (poll(&entry, 1, 20'000) <= 0) break;
    const ssize_t got = recv(fd.get(), part, sizeof(part), 0);
    if (got <= 0) break;
    text.append(part, static_cast<size_t>(got));
  }
  return text;
}

std::string GetText(std::string_view target, bool close = true) {
  return "GET " + std::string(target) + " HTTP/1.1\r\nHost: localhost\r\n" +
         (close ? "Connection: close\r\n\r\n" : "\r\n");
}

std::string Ask(const Running& running, std::string_view text) {
  const Descriptor fd = Connect(running.options.socket);
  Write(fd, text);
  return ReadAll(fd);
}

bool Has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

size_t Count(const std::string& text, std::string_view part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

bool Eventually(const std::function<bool()>& condition) {
  for (int i = 0; i < 2000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(milliseconds(5));
  }
  return false;
}

TEST_CASE("a request over the socket is answered") {
  const Running running;
  const std::string answer = Ask(running, GetText("/v1/tables/accounts/rows/1"));
  CHECK(answer.find("HTTP/1.1 200 OK\r\n") == 0);
  CHECK(Has(answer, "Varve-Position: 0/100\r\n"));
  CHECK(Has(answer, "Content-Length: "));
  CHECK(Has(answer, R"("row":{"id": 1, "email": "a@x", "balance": 10}})"));
  struct stat info {};
  REQUIRE(stat(running.options.socket.c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0660);
}

TEST_CASE("one connection serves requests one after the other, pipelined ones too") {
  const Running running;
  const Descriptor fd = Connect(running.options.socket);
  Write(fd, GetText("/healthz", false) + GetText("/healthz", false) + GetText("/nothing", false) +
                GetText("/healthz"));
  const std::string answers = ReadAll(fd);
  CHECK(Count(answers, "HTTP/1.1 200 OK") == 3);
  CHECK(Count(answers, "HTTP/1.1 404 Not Found") == 1);
}

TEST_CASE("a long answer is chunked, for HTTP/1.0 it ends with the connection") {
  const Running running;
  running.history->SetBulk(5000, std::nullopt);
  const std::string chunked = Ask(running, GetText("/v1/tables/accounts/rows"));
  CHECK(Has(chunked, "Transfer-Encoding: chunked\r\n"));
  CHECK(chunked.substr(chunked.size() - 5) == "0\r\n\r\n");
  CHECK(Count(chunked, "\"id\": ") == 5000);
  const std::string plain = Ask(running, "GET /v1/tables/accounts/rows HTTP/1.0\r\n\r\n");
  CHECK_FALSE(Has(plain, "chunked"));
  CHECK(plain.substr(plain.size() - 4) == "\n]}\n");
}

TEST_CASE("an answer that fails midway has no last chunk") {
  const Running running;
  running.history->SetBulk(5000, 4000);
  const auto before = std::chrono::steady_clock::now();
  const std::string cut = Ask(running, GetText("/v1/tables/accounts/rows", false));
  // The request would have kept the connection open.
  CHECK(std::chrono::steady_clock::now() - before < std::chrono::seconds(10));
  CHECK(Has(cut, R"({"code":"internal","message":"the fake disk broke"})"));
  CHECK(cut.substr(cut.size() - 5) != "0\r\n\r\n");
}

TEST_CASE("requests that are too large or no HTTP are refused") {
  const Running running;
  const std::string long_target = Ask(running, GetText("/" + std::string(http::kTargetBytesMax, 'a')));
  CHECK(long_target.find("HTTP/1.1 413 ") == 0);
  CHECK(Has(long_target, "too_large"));
  const std::string large_head =
      Ask(running, "GET /healthz HTTP/1.1\r\nHost: x\r\nX: " + std::string(100'000, 'a') + "\r\n\r\n");
  CHECK(large_head.find("HTTP/1.1 413 ") == 0);
  const std::string announced =
      Ask(running, "POST /v1/tags HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n");
  CHECK(announced.find("HTTP/1.1 413 ") == 0);
  const std::string sent =
      Ask(running, "POST /v1/tags HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n200000\r\n" +
                       std::string(0x200000, 'a') + "\r\n0\r\n\r\n");
  CHECK(sent.find("HTTP/1.1 413 ") == 0);
  const std::string garbage = Ask(running, std::string("\x00\xff\x16garbage\r\n\r\n", 14));
  CHECK(garbage.find("HTTP/1.1 400 ") == 0);
  CHECK(Has(garbage, "invalid_argument"));
  CHECK(Ask(running, GetText("/healthz")).find("HTTP/1.1 200 ") == 0);
}

TEST_CASE("a body is taken, with 100-continue when it is asked for") {
  const Running running;
  const std::string answer =
      Ask(running,
          "POST /v1/tags HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nConnection: close\r\n"
          "Content-Type: application/json\r\nContent-Length: 12\r\n\r\n{\"name\":\"a\"}");
  CHECK(answer.find("HTTP/1.1 100 Continue\r\n") == 0);
  CHECK(Has(answer, "HTTP/1.1 201 Created\r\n"));
}

TEST_CASE("a hundred connections at once are all answered") {
  http::Options options;
  options.room_timeout = std::chrono::seconds(60);
  const Running running(options);
  running.history->SetBulk(3000, std::nullopt);
  std::vector<std::thread> threads;
  std::atomic<int> whole{0};
  for (int i = 0; i < 100; ++i) {
    threads.emplace_back([&] {
      const std::string answer = Ask(running, GetText("/v1/tables/accounts/rows"));
      if (answer.find("HTTP/1.1 200 ") == 0 && answer.substr(answer.size() - 5) == "0\r\n\r\n") ++whole;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(whole == 100);
}

TEST_CASE("idle connections make room for new ones, busy ones do not") {
  const Running running;
  std::vector<Descriptor> idle;
  for (size_t i = 0; i < http::kConnectionsMax; ++i) idle.push_back(Connect(running.options.socket));
  CHECK(Ask(running, GetText("/healthz")).find("HTTP/1.1 200 ") == 0);
  idle.clear();

  running.history->SetBulk(1'000'000, std::nullopt);
  std::vector<Descriptor> busy;
  for (size_t i = 0; i < http::kConnectionsMax; ++i) {
    busy.push_back(Connect(running.options.socket));
    Write(busy.back(), GetText("/v1/tables/accounts/rows"));
    CHECK(ReadAll(busy.back(), 1).find("HTTP/1.1 200 ") == 0);
  }
  const std::string refused = Ask(running, GetText("/healthz"));
  CHECK(refused.find("HTTP/1.1 503 ") == 0);
  CHECK(Has(refused, "unavailable"));
  // Readers that leave give their place back.
  busy.clear();
  CHECK(Eventually([&] { return Ask(running, GetText("/healthz")).find("HTTP/1.1 200 ") == 0; }));
}

TEST_CASE("a reader that stops reading is cut off, and does not hold others up") {
  http::Options options;
  options.write_timeout = milliseconds(200);
  const Running running(options);
  running.history->SetBulk(1'000'000, std::nullopt);
  const Descriptor slow = Connect(running.options.socket);
  Write(slow, GetText("/v1/tables/accounts/rows"));
  CHECK(Ask(running, GetText("/healthz")).find("HTTP/1.1 200 ") == 0);
  // The cut is counted once the server has given up; what was sent until then is then all there is.
  CHECK(
      Eventually([&] { return Has(Ask(running, GetText("/metrics")), "varve_http_answers_cut_total 1\n"); }));
  const std::string got = ReadAll(slow);
  CHECK(got.find("HTTP/1.1 200 ") == 0);
  CHECK(got.size() < 10'000'000);
}

TEST_CASE("requests that do not arrive are given up") {
  http::Options options;
  options.request_timeout = milliseconds(150);
  options.idle_timeout = milliseconds(300);
  const Running running(options);
  const Descriptor half = Connect(running.options.socket);
  Write(half, "GET /healthz HT");
  CHECK(ReadAll(half).find("HTTP/1.1 400 ") == 0);
  const Descriptor silent = Connect(running.options.socket);
  CHECK(ReadAll(silent).empty());
}

TEST_CASE("connections that are cut anywhere leave the server well") {
  const Running running;
  running.history->SetBulk(20'000, std::nullopt);
  const std::string text = GetText("/v1/tables/accounts/rows");
  for (size_t i = 0; i < text.size(); i += 3) {
    const Descriptor fd = Connect(running.options.socket);
    Write(fd, text.substr(0, i));
  }
  for (int i = 0; i < 20; ++i) {
    const Descriptor fd = Connect(running.options.socket);
    Write(fd, text);
    ReadAll(fd, static_cast<size_t>(i) * 10'000 + 1);
  }
  CHECK(Ask(running, GetText("/healthz")).find("HTTP/1.1 200 ") == 0);
}

TEST_CASE("stopping cuts what runs, in little time, and takes the socket away") {
  Running running;
  running.history->SetBulk(1'000'000'000, std::nullopt);
  const Descriptor scan = Connect(running.options.socket);
  Write(scan, GetText("/v1/tables/accounts/rows"));
  CHECK_FALSE(ReadAll(scan, 1).empty());
  running.ingest.SetServerLsn(base::Lsn{0x900});
  const Descriptor waiting = Connect(running.options.socket);
  Write(waiting, GetText("/v1/wait?timeout=100"));
  const auto before = std::chrono::steady_clock::now();
  running.server->Stop();
  running.server->Stop();
  CHECK(std::chrono::steady_clock::now() - before < std::chrono::seconds(5));
  CHECK_FALSE(std::filesystem::exists(running.options.socket));
}

base::Result<std::unique_ptr<http::Server>> StartOn(const http::Options& options, FakeIngest* ingest) {
  return http::Server::Start(
      options, [] { return nullptr; }, ingest, base::Clock::System());
}

TEST_CASE("a socket file that was left behind is replaced, a living one is not") {
  Directory directory;
  FakeIngest ingest;
  http::Options options;
  options.socket = directory / "http.sock";
  {
    const auto left = http::ListenUnix(options.socket);
    REQUIRE(left);
  }
  REQUIRE(std::filesystem::exists(options.socket));
  const auto first = StartOn(options, &ingest);
  REQUIRE(first);
  const auto second = StartOn(options, &ingest);
  REQUIRE_FALSE(second);
  CHECK(second.error().code == base::ErrorCode::kExists);
  CHECK(std::filesystem::exists(options.socket));
}

TEST_CASE("sockets that cannot be are named") {
  Directory directory;
  FakeIngest ingest;
  http::Options options;
  options.socket = directory / "nowhere/http.sock";
  CHECK(Has(StartOn(options, &ingest).error().message, "directory does not exist"));
  options.socket = directory / "file";
  std::ofstream(options.socket) << "precious";
  CHECK(Has(StartOn(options, &ingest).error().message, "something else than a socket"));
  CHECK(std::filesystem::exists(options.socket));
  options.socket = "/tmp/" + std::string(200, 'x');
  CHECK(StartOn(options, &ingest).error().code == base::ErrorCode::kInvalidArgument);
}

TEST_CASE("TCP is for loopback, or for those with a token") {
  Directory directory;
  FakeIngest ingest;
  http::Options options;
  options.socket = directory / "http.sock";
  options.listen = "0.0.0.0:0";
  CHECK(Has(StartOn(options, &ingest).error().message, "token_file"));
  CHECK_FALSE(std::filesystem::exists(options.socket));
  options.token_file = directory / "token";
  CHECK(Has(StartOn(options, &ingest).error().message, "cannot be read"));
  std::ofstream(options.token_file) << "0123456789abcdef0123456789abcdef\n";
  chmod(options.token_file.c_str(), 0644);
  CHECK(Has(StartOn(options, &ingest).error().message, "chmod 0600"));
  chmod(options.token_file.c_str(), 0600);
  const auto with_token = StartOn(options, &ingest);
  REQUIRE(with_token);
  CHECK((*with_token)->port() != 0);
  std::ofstream(options.token_file) << "short\n";
  options.socket = directory / "other.sock";
  CHECK(Has(StartOn(options, &ingest).error().message, "characters"));
}

TEST_CASE("TCP addresses are read") {
  CHECK(http::ParseTcpAddress("127.0.0.1:7117")->loopback);
  CHECK(http::ParseTcpAddress("127.9.9.9:1")->loopback);
  CHECK(http::ParseTcpAddress("localhost:1")->loopback);
  CHECK(http::ParseTcpAddress("[::1]:1")->loopback);
  CHECK_FALSE(http::ParseTcpAddress("0.0.0.0:1")->loopback);
  CHECK_FALSE(http::ParseTcpAddress("[::]:1")->loopback);
  for (const char* bad : {"", "7117", ":7117", "127.0.0.1", "127.0.0.1:", "127.0.0.1:70000", "example.org:80",
                          "::1:80", "127.0.0.1:1x"}) {
    INFO(bad);
    CHECK_FALSE(http::ParseTcpAddress(bad));
  }
}

}  // namespace
}  // namespace varve::tests
