// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sidecar/base/mutex.h"
#include "sidecar/history/history.h"

namespace varve::ingest {

// A history in memory that records what it is told and reads nothing back. Thread-safe.
class FakeHistory final : public history::History {
 public:
  struct Piece {
    base::Lsn end_lsn;
    uint32_t xid = 0;
    bool commit = false;
    std::vector<std::pair<model::Op, std::string>> changes;  // with the new image
  };

  // What the next writing call fails with, once.
  void FailNext(base::Error error) EXCLUDES(mutex_) {
    base::MutexLock lock(&mutex_);
    fail_next_ = std::move(error);
  }
  void CompleteAt(const history::Identity& identity, base::Lsn lsn) EXCLUDES(mutex_) {
    base::MutexLock lock(&mutex_);
    identity_ = identity;
    complete_ = true;
    through_ = base::Position::Make(0, lsn);
  }
  std::vector<Piece> pieces() const EXCLUDES(mutex_) {
    base::MutexLock lock(&mutex_);
    return pieces_;
  }
  std::map<uint32_t, std::vector<std::string>> rows() const EXCLUDES(mutex_) {
    base::MutexLock lock(&mutex_);
    return rows_;
  }
  std::vector<model::Relation> relations() const EXCLUDES(mutex_) {
    base::MutexLock lock(&mutex_);
    return relations_;
  }
  std::map<uint32_t, std::string> excluded() const EXCLUDES(mutex_) {
    base::MutexLock lock(&mutex_);
    return excluded_;
  }
  // The relations of the stream, in the order they came.
  std::vector<std::shared_ptr<const model::Relation>> streamed_relations() const EXCLUDES(mutex_) {
    base::MutexLock lock(&mutex_);
    return streamed_relations_;
  }
  int publishes() const EXCLUDES(mutex_) {
    base::MutexLock lock(&mutex_);
    return publishes_;
  }

  base::Status BeginBaseline(const history::Identity& identity) override EXCLUDES(mutex_) {
    base::MutexLock lock(&mutex_);
    identity_ = identity;
    relations_.clear();
    rows_.clear();
    excluded_.clear();
    return TakeFailure();
  }
  base::Status AddBaselineTable(const model::Relation& relation) override EXCLUDES(mutex_) {
    base::MutexLock lock(&mutex_);
    relations_.push_back(relation);
    return TakeFailure();
  }
  base::Status AddBaselineRow(base::TableOid table, std::string_view image) override EXCLUDES(mutex_) {
    base::MutexLock lock(&mutex_);
    rows_[table.value].emplace_back(image);
    return TakeFailure();
  }
  base::Status FinishBaseline(base::Position consistent_point, base::Timestamp) override EXCLUDES(mutex_) {
    base::MutexLock lock(&mutex_);
    through_ = consistent_point;
    complete_ = true;
    return TakeFailure();
  }
  base::Status ExcludeBaselineTable(base::TableOid table, std::string reason) override EXCLUDES(mutex_) {
    base::MutexLock lock(&mutex_);
    rows_.erase(table.value);
    excluded_[table.value] = std::move(reason);
    return TakeFailure();
  }
  base::Status BeginSession(base::FullXid) override EXCLUDES(mutex_) {
    base::MutexLock lock(&mutex_);
    appended_ = advanced_ = through_;
    return TakeFailure();
  }
  base::Status Append(const model::Batch& batch) override EXCLUDES(mutex_) {
    base::MutexLock lock(&mutex_);
    streamed_relations_.insert(streamed_relations_.end(), batch.relations.begin(), batch.relations.end());
    for (const model::TransactionPiece& from : batch.pieces) {
      const auto position = base::Position::Make(0, from.end_lsn);
      if (position <= through_) continue;
      Piece piece{from.end_lsn, from.xid, from.commit, {}};
      for (size_t i = 0; i < from.count; ++i) {
        const model::Change& change = batch.changes[from.first_change + i];
        piece.changes.emplace_back(change.op, change.new_image);
      }
      pieces_.push_back(std::move(piece));
      if (from.commit) appended_ = std::max(appended_, position);
    }
    return TakeFailure();
  }
  base::Status Publish() override EXCLUDES(mutex_) {
    base::MutexLock lock(&mutex_);
    ++publishes_;
    through_ = std::max({through_, appended_, advanced_});
    return TakeFailure();
  }
  base::Status Advance(base::Position through) override EXCLUDES(mutex_) {
    base::MutexLock lock(&mutex_);
    advanced_ = std::max(advanced_, through);
    return TakeFailure();
  }

  history::StoreStatus GetStatus() const override EXCLUDES(mutex_) {
    base::MutexLock lock(&mutex_);
    history::StoreStatus status;
    status.baseline_complete = complete_;
    status.published_through = through_;
    return status;
  }
  std::optional<history::Identity> GetIdentity() const override EXCLUDES(mutex_) {
    base::MutexLock lock(&mutex_);
    return identity_;
  }
  std::vector<history::TableInfo> Tables() const override { return {}; }
  base::Result<base::TableOid> FindTable(std::string_view) const override { return Unread(); }
  base::Result<std::shared_ptr<const model::Relation>> RelationAt(base::TableOid,
                                                                  base::Position) const override {
    return Unread();
  }
  base::Result<history::ReadPoint> Resolve(const model::Reference&,
                                           std::optional<base::TableOid>) const override {
    return Unread();
  }
  base::Status WaitFor(base::Position position, std::chrono::milliseconds) const override EXCLUDES(mutex_) {
    base::MutexLock lock(&mutex_);
    if (position <= through_) return {};
    return base::Fail(base::ErrorCode::kBehind, "the fake history does not wait");
  }
  base::Result<std::optional<history::OwnedRow>> Get(base::TableOid, std::string_view,
                                                     base::Position) const override {
    return Unread();
  }
  base::Status Scan(base::TableOid, base::Position, const history::ScanOptions&,
                    const history::RowCallback&) const override {
    return Unread();
  }
  base::Status RowHistory(base::TableOid, std::string_view, base::Position, base::Position,
                          const history::ChangeCallback&) const override {
    return Unread();
  }
  base::Status Log(base::Position, base::Position, bool, const history::TransactionCallback&) const override {
    return Unread();
  }
  base::Result<history::TransactionInfo> GetTransaction(base::Position) const override { return Unread(); }
  base::Status Show(base::Position, const history::ChangeCallback&) const override { return Unread(); }
  base::Status Diff(base::Position, base::Position, std::optional<base::TableOid>, bool,
                    const history::ChangeCallback&) const override {
    return Unread();
  }
  std::vector<history::Tag> Tags() const override { return {}; }
  base::Status CreateTag(std::string_view, const history::ReadPoint&) override { return Unread(); }
  base::Status DeleteTag(std::string_view) override { return Unread(); }

 private:
  static tl::unexpected<base::Error> Unread() {
    return base::Fail(base::ErrorCode::kUnavailable, "the fake history does not read");
  }
  base::Status TakeFailure() REQUIRES(mutex_) {
    if (!fail_next_) return {};
    base::Error error = std::move(*fail_next_);
    fail_next_.reset();
    return base::Fail(std::move(error));
  }

  mutable base::Mutex mutex_;
  std::optional<base::Error> fail_next_ GUARDED_BY(mutex_);
  std::optional<history::Identity> identity_ GUARDED_BY(mutex_);
  bool complete_ GUARDED_BY(mutex_) = false;
  base::Position through_ GUARDED_BY(mutex_);
  base::Position appended_ GUARDED_BY(mutex_);
  base::Position advanced_ GUARDED_BY(mutex_);
  std::vector<Piece> pieces_ GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<const model::Relation>> streamed_relations_ GUARDED_BY(mutex_);
  std::vector<model::Relation> relations_ GUARDED_BY(mutex_);
  std::map<uint32_t, std::vector<std::string>> rows_ GUARDED_BY(mutex_);
  std::map<uint32_t, std::string> excluded_ GUARDED_BY(mutex_);
  int publishes_ GUARDED_BY(mutex_) = 0;
};

}  // namespace varve::ingest
