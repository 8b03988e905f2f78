// SPDX-License-Identifier: PostgreSQL
#include "sidecar/store/batch.h"

#include <rocksdb/write_batch.h>

#include "sidecar/base/check.h"
#include "sidecar/store/store.h"

namespace varve::store {
namespace {

constexpr size_t kProtectionBytes = 8;  // a checksum on every key and value on its way into the memtable
constexpr size_t kEmptyBytes = 12;      // header of an empty rocksdb::WriteBatch

rocksdb::Slice SliceOf(std::string_view bytes) { return rocksdb::Slice(bytes.data(), bytes.size()); }

}  // namespace

Batch::Batch(const Store* store)
    : store_(store), writes_(std::make_unique<rocksdb::WriteBatch>(0, 0, kProtectionBytes, 0)) {}
Batch::~Batch() = default;
Batch::Batch(Batch&&) noexcept = default;
Batch& Batch::operator=(Batch&&) noexcept = default;

void Batch::Put(Family family, std::string_view key, std::string_view value) {
  const rocksdb::Status status = writes_->Put(store_->Handle(family), SliceOf(key), SliceOf(value));
  CHECK(status.ok());  // fails only beyond a size bound that is not set, or for values of 4 GiB
}

void Batch::Delete(Family family, std::string_view key) {
  const rocksdb::Status status = writes_->Delete(store_->Handle(family), SliceOf(key));
  CHECK(status.ok());
}

void Batch::DeleteRange(Family family, std::string_view begin, std::string_view end) {
  CHECK(begin < end);
  const rocksdb::Status status = writes_->DeleteRange(store_->Handle(family), SliceOf(begin), SliceOf(end));
  CHECK(status.ok());
}

void Batch::Clear() { writes_->Clear(); }
bool Batch::empty() const { return writes_->GetDataSize() <= kEmptyBytes; }
size_t Batch::bytes() const { return writes_->GetDataSize(); }

}  // namespace varve::store
