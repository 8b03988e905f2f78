// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <rocksdb/db.h>

#include "sidecar/base/mutex.h"
#include "sidecar/base/result.h"
#include "sidecar/store/iterator.h"
#include "sidecar/store/key_format.h"
#include "sidecar/store/store.h"

// What only this module's sources see of RocksDB.
namespace varve::store {

inline constexpr std::string_view kSortedFileExtension = "sorted";

// The first write error, kept for good. Thread-safe.
class FailureLatch {
 public:
  void Set(const base::Error& error) EXCLUDES(mutex_) {
    base::MutexLock lock(&mutex_);
    if (!error_) error_ = error;
  }
  std::optional<base::Error> Get() const EXCLUDES(mutex_) {
    base::MutexLock lock(&mutex_);
    return error_;
  }

 private:
  mutable base::Mutex mutex_;
  std::optional<base::Error> error_ GUARDED_BY(mutex_);
};

struct Store::Rep {
  std::string directory;
  rocksdb::DBOptions db_options;
  std::array<rocksdb::ColumnFamilyOptions, kFamilyCount> family_options;
  std::shared_ptr<FailureLatch> failure = std::make_shared<FailureLatch>();
  std::unique_ptr<rocksdb::DB> db;
  std::array<rocksdb::ColumnFamilyHandle*, kFamilyCount> handles{};

  const rocksdb::ColumnFamilyOptions& FamilyOptions(Family family) const {
    return family_options[static_cast<size_t>(family)];
  }
};

struct Iterator::Impl {
  Impl(std::string lower_bound, std::string upper_bound)
      : lower(std::move(lower_bound)),
        upper(std::move(upper_bound)),
        lower_slice(lower),
        upper_slice(upper) {}

  // RocksDB keeps pointers to the slices, which point into the strings.
  const std::string lower;
  const std::string upper;
  const rocksdb::Slice lower_slice;
  const rocksdb::Slice upper_slice;
  std::unique_ptr<rocksdb::Iterator> iterator;
};

}  // namespace varve::store
