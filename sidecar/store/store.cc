// SPDX-License-Identifier: PostgreSQL
#include "sidecar/store/store.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <rocksdb/db.h>
#include <rocksdb/sst_file_writer.h>

#include "sidecar/base/check.h"
#include "sidecar/store/error.h"
#include "sidecar/store/rep.h"

namespace varve::store {
namespace {

using base::Fail;
using base::Result;
using base::Status;

rocksdb::Slice SliceOf(std::string_view bytes) { return rocksdb::Slice(bytes.data(), bytes.size()); }

rocksdb::ReadOptions ReadOptionsFor(const Snapshot* snapshot) {
  rocksdb::ReadOptions options;
  options.total_order_seek = true;  // always explicit: facts of 7.8.3, iterators default to prefix seek
  options.snapshot = snapshot == nullptr ? nullptr : snapshot->get();
  return options;
}

}  // namespace

Snapshot::Snapshot(rocksdb::DB* db) : db_(db), snapshot_(db->GetSnapshot()) {}
Snapshot::~Snapshot() { db_->ReleaseSnapshot(snapshot_); }

Store::Store(std::unique_ptr<Rep> rep) : rep_(std::move(rep)) {}

Store::~Store() {
  if (rep_->db == nullptr) return;
  for (rocksdb::ColumnFamilyHandle* handle : rep_->handles) {
    if (handle != nullptr) rep_->db->DestroyColumnFamilyHandle(handle);
  }
  rep_->db->Close().PermitUncheckedError();
}

rocksdb::ColumnFamilyHandle* Store::Handle(Family family) const {
  return rep_->handles[static_cast<size_t>(family)];
}

std::optional<base::Error> Store::failure() const { return rep_->failure->Get(); }

Status Store::Write(Batch* batch, Durability durability) {
  if (const auto failure = rep_->failure->Get()) return Fail(*failure);
  rocksdb::WriteOptions options;
  options.sync = durability == Durability::kSynced;
  options.disableWAL = durability == Durability::kNoLog;
  options.memtable_insert_hint_per_batch = true;
  const rocksdb::Status status = rep_->db->Write(options, batch->writes_.get());
  if (!status.ok()) {
    base::Error error = ErrorOf(status, "write to the store");
    rep_->failure->Set(error);
    return Fail(std::move(error));
  }
  return {};
}

Status Store::Put(Family family, std::string_view key, std::string_view value, Durability durability) {
  Batch batch(this);
  batch.Put(family, key, value);
  return Write(&batch, durability);
}

Result<std::optional<std::string>> Store::Get(Family family, std::string_view key,
                                              const Snapshot* snapshot) const {
  std::string value;
  const rocksdb::Status status =
      rep_->db->Get(ReadOptionsFor(snapshot), Handle(family), SliceOf(key), &value);
  if (status.IsNotFound()) return std::optional<std::string>();
  if (!status.ok()) return Fail(ErrorOf(status, "read the store"));
  return std::optional<std::string>(std::move(value));
}

Result<std::vector<std::optional<std::string>>> Store::MultiGet(
    Family family, const std::vector<std::string_view>& keys) const {
  std::vector<rocksdb::Slice> slices;
  slices.reserve(keys.size());
  for (const std::string_view key : keys) slices.push_back(SliceOf(key));
  std::vector<rocksdb::PinnableSlice> values(keys.size());
  std::vector<rocksdb::Status> statuses(keys.size());
  rep_->db->MultiGet(ReadOptionsFor(nullptr), Handle(family), slices.size(), slices.data(), values.data(),
                     statuses.data());
  std::vector<std::optional<std::string>> found(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    if (statuses[i].ok()) {
      found[i] = values[i].ToString();
    } else if (!statuses[i].IsNotFound()) {
      return Fail(ErrorOf(statuses[i], "read the store"));
    }
  }
  return found;
}

Iterator Store::NewIterator(Family family, std::string lower, std::string upper,
                            const Snapshot* snapshot) const {
  auto impl = std::make_unique<Iterator::Impl>(std::move(lower), std::move(upper));
  rocksdb::ReadOptions options = ReadOptionsFor(snapshot);
  options.iterate_lower_bound = &impl->lower_slice;
  if (!impl->upper.empty()) options.iterate_upper_bound = &impl->upper_slice;
  impl->iterator.reset(rep_->db->NewIterator(options, Handle(family)));
  return Iterator(std::move(impl));
}

std::unique_ptr<Snapshot> Store::TakeSnapshot() const { return std::make_unique<Snapshot>(rep_->db.get()); }

Status Store::Clear(Family family) {
  CHECK(family != Family::kCatalog);
  rocksdb::ColumnFamilyHandle*& handle = rep_->handles[static_cast<size_t>(family)];
  rocksdb::Status status = rep_->db->DropColumnFamily(handle);
  if (status.ok()) {
    rep_->db->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
    handle = nullptr;
    status =
        rep_->db->CreateColumnFamily(rep_->FamilyOptions(family), std::string(FamilyName(family)), &handle);
  }
  if (!status.ok()) {
    base::Error error = ErrorOf(status, fmt::format("empty the family {}", FamilyName(family)));
    rep_->failure->Set(error);
    return Fail(std::move(error));
  }
  return {};
}

Status Store::Flush(Family family) {
  const rocksdb::Status status = rep_->db->Flush(rocksdb::FlushOptions(), Handle(family));
  if (!status.ok()) return Fail(ErrorOf(status, "flush the store"));
  return {};
}

Result<SortedFile> Store::NewSortedFile(Family family, int number) const {
  auto writer = std::make_unique<rocksdb::SstFileWriter>(
      rocksdb::EnvOptions(), rep_->db->GetOptions(Handle(family)), Handle(family));
  std::string path =
      fmt::format("{}/{}-{}.{}", rep_->directory, FamilyName(family), number, kSortedFileExtension);
  const rocksdb::Status status = writer->Open(path);
  if (!status.ok()) return Fail(ErrorOf(status, "write a sorted file"));
  return SortedFile(std::move(path), std::move(writer));
}

Status Store::Ingest(Family family, const std::vector<std::string>& paths) {
  if (const auto failure = rep_->failure->Get()) return Fail(*failure);
  rocksdb::IngestExternalFileOptions options;
  options.move_files = true;
  const rocksdb::Status status = rep_->db->IngestExternalFile(Handle(family), paths, options);
  if (!status.ok()) return Fail(ErrorOf(status, "take sorted files into the store"));
  return {};
}

uint64_t Store::Bytes() const {
  uint64_t bytes = 0;
  std::error_code error;
  for (std::filesystem::directory_iterator it(rep_->directory, error), end; !error && it != end;
       it.increment(error)) {
    std::error_code ignored;  // a file that a compaction has just removed
    const uint64_t size = it->file_size(ignored);
    if (!ignored) bytes += size;
  }
  return bytes;
}

SortedFile::SortedFile(std::string path, std::unique_ptr<rocksdb::SstFileWriter> writer)
    : path_(std::move(path)), writer_(std::move(writer)) {}
SortedFile::~SortedFile() = default;
SortedFile::SortedFile(SortedFile&&) noexcept = default;

Status SortedFile::Add(std::string_view key, std::string_view value) {
  const rocksdb::Status status = writer_->Put(SliceOf(key), SliceOf(value));
  if (!status.ok()) return Fail(ErrorOf(status, "write a sorted file"));
  return {};
}

uint64_t SortedFile::bytes() const { return writer_->FileSize(); }

Status SortedFile::Finish() {
  const rocksdb::Status status = writer_->Finish();
  if (!status.ok()) return Fail(ErrorOf(status, "finish a sorted file"));
  return {};
}

}  // namespace varve::store
