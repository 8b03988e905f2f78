// SPDX-License-Identifier: PostgreSQL
#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <rocksdb/cache.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/listener.h>
#include <rocksdb/table.h>
#include <rocksdb/write_buffer_manager.h>

#include "sidecar/base/log.h"
#include "sidecar/store/error.h"
#include "sidecar/store/rep.h"
#include "sidecar/store/store.h"

namespace varve::store {
namespace {

using base::ErrorCode;
using base::Fail;
using base::Result;
using base::Status;

constexpr int kCacheShardBits = 2;
constexpr int kBloomBits = 10;
constexpr size_t kBlockBytes = size_t{16} << 10;
constexpr size_t kPageBlockBytes = size_t{64} << 10;
constexpr size_t kSmallMemtableBytes = size_t{4} << 20;
constexpr size_t kMemtableBytesMax = size_t{64} << 20;
constexpr uint64_t kTargetFileBytes = uint64_t{64} << 20;
constexpr uint64_t kLevelBaseBytes = uint64_t{256} << 20;
constexpr uint64_t kWalBytesMax = uint64_t{512} << 20;
constexpr size_t kInfoLogBytesMax = size_t{4} << 20;

// Keeps the first background error: RocksDB's own recovery from them is known to lose writes and to report
// success falsely, so nothing more is written until the store is opened again.
class FailureListener : public rocksdb::EventListener {
 public:
  explicit FailureListener(std::shared_ptr<FailureLatch> latch) : latch_(std::move(latch)) {}

  void OnBackgroundError(rocksdb::BackgroundErrorReason /*reason*/, rocksdb::Status* status) override {
    if (status == nullptr || status->ok()) return;
    base::Error error = ErrorOf(*status, "write to the store in the background");
    base::LogError("{}", error.message);
    latch_->Set(error);
  }
  void OnErrorRecoveryBegin(rocksdb::BackgroundErrorReason /*reason*/, rocksdb::Status status,
                            bool* auto_recovery) override {
    status.PermitUncheckedError();
    *auto_recovery = false;
  }

 private:
  std::shared_ptr<FailureLatch> latch_;
};

rocksdb::DBOptions MakeDbOptions(const Options& options, const std::shared_ptr<rocksdb::Cache>& cache,
                                 const std::shared_ptr<FailureLatch>& latch) {
  rocksdb::DBOptions db;
  db.create_if_missing = true;
  db.create_missing_column_families = true;
  db.paranoid_checks = true;
  db.wal_recovery_mode = rocksdb::WALRecoveryMode::kPointInTimeRecovery;
  db.max_total_wal_size = kWalBytesMax;  // else families that are rarely written keep every log file
  db.wal_bytes_per_sync = uint64_t{1} << 20;
  db.bytes_per_sync = uint64_t{1} << 20;
  db.max_background_jobs = 2;
  db.max_subcompactions = 1;
  db.max_bgerror_resume_count = 0;
  db.listeners.push_back(std::make_shared<FailureListener>(latch));
  db.write_buffer_manager = std::make_shared<rocksdb::WriteBufferManager>(options.memory_bytes / 2, cache);
  db.info_log_level = rocksdb::InfoLogLevel::WARN_LEVEL;
  db.keep_log_file_num = 2;
  db.max_log_file_size = kInfoLogBytesMax;
  return db;
}

rocksdb::ColumnFamilyOptions MakeFamilyOptions(Family family, uint64_t memory_bytes,
                                               const std::shared_ptr<rocksdb::Cache>& cache) {
  const bool rows = family == Family::kHead || family == Family::kRewind || family == Family::kLog ||
                    family == Family::kStaging || family == Family::kStaged;
  rocksdb::ColumnFamilyOptions options;
  options.write_buffer_size =
      rows ? std::clamp<size_t>(memory_bytes / 8, kSmallMemtableBytes, kMemtableBytesMax)
           : kSmallMemtableBytes;
  options.max_write_buffer_number = 2;  // with more, a failed flush may be retried in the wrong order (7.8)
  options.compression = rocksdb::kLZ4Compression;
  options.level_compaction_dynamic_level_bytes = true;
  options.target_file_size_base = kTargetFileBytes;
  options.max_bytes_for_level_base = kLevelBaseBytes;

  rocksdb::BlockBasedTableOptions table;
  table.block_cache = cache;
  table.cache_index_and_filter_blocks = true;
  table.cache_index_and_filter_blocks_with_high_priority = true;
  table.pin_l0_filter_and_index_blocks_in_cache = true;
  table.block_size = family == Family::kKeyframe ? kPageBlockBytes : kBlockBytes;
  table.format_version = 5;
  table.checksum = rocksdb::kXXH3;
  // Whole keys only where keys are looked up by Get; no prefix filters anywhere, so seeks may go both ways.
  if (family == Family::kHead || family == Family::kStaging) {
    table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(kBloomBits));
    table.whole_key_filtering = true;
  }
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

// Sorted files that a crash left before they were ingested.
void RemoveSortedFiles(const std::string& directory) {
  std::vector<std::filesystem::path> left;
  std::error_code error;
  const std::string extension = fmt::format(".{}", kSortedFileExtension);
  for (std::filesystem::directory_iterator it(directory, error), end; !error && it != end;
       it.increment(error)) {
    if (it->path().extension() == extension) left.push_back(it->path());
  }
  for (const std::filesystem::path& path : left) std::filesystem::remove(path, error);
}

}  // namespace

Result<std::unique_ptr<Store>> Store::Open(const Options& options) {
  std::error_code error;
  std::filesystem::create_directories(options.directory, error);
  if (error) {
    return Fail(ErrorCode::kUnavailable,
                fmt::format("cannot make the store's directory {}: {}; its owner must "
                            "be the user that runs varved",
                            options.directory, error.message()));
  }
  auto rep = std::make_unique<Rep>();
  rep->directory = options.directory;
  const auto cache = rocksdb::NewLRUCache(options.memory_bytes, kCacheShardBits, false, 0.5);
  rep->db_options = MakeDbOptions(options, cache, rep->failure);
  std::vector<rocksdb::ColumnFamilyDescriptor> descriptors;
  for (size_t i = 0; i < kFamilyCount; ++i) {
    const auto family = static_cast<Family>(i);
    rep->family_options[i] = MakeFamilyOptions(family, options.memory_bytes, cache);
    descriptors.emplace_back(std::string(FamilyName(family)), rep->family_options[i]);
  }
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* db = nullptr;
  const rocksdb::Status status =
      rocksdb::DB::Open(rep->db_options, options.directory, descriptors, &handles, &db);
  if (!status.ok()) return Fail(ErrorOf(status, fmt::format("open the store in {}", options.directory)));
  rep->db.reset(db);
  std::copy(handles.begin(), handles.end(), rep->handles.begin());
  RemoveSortedFiles(options.directory);
  return std::unique_ptr<Store>(new Store(std::move(rep)));
}

}  // namespace varve::store
