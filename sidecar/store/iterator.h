// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "sidecar/base/result.h"

namespace rocksdb {
class DB;
class Iterator;
class Snapshot;
}  // namespace rocksdb

namespace varve::store {

// The store as it was at one instant. Borrows the store. Thread-safe.
class Snapshot {
 public:
  explicit Snapshot(rocksdb::DB* db);
  ~Snapshot();
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;

  const rocksdb::Snapshot* get() const { return snapshot_; }

 private:
  rocksdb::DB* db_;
  const rocksdb::Snapshot* snapshot_;
};

// Walks the keys in [lower, upper) of one family, in order. Borrows the store and the snapshot. One thread.
// A read error ends the walk: whoever reaches !Valid() asks status().
class Iterator {
 public:
  struct Impl;
  explicit Iterator(std::unique_ptr<Impl> impl);
  ~Iterator();
  Iterator(Iterator&&) noexcept;
  Iterator& operator=(Iterator&&) noexcept;

  void SeekToFirst();
  void SeekToLast();
  // At the first key at or behind `key`.
  void Seek(std::string_view key);
  // At the last key at or before `key`.
  void SeekForPrev(std::string_view key);
  void Next();
  void Prev();

  bool Valid() const;
  // Valid until the iterator moves.
  std::string_view key() const;
  std::string_view value() const;
  base::Status status() const;

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace varve::store
