// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sidecar/base/mutex.h"
#include "sidecar/base/result.h"
#include "sidecar/history/history.h"
#include "sidecar/ingest/catalog.h"
#include "sidecar/ingest/status_board.h"

namespace varve::ingest {

// A range of pages of what holds rows of one table: from first_page up to and without end_page.
struct CopyChunk {
  size_t table = 0;   // index into the job's tables
  size_t source = 0;  // index into the table's sources
  uint64_t first_page = 0;
  std::optional<uint64_t> end_page;  // none: to the end, however far the table has grown
};

// Cuts tables into chunks of at most `chunk_pages`, the largest tables first.
std::vector<CopyChunk> PlanChunks(const std::vector<CatalogTable>& tables, uint64_t chunk_pages);

// The statement that copies a chunk.
std::string CopyStatement(const CatalogTable& table, const CopyChunk& chunk);

// Copies the rows of tables under an exported snapshot over several connections, one thread each. Borrows
// all that it is given. Fails with the first error of any thread; a table that was truncated, rewritten or
// changed since the snapshot is no error but moved().
class CopyJob {
 public:
  struct Params {
    std::string dsn;
    int connect_timeout_ms = 0;
    int connections = 1;
    std::string snapshot;
    history::History* history = nullptr;
    StatusBoard* board = nullptr;
    const std::atomic<bool>* stop = nullptr;
  };
  CopyJob(Params params, const std::vector<CatalogTable>* tables, std::vector<CopyChunk> chunks)
      : params_(std::move(params)), tables_(tables), chunks_(std::move(chunks)) {}

  // Runs to the end, to an error, or until *stop. Errors: kUnavailable (connection, stopped), those of
  // History::AddBaselineRow.
  base::Status Run();
  // Which table moved under the copy; empty: none. The copy is then worthless.
  std::string moved() const EXCLUDES(mutex_);
  // True when the error came from the history.
  bool history_failed() const { return history_failed_; }

 private:
  void Work();
  base::Status WorkChunks();
  // False, and noted, when a table is no longer what the snapshot saw.
  base::Result<bool> LockTables(pg::Connection* connection, pg::Connection* present);
  base::Status CopyRows(pg::Connection* connection, const CatalogTable& table, const CopyChunk& chunk);
  void NoteMoved(std::string table) EXCLUDES(mutex_);
  void Fail(base::Error error) EXCLUDES(mutex_);

  const Params params_;
  const std::vector<CatalogTable>* const tables_;
  const std::vector<CopyChunk> chunks_;
  std::atomic<size_t> next_chunk_ = 0;
  std::atomic<bool> abort_ = false;
  std::atomic<bool> history_failed_ = false;
  std::atomic<int> running_ = 0;
  mutable base::Mutex mutex_;
  std::optional<base::Error> error_ GUARDED_BY(mutex_);
  std::string moved_ GUARDED_BY(mutex_);
};

}  // namespace varve::ingest
