// SPDX-License-Identifier: PostgreSQL
#include <fmt/format.h>

#include "sidecar/history/applier.h"

namespace varve::history {

using base::ErrorCode;
using base::Fail;
using base::Status;
using store::Batch;
using store::Family;
using store::Store;

namespace {

constexpr size_t kBatchBytesMax = size_t{4} << 20;

Status WriteIfLarge(Store* store, Batch* batch) {
  if (batch->bytes() < kBatchBytesMax) return {};
  RETURN_IF_ERROR(store->Write(batch, store::Durability::kBuffered));
  batch->Clear();
  return {};
}

// Makes the head what it was at the position. Every step leaves a state from which the same call gives the
// same result, for it only looks at what lies above the position.
Status RestoreRow(Store* store, base::TableOid table, std::string_view key, base::Position published,
                  base::Position first, Batch* batch) {
  const std::string row_key = store::RowKey(table, key);
  store::Iterator rewinds =
      store->NewIterator(Family::kRewind, store::RewindKey(row_key, base::Position{published.value + 1}),
                         store::PrefixEnd(row_key));
  bool restored = false;
  for (rewinds.SeekToFirst(); rewinds.Valid(); rewinds.Next()) {
    if (rewinds.key().size() != row_key.size() + sizeof(uint64_t)) {
      return Fail(ErrorCode::kInternal, "the store holds a damaged rewind key");
    }
    batch->Delete(Family::kRewind, rewinds.key());
    if (restored) continue;
    restored = true;
    ASSIGN_OR_RETURN(const store::VersionRecord record, store::DecodeVersion(rewinds.value()));
    // A version that the first copy has needs no head. One that begins above the position was inserted there.
    if (record.start.position == first || record.start.position > published) {
      batch->Delete(Family::kHead, row_key);
    } else {
      batch->Put(Family::kHead, row_key, rewinds.value());
    }
  }
  RETURN_IF_ERROR(rewinds.status());
  if (restored) return {};
  ASSIGN_OR_RETURN(const auto head, store->Get(Family::kHead, row_key));
  if (!head) return {};
  ASSIGN_OR_RETURN(const store::VersionRecord record, store::DecodeVersion(*head));
  if (record.start.position > published) batch->Delete(Family::kHead, row_key);
  return {};
}

Status RollBackLog(Store* store, base::Position published, base::Position first) {
  Batch batch(store);
  store::Iterator log =
      store->NewIterator(Family::kLog, store::PositionKey(base::Position{published.value + 1}), "");
  for (log.SeekToFirst(); log.Valid(); log.Next()) {
    ASSIGN_OR_RETURN(const store::LogRecord record, store::DecodeLog(log.value()));
    if (record.op == model::Op::kInsert || record.op == model::Op::kUpdate ||
        record.op == model::Op::kDelete) {
      RETURN_IF_ERROR(RestoreRow(store, record.table, record.key, published, first, &batch));
      if (!record.previous_key.empty()) {
        RETURN_IF_ERROR(RestoreRow(store, record.table, record.previous_key, published, first, &batch));
      }
    }
    batch.Delete(Family::kLog, log.key());
    RETURN_IF_ERROR(WriteIfLarge(store, &batch));
  }
  RETURN_IF_ERROR(log.status());
  return store->Write(&batch, store::Durability::kBuffered);
}

Status RollBackTransactions(Store* store, base::Position published) {
  Batch batch(store);
  store::Iterator it =
      store->NewIterator(Family::kTransaction, store::PositionKey(base::Position{published.value + 1}), "");
  for (it.SeekToFirst(); it.Valid(); it.Next()) {
    const auto position = store::ParsePositionKey(it.key());
    if (!position) return Fail(ErrorCode::kInternal, "the store holds a damaged transaction key");
    ASSIGN_OR_RETURN(const store::TransactionRecord record, store::DecodeTransaction(it.value()));
    batch.Delete(Family::kTimeIndex, store::TimeKey(record.running_max, *position));
    batch.Delete(Family::kXidIndex, store::XidKey(record.xid, *position));
    batch.Delete(Family::kTransaction, it.key());
    RETURN_IF_ERROR(WriteIfLarge(store, &batch));
  }
  RETURN_IF_ERROR(it.status());
  return store->Write(&batch, store::Durability::kBuffered);
}

Status RollBackEvents(Store* store, base::Position published) {
  Batch batch(store);
  const std::string prefix = store::CatalogKey(store::CatalogTag::kEvent);
  store::Iterator it = store->NewIterator(Family::kCatalog, prefix, store::PrefixEnd(prefix));
  for (it.SeekToFirst(); it.Valid(); it.Next()) {
    const auto id = store::ParseEventKey(it.key());
    if (!id) return Fail(ErrorCode::kInternal, "the store holds a damaged key of a table event");
    if (id->place.position > published) batch.Delete(Family::kCatalog, it.key());
    RETURN_IF_ERROR(WriteIfLarge(store, &batch));
  }
  RETURN_IF_ERROR(it.status());
  return store->Write(&batch, store::Durability::kBuffered);
}

}  // namespace

Status RollBack(Store* store, base::Position published, base::Position first) {
  RETURN_IF_ERROR(RollBackLog(store, published, first));
  RETURN_IF_ERROR(RollBackTransactions(store, published));
  return RollBackEvents(store, published);
}

}  // namespace varve::history
