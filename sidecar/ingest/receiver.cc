// SPDX-License-Identifier: PostgreSQL
#include "sidecar/ingest/receiver.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "sidecar/base/check.h"
#include "sidecar/pg/clock_ms.h"

namespace varve::ingest {
namespace {

using base::ErrorCode;
using pg::NowMs;

constexpr int kStatusEveryMs = 1'000;
constexpr int kConfirmEveryMs = 10;  // at most, for what became durable
constexpr int kOutstandingMs = 100;  // between looks while something received is not yet durable
constexpr int kMessagesPerTurn = 64;
constexpr int kCloseMs = 1'000;

}  // namespace

Waker::Waker() : fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) { CHECK(fd_ >= 0); }
Waker::~Waker() { close(fd_); }

void Waker::Wake() {
  const uint64_t one = 1;
  // It fails only when the counter is full, and then the fd is readable already.
  (void)!write(fd_, &one, sizeof(one));
}

void Waker::Clear() {
  uint64_t count = 0;
  (void)!read(fd_, &count, sizeof(count));
}

void Waker::Wait(int timeout_ms) {
  pollfd entry{fd_, POLLIN, 0};
  (void)poll(&entry, 1, timeout_ms);
  Clear();
}

base::Status Receiver::Run() {
  sent_flush_ = base::Lsn{};
  for (;;) {
    if (params_.stop->load()) return {};
    if (params_.applier->failed()) return base::Fail(params_.applier->error());
    if (held_ && params_.applier->TryPush(&*held_)) held_.reset();
    // Markers are few and small: they are read whether or not there is room.
    if (params_.bus != nullptr || !held_) RETURN_IF_ERROR(ReceiveCopy());
    if (params_.bus != nullptr) {
      base::Status received = ReceiveBus();
      bus_failed_ = !received;
      RETURN_IF_ERROR(received);
    }
    const bool ask = params_.ask_server->exchange(false);
    if (ask || StatusDue()) RETURN_IF_ERROR(SendStatus(ask));
    ASSIGN_OR_RETURN(const bool flushed, params_.connection->Flush());
    RETURN_IF_ERROR(Wait(flushed));
  }
}

base::Status Receiver::ReceiveCopy() {
  for (int i = 0; i < kMessagesPerTurn && (params_.bus != nullptr || !held_); ++i) {
    ASSIGN_OR_RETURN(auto buffer, params_.connection->TryReadCopy());
    if (!buffer) return {};
    RETURN_IF_ERROR(Handle(std::move(*buffer)));
  }
  // There may be more in libpq's buffer, where poll does not see it.
  params_.waker->Wake();
  return {};
}

base::Status Receiver::Handle(pg::CopyBuffer buffer) {
  ASSIGN_OR_RETURN(const auto parsed, pg::ParseReplicationMessage(buffer.bytes()));
  if (const auto* data = std::get_if<pg::XLogData>(&parsed)) return HandleData(*data, std::move(buffer));
  HandleKeepalive(std::get<pg::Keepalive>(parsed));
  return {};
}

base::Status Receiver::HandleData(const pg::XLogData& data, pg::CopyBuffer buffer) {
  const base::Lsn end = std::max(data.start, data.end);
  received_ = std::max(received_, end);
  params_.board->SawServer(end, params_.clock->Now());
  if (data.payload.empty()) return {};
  if (params_.bus != nullptr) return params_.bus->Marker(data.payload);
  CountBatch(data.payload.size());
  Received item;
  item.message = data.payload;
  item.buffer = std::move(buffer);
  Push(std::move(item));
  return {};
}

void Receiver::HandleKeepalive(const pg::Keepalive& keepalive) {
  // The server holds back further work until it knows that we have seen this.
  reply_due_ = reply_due_ || keepalive.reply_requested || keepalive.end > received_;
  if (params_.bus != nullptr) params_.bus->Keepalive(keepalive.end);
  // Positions start again from the slot's restart position in each session.
  if (keepalive.end <= keepalive_seen_) return;
  keepalive_seen_ = keepalive.end;
  received_ = std::max(received_, keepalive.end);
  params_.board->SawServer(keepalive.end, params_.clock->Now());
  if (params_.bus != nullptr) return;
  Received item;
  item.keepalive_end = keepalive.end;
  Push(std::move(item));
}

// All that the socket has, for only then it tells when there is more.
base::Status Receiver::ReceiveBus() {
  const auto [wal_end, asked_ms] = params_.wal_end->Get();
  params_.bus->SawWalEnd(wal_end, asked_ms);
  for (int i = 0; i < kMessagesPerTurn && !held_; ++i) {
    Received item;
    ASSIGN_OR_RETURN(const BusFeed::Outcome outcome, params_.bus->Next(NowMs(), &item));
    if (outcome == BusFeed::Outcome::kNothing) return {};
    if (outcome == BusFeed::Outcome::kDropped) {
      params_.board->Update([](IngestStatus* status) { ++status->messages_dropped; });
      continue;
    }
    if (!item.message.empty()) CountBatch(item.message.size());
    Push(std::move(item));
  }
  if (held_) {
    params_.bus->HoldUp();
  } else {
    params_.waker->Wake();
  }
  return {};
}

void Receiver::CountBatch(size_t bytes) {
  params_.board->Update([&](IngestStatus* status) {
    ++status->batches_received;
    status->bytes_received += bytes;
  });
}

void Receiver::Push(Received item) {
  if (!params_.applier->TryPush(&item)) held_ = std::move(item);
}

bool Receiver::StatusDue() const {
  const int64_t since_ms = NowMs() - last_sent_ms_;
  return reply_due_ || since_ms >= kStatusEveryMs ||
         (params_.applier->confirmed() > sent_flush_ && since_ms >= kConfirmEveryMs);
}

base::Status Receiver::SendStatus(bool reply_requested) {
  const base::Lsn flush = params_.applier->confirmed();
  received_ = std::max(received_, flush);
  // What lies behind a batch that does not come is told by a keepalive.
  const bool wanted = reply_requested || (params_.bus != nullptr && params_.bus->Late(NowMs()));
  const auto message = pg::EncodeStandbyStatus({received_, flush, params_.clock->Now(), wanted});
  RETURN_IF_ERROR(params_.connection->WriteCopy({message.data(), message.size()}));
  sent_flush_ = flush;
  last_sent_ms_ = NowMs();
  reply_due_ = false;
  params_.board->Update([&](IngestStatus* status) { status->confirmed = flush; });
  return {};
}

int Receiver::WaitMs() const {
  const int64_t until_status = last_sent_ms_ + kStatusEveryMs - NowMs();
  const base::Lsn confirmed = params_.applier->confirmed();
  int64_t wait_ms = until_status;
  const bool missing = params_.bus != nullptr && params_.bus->missing();
  if (received_ > confirmed || missing) wait_ms = std::min<int64_t>(wait_ms, kOutstandingMs);
  if (confirmed > sent_flush_) wait_ms = std::min<int64_t>(wait_ms, kConfirmEveryMs);
  return static_cast<int>(std::max<int64_t>(wait_ms, 0));
}

base::Status Receiver::Wait(bool flushed) {
  const bool reads_copy = params_.bus != nullptr || !held_;
  const short events = static_cast<short>((reads_copy ? POLLIN : 0) | (flushed ? 0 : POLLOUT));
  // A negative descriptor is left out.
  const int bus = params_.bus != nullptr && !held_ ? params_.bus->fd() : -1;
  pollfd entries[3] = {
      {params_.connection->socket(), events, 0}, {params_.waker->fd(), POLLIN, 0}, {bus, POLLIN, 0}};
  if (poll(entries, 3, WaitMs()) < 0) return {};
  params_.waker->Clear();
  // With a full queue nothing reads the socket, and a poll that reports its end again and again would spin.
  if (!reads_copy && (entries[0].revents & (POLLHUP | POLLERR)) != 0) {
    return base::Fail(ErrorCode::kUnavailable, "the connection to the server is lost");
  }
  return {};
}

void Receiver::Close() {
  if (!SendStatus(false)) return;
  params_.connection->EndCopyBoth(kCloseMs);
}

}  // namespace varve::ingest
