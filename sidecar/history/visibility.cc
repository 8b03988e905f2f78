// SPDX-License-Identifier: PostgreSQL
#include "sidecar/history/visibility.h"

#include <fmt/format.h>

namespace varve::history {

using base::ErrorCode;
using base::Fail;

namespace {

tl::unexpected<base::Error> NotCopied() {
  return Fail(ErrorCode::kUnavailable, "the first copy is not complete yet: see `varve status`");
}

}  // namespace

void Visibility::Start(const ReadPoint& first, const Published& published) {
  base::MutexLock lock(&mutex_);
  first_ = first;
  published_ = published;
  moved_.NotifyAll();
}

void Visibility::Reset() {
  base::MutexLock lock(&mutex_);
  first_.reset();
  published_ = Published{};
}

void Visibility::Set(const Published& published) {
  base::MutexLock lock(&mutex_);
  published_ = published;
  moved_.NotifyAll();
}

bool Visibility::readable() const {
  base::MutexLock lock(&mutex_);
  return first_.has_value();
}

std::optional<ReadPoint> Visibility::first() const {
  base::MutexLock lock(&mutex_);
  return first_;
}

base::Result<Published> Visibility::Get() const {
  base::MutexLock lock(&mutex_);
  if (!first_) return NotCopied();
  return published_;
}

base::Status Visibility::WaitFor(base::Position position, std::chrono::milliseconds timeout) const {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  base::MutexLock lock(&mutex_);
  while (!first_ || published_.through < position) {
    if (!moved_.WaitUntil(&mutex_, deadline) && (!first_ || published_.through < position)) {
      return Fail(ErrorCode::kBehind,
                  fmt::format("{} is not here yet: the history reaches {}", base::FormatPosition(position),
                              base::FormatPosition(published_.through)));
    }
  }
  return {};
}

base::Status Visibility::CheckReadable(base::Position position) const {
  base::MutexLock lock(&mutex_);
  if (!first_) return NotCopied();
  if (position < first_->position) {
    return Fail(ErrorCode::kBeforeHistory,
                fmt::format("{} is before the history, which begins at {}", base::FormatPosition(position),
                            base::FormatPosition(first_->position)));
  }
  if (position > published_.through) {
    return Fail(ErrorCode::kBehind,
                fmt::format("{} is not here yet: the history reaches {}", base::FormatPosition(position),
                            base::FormatPosition(published_.through)));
  }
  return {};
}

}  // namespace varve::history
