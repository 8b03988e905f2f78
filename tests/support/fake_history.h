// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sidecar/base/mutex.h"
#include "sidecar/history/history.h"
#include "sidecar/ingest/status.h"

namespace varve::tests {

// A row as a test writes it: values in the column's form, nothing for null.
using FakeRow = std::vector<std::optional<std::string>>;

std::string Int4(int32_t value);
std::string Int8(int64_t value);

// public.accounts (id int4 primary key, email text, balance int8), oid 16384.
std::shared_ptr<const model::Relation> AccountsRelation();
FakeRow Account(int32_t id, std::optional<std::string> email, int64_t balance);

// A history in memory that a test fills: a first copy at 0/100 of 2026-01-01T00:00:00Z, then one transaction
// a call, 0x100 bytes and one minute apart, xids from 700. Reading is as in the real one; what tests of the
// interfaces do not need (schema changes, key changes, truncate) is left out.
class FakeHistory : public history::History {
 public:
  FakeHistory();

  // A null row deletes.
  struct Step {
    FakeRow row;
    bool remove = false;
  };
  void Copy(const FakeRow& row);
  base::Position Commit(const std::vector<Step>& steps);
  // Everything up to the position is here, with or without a transaction.
  void PublishThrough(base::Position position);
  void SetComplete(bool complete);
  // Scans find `rows` accounts instead of what was filled in, and fail after `fail_after` of them.
  void SetBulk(uint64_t rows, std::optional<uint64_t> fail_after);

  base::Status BeginBaseline(const history::Identity&) override { return {}; }
  base::Status AddBaselineTable(const model::Relation&) override { return {}; }
  base::Status AddBaselineRow(base::TableOid, std::string_view) override { return {}; }
  base::Status FinishBaseline(base::Position, base::Timestamp) override { return {}; }
  base::Status ExcludeBaselineTable(base::TableOid, std::string) override { return {}; }
  base::Status BeginSession(base::FullXid) override { return {}; }
  base::Status Append(const model::Batch&) override { return {}; }
  base::Status Publish() override { return {}; }
  base::Status Advance(base::Position) override { return {}; }

  history::StoreStatus GetStatus() const override;
  std::optional<history::Identity> GetIdentity() const override;
  std::vector<history::TableInfo> Tables() const override;
  base::Result<base::TableOid> FindTable(std::string_view name) const override;
  base::Result<std::shared_ptr<const model::Relation>> RelationAt(base::TableOid,
                                                                  base::Position) const override;
  base::Result<history::ReadPoint> Resolve(const model::Reference& reference,
                                           std::optional<base::TableOid> table) const override;
  base::Status WaitFor(base::Position position, std::chrono::milliseconds timeout) const override;
  base::Result<std::optional<history::OwnedRow>> Get(base::TableOid table, std::string_view key,
                                                     base::Position position) const override;
  base::Status Scan(base::TableOid table, base::Position position, const history::ScanOptions& options,
                    const history::RowCallback& callback) const override;
  base::Status RowHistory(base::TableOid table, std::string_view key, base::Position from, base::Position to,
                          const history::ChangeCallback& callback) const override;
  base::Status Log(base::Position from, base::Position to, bool oldest_first,
                   const history::TransactionCallback& callback) const override;
  base::Result<history::TransactionInfo> GetTransaction(base::Position position) const override;
  base::Status Show(base::Position position, const history::ChangeCallback& callback) const override;
  base::Status Diff(base::Position from, base::Position to, std::optional<base::TableOid> table, bool raw,
                    const history::ChangeCallback& callback) const override;
  std::vector<history::Tag> Tags() const override;
  base::Status CreateTag(std::string_view name, const history::ReadPoint& point) override;
  base::Status DeleteTag(std::string_view name) override;

 private:
  struct Version {
    base::Position since;
    uint32_t seq = 0;
    std::optional<FakeRow> row;
  };
  struct Place {
    std::string key;
    size_t version = 0;
  };

  const FakeRow* RowAt(const std::string& key, base::Position position, base::Position* since) const
      REQUIRES(mutex_);
  // A change that is handed out, copied: callbacks may read again.
  struct Given {
    history::ReadPoint point;
    Version before, after;
  };
  Given Take(const std::string& key, size_t version) const REQUIRES(mutex_);
  base::Status Give(const std::vector<Given>& all, const history::ChangeCallback& callback) const;

  const std::shared_ptr<const model::Relation> relation_ = AccountsRelation();
  mutable base::Mutex mutex_;
  mutable base::CondVar published_;
  history::StoreStatus status_ GUARDED_BY(mutex_);
  std::map<std::string, std::vector<Version>> rows_ GUARDED_BY(mutex_);
  std::map<base::Position, history::TransactionInfo> transactions_ GUARDED_BY(mutex_);
  std::map<base::Position, std::vector<Place>> changes_ GUARDED_BY(mutex_);
  std::map<std::string, history::ReadPoint, std::less<>> tags_ GUARDED_BY(mutex_);
  uint64_t bulk_rows_ GUARDED_BY(mutex_) = 0;
  std::optional<uint64_t> fail_after_ GUARDED_BY(mutex_);
};

// What a slot client would say. Thread-safe.
class FakeIngest : public ingest::StatusSource {
 public:
  ingest::IngestStatus GetStatus() const override;
  base::Result<base::Lsn> CurrentServerLsn() override;

  void SetStatus(const ingest::IngestStatus& status);
  // Nothing: the server cannot be asked.
  void SetServerLsn(std::optional<base::Lsn> lsn);

 private:
  mutable base::Mutex mutex_;
  ingest::IngestStatus status_ GUARDED_BY(mutex_);
  std::optional<base::Lsn> lsn_ GUARDED_BY(mutex_);
};

}  // namespace varve::tests
