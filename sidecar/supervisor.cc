// SPDX-License-Identifier: PostgreSQL
#include "sidecar/supervisor.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "sidecar/base/log.h"

namespace varve {
namespace {

using base::ErrorCode;
using base::MutexLock;
using base::Status;
using std::chrono::milliseconds;

constexpr milliseconds kRetryFirst{1'000};
constexpr milliseconds kRetryMax{30'000};
constexpr milliseconds kReaderPoll{100};
constexpr milliseconds kSpacePoll{2'000};
// RocksDB needs room for a write-ahead log and a flush before it can go on.
constexpr uint64_t kReserveBytes = uint64_t{128} << 20;

// Bytes that the file system of `path` has free for us; 0 when it cannot be asked.
uint64_t FreeBytes(const std::string& path) {
  struct statvfs info {};
  if (statvfs(path.c_str(), &info) != 0) return 0;
  return uint64_t{info.f_bavail} * info.f_frsize;
}

}  // namespace

base::Result<std::unique_ptr<Supervisor>> Supervisor::Open(Options options, const base::Clock* clock) {
  std::unique_ptr<Supervisor> supervisor(new Supervisor(std::move(options), clock));
  RETURN_IF_ERROR(supervisor->OpenHistory());
  RETURN_IF_ERROR(supervisor->StartIngest());
  return supervisor;
}

Status Supervisor::OpenHistory() {
  ASSIGN_OR_RETURN(std::unique_ptr<history::History> opened,
                   history::History::Open(options_.history, clock_));
  MutexLock lock(&mutex_);
  history_ = std::move(opened);
  return {};
}

Status Supervisor::StartIngest() {
  ingest::Options options = options_.ingest;
  options.on_store_failure = [this](const base::Error& error) {
    MutexLock lock(&mutex_);
    failure_ = error;
    changed_.NotifyAll();
  };
  ASSIGN_OR_RETURN(std::unique_ptr<ingest::Ingest> made,
                   ingest::Ingest::Create(std::move(options), History().get(), clock_));
  MutexLock lock(&mutex_);
  ingest_ = std::move(made);
  return {};
}

void Supervisor::Run() {
  std::shared_ptr<ingest::Ingest> ingest;
  bool running = true;
  while (running) {
    {
      MutexLock lock(&mutex_);
      ingest = ingest_;
    }
    ingest->Start();
    ingest.reset();
    std::optional<base::Error> failure;
    {
      MutexLock lock(&mutex_);
      while (!stop_ && !failure_) changed_.Wait(&mutex_);
      failure = failure_;
      running = !stop_;
    }
    StopIngest();
    if (running) running = Recover(*failure);
  }
  StopIngest();
  MutexLock lock(&mutex_);
  history_.reset();
}

void Supervisor::RequestStop() {
  MutexLock lock(&mutex_);
  stop_ = true;
  changed_.NotifyAll();
}

void Supervisor::StopIngest() {
  std::shared_ptr<ingest::Ingest> ingest;
  {
    MutexLock lock(&mutex_);
    ingest = std::move(ingest_);
    ingest_.reset();
  }
  if (ingest) ingest->Stop();
}

bool Supervisor::Recover(const base::Error& failure) {
  base::LogError("the store failed: {}; it is closed and opened again", failure.message);
  if (failure.code == ErrorCode::kStoreFull && !WaitForSpace()) return false;
  if (!CloseHistory()) return false;
  milliseconds wait = kRetryFirst;
  while (true) {
    Status opened = OpenHistory();
    if (opened) opened = StartIngest();
    MutexLock lock(&mutex_);
    if (opened) {
      failure_.reset();
      base::LogInfo("the store is open again");
      return !stop_;
    }
    base::LogError("the store cannot be opened: {}", opened.error().message);
    failure_ = opened.error();
    history_.reset();
    const auto deadline = std::chrono::steady_clock::now() + wait;
    while (!stop_ && changed_.WaitUntil(&mutex_, deadline)) {
    }
    if (stop_) return false;
    wait = std::min(wait * 2, kRetryMax);
  }
}

// The history stays open meanwhile: what it has can be read.
bool Supervisor::WaitForSpace() {
  while (FreeBytes(options_.history.data_dir) < kReserveBytes) {
    if (StopWithin(kSpacePoll)) return false;
  }
  return !StopWithin(milliseconds(0));
}

// The store can be opened again only when its last reader has let go of it.
bool Supervisor::CloseHistory() {
  std::weak_ptr<history::History> closing;
  {
    MutexLock lock(&mutex_);
    closing = history_;
    history_.reset();
  }
  while (!closing.expired()) {
    if (StopWithin(kReaderPoll)) return false;
  }
  return true;
}

bool Supervisor::StopWithin(milliseconds time) {
  const auto deadline = std::chrono::steady_clock::now() + time;
  MutexLock lock(&mutex_);
  while (!stop_ && changed_.WaitUntil(&mutex_, deadline)) {
  }
  return stop_;
}

std::shared_ptr<history::History> Supervisor::History() const {
  MutexLock lock(&mutex_);
  return history_;
}

ingest::IngestStatus Supervisor::GetStatus() const {
  std::shared_ptr<ingest::Ingest> ingest;
  std::optional<base::Error> failure;
  {
    MutexLock lock(&mutex_);
    ingest = ingest_;
    failure = failure_;
  }
  ingest::IngestStatus status;
  if (ingest) {
    status = ingest->GetStatus();
  } else {
    status.phase = ingest::Phase::kStopped;
    status.slot = options_.ingest.slot;
  }
  if (failure) {
    status.last_error = failure->message;
    status.remedy = failure->code == ErrorCode::kStoreFull ? "make room on the disk; ingest goes on by itself"
                                                           : "the store is being opened again; see the log";
  }
  return status;
}

base::Result<base::Lsn> Supervisor::CurrentServerLsn() {
  std::shared_ptr<ingest::Ingest> ingest;
  {
    MutexLock lock(&mutex_);
    ingest = ingest_;
  }
  if (!ingest)
    return base::Fail(ErrorCode::kUnavailable, "the connection to PostgreSQL is stopped after a store error");
  return ingest->CurrentServerLsn();
}

}  // namespace varve
