// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sidecar/base/result.h"
#include "sidecar/store/batch.h"
#include "sidecar/store/iterator.h"
#include "sidecar/store/key_format.h"

namespace rocksdb {
class ColumnFamilyHandle;
class SstFileWriter;
}  // namespace rocksdb

namespace varve::store {

struct Options {
  std::string directory;                        // made when missing
  uint64_t memory_bytes = uint64_t{256} << 20;  // block cache and memtables together
};

enum class Durability {
  kNoLog,     // lost by a crash unless flushed; for what is made anew after one
  kBuffered,  // in the log: survives the process, not the machine
  kSynced,    // on disk, with everything written before it
};

// Keys in order, packed into one file that Store::Ingest takes over. One thread.
class SortedFile {
 public:
  ~SortedFile();
  SortedFile(SortedFile&&) noexcept;

  // REQUIRES: keys ascend.
  base::Status Add(std::string_view key, std::string_view value);
  uint64_t bytes() const;
  const std::string& path() const { return path_; }
  // Synced when it returns.
  base::Status Finish();

 private:
  friend class Store;
  SortedFile(std::string path, std::unique_ptr<rocksdb::SstFileWriter> writer);

  std::string path_;
  std::unique_ptr<rocksdb::SstFileWriter> writer_;
};

// The RocksDB of one history: its families, batches, snapshots and iterators. Thread-safe, except Clear.
// After the first failed write every further one fails with the same error: RocksDB's own recovery from
// write errors is not relied on, the store must be closed and opened again.
class Store {
 public:
  // Errors: kUnavailable when another process holds it, kStoreFull, kInternal naming the damaged file.
  static base::Result<std::unique_ptr<Store>> Open(const Options& options);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  base::Status Write(Batch* batch, Durability durability);
  base::Status Put(Family family, std::string_view key, std::string_view value, Durability durability);

  // Nothing when there is no such key.
  base::Result<std::optional<std::string>> Get(Family family, std::string_view key,
                                               const Snapshot* snapshot = nullptr) const;
  // In the order of the keys.
  base::Result<std::vector<std::optional<std::string>>> MultiGet(
      Family family, const std::vector<std::string_view>& keys) const;

  // An empty `upper` means no end.
  Iterator NewIterator(Family family, std::string lower, std::string upper,
                       const Snapshot* snapshot = nullptr) const;
  std::unique_ptr<Snapshot> TakeSnapshot() const;

  // Empties a family. REQUIRES: no iterator on it and no other thread that uses the store.
  base::Status Clear(Family family);
  // Writes what kNoLog left in memory to disk.
  base::Status Flush(Family family);

  base::Result<SortedFile> NewSortedFile(Family family, int number) const;
  // Adds the files' keys, all or none, durable when it returns. REQUIRES: the family never sees a Put.
  base::Status Ingest(Family family, const std::vector<std::string>& paths);

  // Bytes of all files.
  uint64_t Bytes() const;
  // The error that stopped all writing.
  std::optional<base::Error> failure() const;

 private:
  friend class Batch;
  struct Rep;
  explicit Store(std::unique_ptr<Rep> rep);

  rocksdb::ColumnFamilyHandle* Handle(Family family) const;

  std::unique_ptr<Rep> rep_;
};

}  // namespace varve::store
