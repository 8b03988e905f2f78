// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "sidecar/base/clock.h"
#include "sidecar/base/mutex.h"
#include "sidecar/base/result.h"
#include "sidecar/history/history.h"
#include "sidecar/ingest/ingest.h"

namespace varve {

// Keeps a history open and a slot client running on it, and opens both again after the store failed. Owns
// both; the clock must outlive it. Run belongs to the main thread, all else is thread-safe. Trouble never
// ends it: it shows in GetStatus and is tried again.
class Supervisor final : public ingest::StatusSource {
 public:
  struct Options {
    history::Options history;
    ingest::Options ingest;
  };

  // Opens the history. Errors: those of History::Open and Ingest::Create.
  static base::Result<std::unique_ptr<Supervisor>> Open(Options options, const base::Clock* clock);

  // Runs the slot client until RequestStop, then stops it and closes the history.
  void Run() EXCLUDES(mutex_);
  // Makes Run return within a few seconds.
  void RequestStop() EXCLUDES(mutex_);

  // Null while the history is closed.
  std::shared_ptr<history::History> History() const EXCLUDES(mutex_);
  ingest::IngestStatus GetStatus() const override EXCLUDES(mutex_);
  base::Result<base::Lsn> CurrentServerLsn() override EXCLUDES(mutex_);

 private:
  Supervisor(Options options, const base::Clock* clock) : options_(std::move(options)), clock_(clock) {}

  base::Status OpenHistory() EXCLUDES(mutex_);
  base::Status StartIngest() EXCLUDES(mutex_);
  void StopIngest() EXCLUDES(mutex_);
  // False when a stop was asked for before the history was open again.
  bool Recover(const base::Error& failure) EXCLUDES(mutex_);
  bool WaitForSpace() EXCLUDES(mutex_);
  bool CloseHistory() EXCLUDES(mutex_);
  // Sleeps; true when a stop was asked for meanwhile or before.
  bool StopWithin(std::chrono::milliseconds time) EXCLUDES(mutex_);

  const Options options_;
  const base::Clock* const clock_;
  mutable base::Mutex mutex_;
  base::CondVar changed_;
  bool stop_ GUARDED_BY(mutex_) = false;
  std::optional<base::Error> failure_ GUARDED_BY(mutex_);  // of the store, not recovered from yet
  std::shared_ptr<history::History> history_ GUARDED_BY(mutex_);
  std::shared_ptr<ingest::Ingest> ingest_ GUARDED_BY(mutex_);
};

}  // namespace varve
