// SPDX-License-Identifier: PostgreSQL
#include <atomic>
#include <memory>
#include <optional>
#include <random>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "sidecar/base/log.h"
#include "sidecar/ingest/applier.h"
#include "sidecar/ingest/backoff.h"
#include "sidecar/ingest/ingest.h"
#include "sidecar/ingest/receiver.h"
#include "sidecar/ingest/session_start.h"
#include "sidecar/ingest/status_board.h"
#include "sidecar/ingest/trouble.h"
#include "sidecar/pg/clock_ms.h"
#include "sidecar/pg/server_state.h"

namespace varve::ingest {
namespace {

using base::ErrorCode;
using base::Fail;
using pg::NowMs;

constexpr int kHealthyMs = 5'000;  // a session that lasted so long was a success
constexpr int kServerEveryMs = 1'000;
constexpr int kServerTimeoutMs = 3'000;

class Client final : public Ingest {
 public:
  Client(Options options, history::History* history, const base::Clock* clock)
      : options_(std::move(options)), history_(history), clock_(clock), backoff_(std::random_device{}()) {
    board_.Update([&](IngestStatus* status) {
      status->slot = options_.slot;
      if (options_.transport != TransportChoice::kStream) status->endpoint = options_.endpoint;
    });
  }
  ~Client() override { Stop(); }

  void Start() override {
    session_thread_ = std::thread([this] { RunSessions(); });
    server_thread_ = std::thread([this] { WatchServer(); });
  }

  void Stop() override {
    stop_ = true;
    waker_.Wake();
    server_waker_.Wake();
    if (session_thread_.joinable()) session_thread_.join();
    if (server_thread_.joinable()) server_thread_.join();
  }

  IngestStatus GetStatus() const override { return board_.Read(); }
  base::Result<base::Lsn> CurrentServerLsn() override;

 private:
  void RunSessions();
  base::Status RunSession();
  base::Status Stream(SessionStart::Started* started);
  void ShowSession(const SessionStart::Started& started);
  // True when the next session may do better at once, without the bus.
  bool LeaveBus(const base::Error& error);
  // False when ingest has ended for good.
  bool HandleTrouble(const base::Error& error);
  void WatchServer();
  base::Result<base::Lsn> AskWalEnd() EXCLUDES(query_mutex_);

  const Options options_;
  history::History* const history_;
  const base::Clock* const clock_;
  StatusBoard board_;
  Waker waker_;
  Waker server_waker_;
  std::atomic<bool> stop_ = false;
  std::atomic<bool> ask_server_ = false;
  WalEnd wal_end_;
  std::thread session_thread_;
  std::thread server_thread_;

  // Session thread only.
  Trouble trouble_;
  Backoff backoff_;
  bool slot_is_foreign_ = false;
  std::string bus_failure_;  // why the next session keeps off the bus
  std::string logged_error_;

  base::Mutex query_mutex_;
  std::unique_ptr<pg::Connection> query_connection_ GUARDED_BY(query_mutex_);
};

void Client::RunSessions() {
  while (!stop_) {
    trouble_.Clear();
    board_.SetPhase(Phase::kConnecting);
    const base::Status status = RunSession();
    if (stop_) break;
    if (status || LeaveBus(status.error())) continue;
    if (!HandleTrouble(status.error())) return;
  }
  board_.SetPhase(Phase::kStopped);
}

bool Client::LeaveBus(const base::Error& error) {
  if (!trouble_.bus_failed() || options_.transport != TransportChoice::kAuto) return false;
  bus_failure_ = error.message;
  base::LogWarning("{}; the next session takes changes over the replication connection", error.message);
  board_.SetTrouble(error.message, trouble_.remedy());
  return true;
}

bool Client::HandleTrouble(const base::Error& error) {
  const bool for_good = trouble_.store_failed() && options_.on_store_failure != nullptr;
  board_.Update([&](IngestStatus* status) {
    status->phase = for_good ? Phase::kStopped : Phase::kWaiting;
    status->last_error = error.message;
    status->remedy = trouble_.remedy();
  });
  if (error.message != logged_error_) {
    base::LogWarning("{}{}{}", error.message,
                     trouble_.remedy().empty() ? "" : "; remedy: ", trouble_.remedy());
    logged_error_ = error.message;
  }
  if (for_good) {
    options_.on_store_failure(error);
    return false;
  }
  const int64_t deadline_ms = NowMs() + (trouble_.permanent() ? backoff_.LongestMs() : backoff_.NextMs());
  while (!stop_ && NowMs() < deadline_ms) waker_.Wait(static_cast<int>(deadline_ms - NowMs()));
  return true;
}

base::Status Client::RunSession() {
  SessionStart start({&options_, history_, &board_, &trouble_, &stop_, &bus_failure_, &slot_is_foreign_});
  ASSIGN_OR_RETURN(SessionStart::Started started, start.Run());
  ShowSession(started);
  server_waker_.Wake();
  // One session is enough to get past what stood in the way.
  bus_failure_.clear();
  const int64_t started_ms = NowMs();
  base::Status status = Stream(&started);
  if (NowMs() - started_ms >= kHealthyMs) {
    backoff_.Reset();
    logged_error_.clear();
  }
  return status;
}

void Client::ShowSession(const SessionStart::Started& started) {
  const bool over_bus = started.transport.bus != nullptr;
  board_.Update([&](IngestStatus* status) {
    status->phase = Phase::kStreaming;
    status->last_error.clear();
    status->remedy.clear();
    ++status->sessions;
    status->transport = over_bus ? "zmq" : "stream";
    status->transport_reason = started.transport.reason;
  });
  const std::string because =
      started.transport.reason.empty() ? "" : fmt::format(", since {}", started.transport.reason);
  base::LogInfo("streaming from {} over {}{}", base::FormatLsn(started.start),
                over_bus ? options_.endpoint : "the replication connection", because);
}

base::Status Client::Stream(SessionStart::Started* started) {
  Applier applier({options_.queue_bytes, options_.sync_group_ms, options_.sync_group_bytes}, history_,
                  started->session, started->identity, [this] { waker_.Wake(); });
  applier.Start();
  std::optional<BusFeed> bus;
  if (started->transport.bus) bus.emplace(started->transport.bus.get(), started->session);
  Receiver receiver({started->connection.get(), &applier, &board_, &waker_, clock_, &stop_, &ask_server_,
                     bus ? &*bus : nullptr, &wal_end_},
                    started->start);
  base::Status received = receiver.Run();
  applier.Stop();
  if (applier.failed()) {
    if (applier.history_failed()) return trouble_.FromHistory(applier.error());
    base::Error error = applier.error();
    error.message = "the stream cannot be understood: " + error.message;
    return trouble_.Refuse(error.code, std::move(error.message),
                           "check that varve.so in the server and varved are of the same version");
  }
  receiver.Close();
  if (received) return {};
  if (receiver.bus_failed()) return trouble_.FromBus(std::move(received).error(), options_.endpoint);
  const bool over_bus = started->transport.bus != nullptr;
  if (over_bus && MayBeOfBus(started->connection->last_error())) trouble_.BlameBus();
  return trouble_.FromServer(std::move(received).error(), *started->connection);
}

// How far the server really is, which the stream tells only as far as it was decoded.
void Client::WatchServer() {
  while (!stop_) {
    server_waker_.Wait(kServerEveryMs);
    if (stop_ || board_.Read().phase != Phase::kStreaming) continue;
    const auto lsn = AskWalEnd();
    if (!lsn) base::LogDebug("asking for the end of WAL: {}", lsn.error().message);
  }
}

base::Result<base::Lsn> Client::AskWalEnd() {
  base::MutexLock lock(&query_mutex_);
  if (query_connection_ == nullptr) {
    ASSIGN_OR_RETURN(query_connection_,
                     pg::Connection::Open({options_.dsn, false, kServerTimeoutMs, &stop_}));
    query_connection_->set_timeout_ms(kServerTimeoutMs);
  }
  const int64_t asked_ms = NowMs();
  auto lsn = pg::ReadWalEnd(query_connection_.get());
  if (!lsn) {
    query_connection_.reset();
    return lsn;
  }
  wal_end_.Set(*lsn, asked_ms);
  board_.SawServer(*lsn, clock_->Now());
  return lsn;
}

base::Result<base::Lsn> Client::CurrentServerLsn() {
  auto lsn = AskWalEnd();
  // A connection that was kept may have died with the server it led to: the second try has a new one.
  if (!lsn) lsn = AskWalEnd();
  if (!lsn) {
    return Fail(ErrorCode::kUnavailable, "the server cannot be asked where it is: " + lsn.error().message);
  }
  ask_server_ = true;
  waker_.Wake();
  return lsn;
}

base::Status CheckRange(const char* name, int64_t value, int64_t min, int64_t max) {
  if (value >= min && value <= max) return {};
  return Fail(ErrorCode::kInvalidArgument,
              fmt::format("{} is {}, it must be from {} to {}", name, value, min, max));
}

}  // namespace

base::Result<std::unique_ptr<Ingest>> Ingest::Create(Options options, history::History* history,
                                                     const base::Clock* clock) {
  if (const auto problem = pg::DsnProblem(options.dsn)) {
    return Fail(ErrorCode::kInvalidArgument, "[source] dsn is malformed: " + *problem);
  }
  if (options.slot.empty() || options.publication.empty()) {
    return Fail(ErrorCode::kInvalidArgument, "[source] slot and publication must not be empty");
  }
  RETURN_IF_ERROR(CheckRange("copy_connections", options.copy_connections, 1, 16));
  RETURN_IF_ERROR(
      CheckRange("queue_bytes", static_cast<int64_t>(options.queue_bytes), 1 << 16, int64_t{1} << 40));
  RETURN_IF_ERROR(CheckRange("sync_group_ms", options.sync_group_ms, 0, 60'000));
  RETURN_IF_ERROR(
      CheckRange("sync_group_bytes", static_cast<int64_t>(options.sync_group_bytes), 1, int64_t{1} << 40));
  RETURN_IF_ERROR(CheckRange("connect_timeout_ms", options.connect_timeout_ms, 1, 3'600'000));
  RETURN_IF_ERROR(CheckRange("slot_timeout_ms", options.slot_timeout_ms, 1'000, 86'400'000));
  return std::unique_ptr<Ingest>(new Client(std::move(options), history, clock));
}

}  // namespace varve::ingest
