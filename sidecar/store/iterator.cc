// SPDX-License-Identifier: PostgreSQL
#include "sidecar/store/iterator.h"

#include "sidecar/store/error.h"
#include "sidecar/store/rep.h"

namespace varve::store {

Iterator::Iterator(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Iterator::~Iterator() = default;
Iterator::Iterator(Iterator&&) noexcept = default;
Iterator& Iterator::operator=(Iterator&&) noexcept = default;

void Iterator::SeekToFirst() { impl_->iterator->SeekToFirst(); }
void Iterator::SeekToLast() { impl_->iterator->SeekToLast(); }
void Iterator::Seek(std::string_view key) { impl_->iterator->Seek(rocksdb::Slice(key.data(), key.size())); }
void Iterator::SeekForPrev(std::string_view key) {
  impl_->iterator->SeekForPrev(rocksdb::Slice(key.data(), key.size()));
}
void Iterator::Next() { impl_->iterator->Next(); }
void Iterator::Prev() { impl_->iterator->Prev(); }
bool Iterator::Valid() const { return impl_->iterator->Valid(); }
std::string_view Iterator::key() const { return impl_->iterator->key().ToStringView(); }
std::string_view Iterator::value() const { return impl_->iterator->value().ToStringView(); }

base::Status Iterator::status() const {
  const rocksdb::Status status = impl_->iterator->status();
  if (!status.ok()) return base::Fail(ErrorOf(status, "read the store"));
  return {};
}

}  // namespace varve::store
