// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <atomic>
#include <optional>
#include <string>

#include "sidecar/http/context.h"
#include "sidecar/http/dispatch.h"
#include "tests/support/fake_history.h"

namespace varve::tests {

// An answer as a string; a reader that goes away after some bytes when a test wants one.
class StringWriter : public http::ResponseWriter {
 public:
  base::Status Send(const http::ResponseHead& head, std::string_view body) override {
    RETURN_IF_ERROR(Begin(head));
    RETURN_IF_ERROR(Write(body));
    streamed = false;
    return End();
  }
  base::Status Begin(const http::ResponseHead& head) override {
    status = head.status;
    content_type = head.content_type;
    for (const auto& [name, value] : head.headers) headers += std::string(name) + ": " + value + "\n";
    streamed = true;
    return {};
  }
  base::Status Write(std::string_view part) override {
    if (gone_after && body.size() + part.size() > *gone_after) {
      return base::Fail(base::ErrorCode::kUnavailable, "the reader is gone");
    }
    body += part;
    return {};
  }
  base::Status End() override {
    ended = true;
    return {};
  }

  int status = 0;
  std::string content_type;
  std::string headers;
  std::string body;
  bool streamed = false;
  bool ended = false;
  std::optional<size_t> gone_after;
};

// Handlers over a history in memory, without sockets. Begins with accounts 1 (a@x, 10) and 2 (null, 20).
class Interface {
 public:
  Interface() : monitor_(base::Clock::System()) {
    context.history = [this] { return open ? history : nullptr; };
    context.ingest = &ingest;
    context.clock = base::Clock::System();
    context.monitor = &monitor_;
    context.counters = &counters_;
    context.stopping = &stopping;
    history->Copy(Account(1, "a@x", 10));
    history->Copy(Account(2, std::nullopt, 20));
    ingest::IngestStatus status;
    status.phase = ingest::Phase::kStreaming;
    status.slot = "varve";
    ingest.SetStatus(status);
  }

  StringWriter Ask(http::Request request) {
    StringWriter writer;
    http::Dispatch(context, &request, &writer);
    return writer;
  }
  StringWriter Get(std::string target, std::string accept = "") {
    http::Request request;
    request.target = std::move(target);
    request.accept = std::move(accept);
    return Ask(std::move(request));
  }
  StringWriter GetLines(std::string target) { return Get(std::move(target), "application/x-ndjson"); }

  std::shared_ptr<FakeHistory> history = std::make_shared<FakeHistory>();
  FakeIngest ingest;
  bool open = true;
  std::atomic<bool> stopping{false};
  http::Context context;

 private:
  http::Monitor monitor_;
  http::RequestCounters counters_;
};

}  // namespace varve::tests
