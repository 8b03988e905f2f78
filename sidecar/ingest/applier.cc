// SPDX-License-Identifier: PostgreSQL
#include "sidecar/ingest/applier.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "sidecar/ingest/trouble.h"
#include "sidecar/pg/clock_ms.h"

namespace varve::ingest {
namespace {

using base::ErrorCode;
using pg::NowMs;

constexpr int kIdleWaitMs = 500;
constexpr size_t kKeepaliveBytes = 64;  // what a keepalive counts for in the queue

}  // namespace

Applier::Applier(const ApplierOptions& options, history::History* history, wire::SessionId session,
                 history::Identity identity, std::function<void()> wake)
    : options_(options),
      history_(history),
      identity_(std::move(identity)),
      wake_(std::move(wake)),
      queue_(options.queue_bytes),
      decoder_(session, /*allow_staged=*/true) {
  newest_ = history->GetStatus().published_through;
  confirmed_ = newest_.lsn().value;
}

void Applier::Start() {
  thread_ = std::thread([this] { Run(); });
}

bool Applier::TryPush(Received* item) {
  const size_t bytes = item->message.empty() ? kKeepaliveBytes : item->message.size();
  if (queue_.TryPush(item, bytes)) return true;
  // Said before the second try, so that room made in between is not missed.
  receiver_waits_ = true;
  return queue_.TryPush(item, bytes);
}

void Applier::Stop() {
  stop_ = true;
  queue_.Close();
  if (thread_.joinable()) thread_.join();
}

base::Error Applier::error() const {
  base::MutexLock lock(&mutex_);
  return error_.value_or(base::Error{});
}

bool Applier::history_failed() const {
  base::MutexLock lock(&mutex_);
  return history_failed_;
}

void Applier::Fail(base::Error error) {
  {
    base::MutexLock lock(&mutex_);
    error_ = std::move(error);
  }
  failed_ = true;
  queue_.Close();
  wake_();
}

base::Status Applier::History(base::Status status) {
  if (!status) {
    base::MutexLock lock(&mutex_);
    history_failed_ = true;
  }
  return status;
}

void Applier::Run() {
  last_publish_ms_ = NowMs();
  while (!stop_) {
    const auto item = queue_.Pop(std::chrono::milliseconds(WaitMs()));
    base::Status status;
    if (item) {
      if (receiver_waits_.exchange(false)) wake_();
      status = Apply(*item);
    }
    if (status && ShouldPublish()) status = Publish();
    if (!status) return Fail(std::move(status).error());
    if (!item && queue_.closed()) break;
  }
  if (transactions_pending_ || advance_pending_) {
    base::Status status = Publish();
    if (!status) Fail(std::move(status).error());
  }
}

base::Status Applier::Apply(const Received& item) {
  if (!item.message.empty()) return ApplyMessage(item.message);
  const auto through = base::Position::Make(newest_.era(), item.keepalive_end);
  RETURN_IF_ERROR(History(history_->Advance(through)));
  newest_ = std::max(newest_, through);
  advance_pending_ = true;
  return {};
}

base::Status Applier::ApplyMessage(std::string_view message) {
  ASSIGN_OR_RETURN(const model::Batch batch, decoder_.Decode(message));
  if (batch.handshake) RETURN_IF_ERROR(CheckHandshake(*batch.handshake));
  RETURN_IF_ERROR(History(history_->Append(batch)));
  bool whole = false;
  for (const model::TransactionPiece& piece : batch.pieces) {
    if (!piece.commit && !piece.non_transactional) continue;
    whole = true;
    newest_ = std::max(newest_, base::Position::Make(newest_.era(), piece.end_lsn));
  }
  if (whole && !transactions_pending_) pending_since_ms_ = NowMs();
  transactions_pending_ = transactions_pending_ || whole;
  bytes_pending_ += message.size();
  return {};
}

base::Status Applier::CheckHandshake(const model::Handshake& handshake) const {
  if (handshake.system_identifier == identity_.system_identifier &&
      handshake.database_oid == identity_.database_oid && handshake.slot == identity_.slot) {
    return {};
  }
  return base::Fail(
      ErrorCode::kInvalidArgument,
      fmt::format(
          "the plugin speaks for system {}, database {}, slot {}; this history is of system {}, database "
          "{}, slot {}",
          handshake.system_identifier, handshake.database_oid, handshake.slot, identity_.system_identifier,
          identity_.database_oid, identity_.slot));
}

bool Applier::ShouldPublish() const {
  if (transactions_pending_) {
    return queue_.empty() || bytes_pending_ >= options_.sync_group_bytes ||
           NowMs() - pending_since_ms_ >= options_.sync_group_ms;
  }
  // Keepalives alone come at every wake-up of the walsender: each shall not cost a sync.
  return advance_pending_ && queue_.empty() && NowMs() - last_publish_ms_ >= options_.sync_group_ms;
}

int Applier::WaitMs() const {
  if (!transactions_pending_ && !advance_pending_) return kIdleWaitMs;
  const int64_t since_ms = transactions_pending_ ? pending_since_ms_ : last_publish_ms_;
  return static_cast<int>(std::clamp<int64_t>(since_ms + options_.sync_group_ms - NowMs(), 1, kIdleWaitMs));
}

base::Status Applier::Publish() {
  RETURN_IF_ERROR(History(history_->Publish()));
  transactions_pending_ = false;
  advance_pending_ = false;
  bytes_pending_ = 0;
  last_publish_ms_ = NowMs();
  // The history attests it. Its whole status would cost a walk through the store's files at each group; it is
  // needed only where a keepalive came in the middle of a transaction.
  if (history_->WaitFor(newest_, std::chrono::milliseconds(0))) {
    confirmed_ = newest_.lsn().value;
  } else {
    confirmed_ = history_->GetStatus().published_through.lsn().value;
  }
  // With more in the queue the receiver comes round by itself.
  if (queue_.empty()) wake_();
  return {};
}

}  // namespace varve::ingest
