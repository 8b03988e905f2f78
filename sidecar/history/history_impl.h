// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sidecar/base/mutex.h"
#include "sidecar/history/applier.h"
#include "sidecar/history/baseline.h"
#include "sidecar/history/catalog.h"
#include "sidecar/history/history.h"
#include "sidecar/history/visibility.h"
#include "sidecar/store/store.h"

namespace varve::history {

// The history over one store: the writer's side is an Applier (or a Baseline before it), the reader's side
// one file a verb.
class HistoryImpl final : public History {
 public:
  HistoryImpl(std::unique_ptr<store::Store> store, const Options& options, const base::Clock* clock)
      : store_(std::move(store)), options_(options), clock_(clock) {}

  // Reads what the store holds and removes what lies above the published position.
  base::Status Load();
  base::Status LoadUnfinished() EXCLUDES(mutex_);

  base::Status BeginBaseline(const Identity& identity) override;
  base::Status AddBaselineTable(const model::Relation& relation) override;
  base::Status AddBaselineRow(base::TableOid table, std::string_view image) override;
  base::Status FinishBaseline(base::Position consistent_point, base::Timestamp time) override;
  base::Status ExcludeBaselineTable(base::TableOid table, std::string reason) override;

  base::Status BeginSession(base::FullXid xid_epoch_base) override;
  base::Status Append(const model::Batch& batch) override;
  base::Status Publish() override;
  base::Status Advance(base::Position through) override;

  StoreStatus GetStatus() const override;
  std::optional<Identity> GetIdentity() const override;
  std::vector<TableInfo> Tables() const override;
  base::Result<base::TableOid> FindTable(std::string_view name) const override;
  base::Result<std::shared_ptr<const model::Relation>> RelationAt(base::TableOid table,
                                                                  base::Position position) const override;
  base::Result<ReadPoint> Resolve(const model::Reference& reference,
                                  std::optional<base::TableOid> table) const override;
  base::Status WaitFor(base::Position position, std::chrono::milliseconds timeout) const override;
  base::Result<std::optional<OwnedRow>> Get(base::TableOid table, std::string_view key,
                                            base::Position position) const override;
  base::Status Scan(base::TableOid table, base::Position position, const ScanOptions& options,
                    const RowCallback& callback) const override;
  base::Status RowHistory(base::TableOid table, std::string_view key, base::Position from, base::Position to,
                          const ChangeCallback& callback) const override;
  base::Status Log(base::Position from, base::Position to, bool oldest_first,
                   const TransactionCallback& callback) const override;
  base::Result<TransactionInfo> GetTransaction(base::Position position) const override;
  base::Status Show(base::Position position, const ChangeCallback& callback) const override;
  base::Status Diff(base::Position from, base::Position to, std::optional<base::TableOid> table, bool raw,
                    const ChangeCallback& callback) const override;
  std::vector<Tag> Tags() const override;
  base::Status CreateTag(std::string_view name, const ReadPoint& point) override;
  base::Status DeleteTag(std::string_view name) override;

 private:
  base::Status LoadTags() EXCLUDES(mutex_);
  void StartApplier(const ReadPoint& first, const Published& published) EXCLUDES(mutex_);
  std::shared_ptr<Baseline> FindBaseline() const EXCLUDES(mutex_);
  std::shared_ptr<Applier> FindApplier() const EXCLUDES(mutex_);
  base::Result<std::shared_ptr<Baseline>> BaselineInProgress() const;
  base::Result<std::shared_ptr<Applier>> ApplierInProgress() const;

  std::unique_ptr<store::Store> store_;
  const Options options_;
  const base::Clock* clock_;
  Catalog catalog_;
  Visibility visibility_;
  mutable base::Mutex mutex_;
  std::shared_ptr<Baseline> baseline_ GUARDED_BY(mutex_);  // while the first copy runs
  std::shared_ptr<Applier> applier_ GUARDED_BY(mutex_);    // afterwards
  std::optional<Identity> identity_ GUARDED_BY(mutex_);
  std::map<std::string, ReadPoint, std::less<>> tags_ GUARDED_BY(mutex_);
};

}  // namespace varve::history
