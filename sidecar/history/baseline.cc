// SPDX-License-Identifier: PostgreSQL
#include "sidecar/history/baseline.h"

#include <algorithm>
#include <functional>
#include <utility>

#include <fmt/format.h>

#include "sidecar/history/bag.h"
#include "sidecar/history/records.h"
#include "sidecar/store/page.h"
#include "sidecar/store/record_format.h"
#include "sidecar/types/key.h"

namespace varve::history {

using base::ErrorCode;
using base::Fail;
using base::Result;
using base::Status;
using store::Family;

namespace {

constexpr uint64_t kFileBytesMax = uint64_t{128} << 20;

// Packs rows that come in key order into pages, and pages into sorted files.
class PageWriter {
 public:
  PageWriter(store::Store* store, base::Position position) : store_(store), position_(position) {}

  Status AddTable(base::TableOid table, base::RelationVersion version) {
    const std::string prefix = store::RowKey(table, "");
    store::PageBuilder page(version);
    store::Iterator rows = store_->NewIterator(Family::kStaging, prefix, store::PrefixEnd(prefix));
    for (rows.SeekToFirst(); rows.Valid(); rows.Next()) {
      const std::string_view key = store::RowKeyBytes(rows.key());
      if (page.IsFull(key.size(), rows.value().size())) RETURN_IF_ERROR(Write(table, &page));
      page.Add(key, rows.value());
    }
    RETURN_IF_ERROR(rows.status());
    return page.empty() ? Status() : Write(table, &page);
  }

  Status Finish() {
    RETURN_IF_ERROR(FinishFile());
    return paths_.empty() ? Status() : store_->Ingest(Family::kKeyframe, paths_);
  }

 private:
  Status Write(base::TableOid table, store::PageBuilder* page) {
    if (!file_) {
      ASSIGN_OR_RETURN(auto file, store_->NewSortedFile(Family::kKeyframe, static_cast<int>(paths_.size())));
      file_.emplace(std::move(file));
    }
    const std::string key = store::KeyframeKey(table, position_, page->first_key());
    RETURN_IF_ERROR(file_->Add(key, page->Finish()));
    return file_->bytes() < kFileBytesMax ? Status() : FinishFile();
  }

  Status FinishFile() {
    if (!file_) return {};
    RETURN_IF_ERROR(file_->Finish());
    paths_.push_back(file_->path());
    file_.reset();
    return {};
  }

  store::Store* store_;
  base::Position position_;
  std::optional<store::SortedFile> file_;
  std::vector<std::string> paths_;
};

}  // namespace

Status ClearBaseline(store::Store* store) {
  RETURN_IF_ERROR(store->Clear(Family::kStaging));
  return store->Clear(Family::kKeyframe);
}

Status Baseline::AddTable(const model::Relation& relation) {
  if (model::ComputeVersion(relation) != relation.version) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("the description of {} does not match its version {:016x}",
                            relation.QualifiedName(), relation.version.value));
  }
  Table table{std::make_shared<const model::Relation>(relation), std::nullopt};
  if (relation.KeyColumns().empty()) {
    table.bag = std::make_shared<const model::RowDefaults>(DefaultsOf(relation));
    if (relation.identity != 'f') {
      table.excluded = fmt::format(
          "it has no usable key (`alter table {0} replica identity using index …`, or give it a primary key, "
          "or `alter table {0} replica identity full`)",
          relation.QualifiedName());
    }
  }
  base::MutexLock lock(&mutex_);
  if (!tables_.emplace(relation.oid, std::move(table)).second) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("{} is in the first copy already", relation.QualifiedName()));
  }
  return {};
}

Result<Baseline::Table> Baseline::FindTable(base::TableOid table) const {
  base::MutexLock lock(&mutex_);
  const auto found = tables_.find(table);
  if (found == tables_.end()) {
    return Fail(ErrorCode::kInvalidArgument, fmt::format("table {} is not in the first copy", table.value));
  }
  if (found->second.excluded) {
    return Fail(ErrorCode::kNotTracked,
                fmt::format("{} was left out of the first copy: {}", found->second.relation->QualifiedName(),
                            *found->second.excluded));
  }
  return found->second;
}

// Rows that are the same take one place after the other.
Status Baseline::AddToBag(base::TableOid table, const model::RowDefaults& defaults,
                          const std::vector<model::Cell>& cells, std::string_view image) {
  const std::string prefix = store::RowKey(table, model::RowDigest(cells, defaults));
  base::MutexLock lock(&shards_[std::hash<std::string>()(prefix) % kShards]);
  ASSIGN_OR_RETURN(const uint32_t place, CountPlaces([&](uint32_t at) -> Result<bool> {
                     ASSIGN_OR_RETURN(const auto taken, store_->Get(Family::kStaging, BagKey(prefix, at)));
                     if (taken && *taken != image) {
                       return Fail(ErrorCode::kInternal,
                                   "two rows that are not the same have the same digest");
                     }
                     return taken.has_value();
                   }));
  return store_->Put(Family::kStaging, BagKey(prefix, place), image, store::Durability::kNoLog);
}

Status Baseline::AddRow(base::TableOid table, std::string_view image) {
  ASSIGN_OR_RETURN(const Table found, FindTable(table));
  const RelationPtr& relation = found.relation;
  ASSIGN_OR_RETURN(const std::vector<model::Cell> cells, model::DecodeImage(*relation, image));
  if (std::any_of(cells.begin(), cells.end(),
                  [](const model::Cell& cell) { return cell.kind == model::CellKind::kUnchanged; })) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("a row of the first copy of {} lacks a value", relation->QualifiedName()));
  }
  if (found.bag != nullptr) return AddToBag(table, *found.bag, cells, image);
  ASSIGN_OR_RETURN(const std::string key, types::EncodeKey(*relation, cells));
  const std::string row_key = store::RowKey(table, key);
  base::MutexLock lock(&shards_[std::hash<std::string>()(row_key) % kShards]);
  ASSIGN_OR_RETURN(const auto taken, store_->Get(Family::kStaging, row_key));
  if (taken) {
    std::string shown;
    if (!types::AppendKeyJson(*relation, cells, &shown)) shown = "(unreadable)";
    return Fail(ErrorCode::kInvalidArgument, fmt::format("two rows of the first copy of {} have the key {}",
                                                         relation->QualifiedName(), shown));
  }
  return store_->Put(Family::kStaging, row_key, image, store::Durability::kNoLog);
}

Status Baseline::Exclude(base::TableOid table, std::string reason) {
  base::MutexLock lock(&mutex_);
  const auto found = tables_.find(table);
  if (found == tables_.end()) {
    return Fail(ErrorCode::kInvalidArgument, fmt::format("table {} is not in the first copy", table.value));
  }
  found->second.excluded = std::move(reason);
  return {};
}

Status Baseline::PackPages(base::Position position) {
  PageWriter writer(store_, position);
  base::MutexLock lock(&mutex_);
  for (const auto& [oid, table] : tables_) {
    if (!table.excluded) RETURN_IF_ERROR(writer.AddTable(oid, table.relation->version));
  }
  return writer.Finish();
}

// All in one synced write: before it the copy does not exist, after it the copy is complete.
Status Baseline::WriteMark(const ReadPoint& point) {
  store::Batch batch(store_);
  {
    base::MutexLock lock(&mutex_);
    for (const auto& [oid, table] : tables_) {
      const base::RelationVersion version = table.relation->version;
      const Place place{point.position, base::Seq{}};
      batch.Put(Family::kCatalog, store::RelationKey(version, 0), store::EncodeRelation(*table.relation));
      batch.Put(Family::kCatalog, store::EventKey(oid, place, EventKind::kVersion),
                store::EncodeEvent(store::EventRecord{version, 0, {}}));
      if (table.excluded) {
        batch.Put(Family::kCatalog, store::EventKey(oid, place, EventKind::kExcluded),
                  store::EncodeEvent(store::EventRecord{version, 0, *table.excluded}));
      }
    }
  }
  batch.Put(Family::kCatalog, store::CatalogKey(store::CatalogTag::kIdentity), EncodeIdentity(identity_));
  batch.Put(Family::kCatalog, store::CatalogKey(store::CatalogTag::kBaseline),
            store::EncodeReadPoint(RecordOf(point)));
  batch.Put(Family::kCatalog, store::CatalogKey(store::CatalogTag::kPublished),
            EncodePublished(Published{point.position, point, point.commit_time}));
  return store_->Write(&batch, store::Durability::kSynced);
}

Status Baseline::Finish(const ReadPoint& point) {
  RETURN_IF_ERROR(PackPages(point.position));
  RETURN_IF_ERROR(WriteMark(point));
  return store_->Clear(Family::kStaging);
}

std::vector<TableInfo> Baseline::Tables() const {
  base::MutexLock lock(&mutex_);
  std::vector<TableInfo> infos;
  for (const auto& [oid, table] : tables_) {
    TableInfo info;
    info.relation = table.relation;
    info.state = table.excluded ? TableState::kBroken : TableState::kCopying;
    if (table.excluded) info.reason = *table.excluded;
    infos.push_back(std::move(info));
  }
  return infos;
}

}  // namespace varve::history
