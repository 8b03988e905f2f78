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
    if (!held_) RETURN_IF_ERROR(ReceiveSome());
    const bool ask = params_.ask_server->exchange(false);
    if (ask || StatusDue()) RETURN_IF_ERROR(SendStatus(ask));
    ASSIGN_OR_RETURN(const bool flushed, params_.connection->Flush());
    RETURN_IF_ERROR(Wait(flushed));
  }
}

base::Status Receiver::ReceiveSome() {
  for (int i = 0; i < kMessagesPerTurn && !held_; ++i) {
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
  Received item;
  base::Lsn end;
  size_t bytes = 0;
  if (const auto* data = std::get_if<pg::XLogData>(&parsed)) {
    end = std::max(data->start, data->end);
    if (data->payload.empty()) return {};
    item.message = data->payload;
    bytes = data->payload.size();
  } else {
    const auto& keepalive = std::get<pg::Keepalive>(parsed);
    end = keepalive.end;
    // The server holds back further work until it knows that we have seen this.
    reply_due_ = reply_due_ || keepalive.reply_requested || end > received_;
    // Positions start again from the slot's restart position in each session.
    if (end <= keepalive_seen_) return {};
    keepalive_seen_ = end;
    item.keepalive_end = end;
  }
  item.buffer = std::move(buffer);
  received_ = std::max(received_, end);
  const base::Timestamp now = params_.clock->Now();
  params_.board->Update([&](IngestStatus* status) {
    status->server_lsn = std::max(status->server_lsn, end);
    status->server_time = now;
    status->batches_received += bytes > 0 ? 1 : 0;
    status->bytes_received += bytes;
  });
  if (!params_.applier->TryPush(&item)) held_ = std::move(item);
  return {};
}

bool Receiver::StatusDue() const {
  const int64_t since_ms = NowMs() - last_sent_ms_;
  return reply_due_ || since_ms >= kStatusEveryMs ||
         (params_.applier->confirmed() > sent_flush_ && since_ms >= kConfirmEveryMs);
}

base::Status Receiver::SendStatus(bool reply_requested) {
  const base::Lsn flush = params_.applier->confirmed();
  received_ = std::max(received_, flush);
  const auto message = pg::EncodeStandbyStatus({received_, flush, params_.clock->Now(), reply_requested});
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
  if (received_ > confirmed) wait_ms = std::min<int64_t>(wait_ms, kOutstandingMs);
  if (confirmed > sent_flush_) wait_ms = std::min<int64_t>(wait_ms, kConfirmEveryMs);
  return static_cast<int>(std::max<int64_t>(wait_ms, 0));
}

base::Status Receiver::Wait(bool flushed) {
  const short read_events = held_ ? 0 : POLLIN;
  const short write_events = flushed ? 0 : POLLOUT;
  pollfd entries[2] = {{params_.connection->socket(), static_cast<short>(read_events | write_events), 0},
                       {params_.waker->fd(), POLLIN, 0}};
  if (poll(entries, 2, WaitMs()) < 0) return {};
  params_.waker->Clear();
  // With a full queue nothing reads the socket, and a poll that reports its end again and again would spin.
  if (held_ && (entries[0].revents & (POLLHUP | POLLERR)) != 0) {
    return base::Fail(ErrorCode::kUnavailable, "the connection to the server is lost");
  }
  return {};
}

void Receiver::Close() {
  if (!SendStatus(false)) return;
  params_.connection->EndCopyBoth(kCloseMs);
}

}  // namespace varve::ingest
