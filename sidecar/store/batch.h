// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "sidecar/store/key_format.h"

namespace rocksdb {
class WriteBatch;
}  // namespace rocksdb

namespace varve::store {

class Store;

// Writes that take effect together or not at all. Belongs to one store, which must outlive it. One thread.
class Batch {
 public:
  explicit Batch(const Store* store);
  ~Batch();
  Batch(Batch&&) noexcept;
  Batch& operator=(Batch&&) noexcept;

  void Put(Family family, std::string_view key, std::string_view value);
  void Delete(Family family, std::string_view key);
  // Of all keys in [begin, end). REQUIRES: an end.
  void DeleteRange(Family family, std::string_view begin, std::string_view end);
  void Clear();

  bool empty() const;
  size_t bytes() const;

 private:
  friend class Store;

  const Store* store_;
  std::unique_ptr<rocksdb::WriteBatch> writes_;
};

}  // namespace varve::store
