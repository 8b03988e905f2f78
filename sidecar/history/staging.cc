// SPDX-License-Identifier: PostgreSQL
#include "sidecar/history/staging.h"

#include <algorithm>
#include <utility>

#include "sidecar/base/check.h"

namespace varve::history {

using base::ErrorCode;
using base::Fail;
using base::Status;
using store::Family;
using store::PreparedId;
using store::PreparedRecord;
using store::StagePart;

namespace {

void DropStage(uint64_t number, store::Batch* batch) {
  const std::string prefix = store::StageKey(number);
  batch->DeleteRange(Family::kStaged, prefix, store::PrefixEnd(prefix));
}

}  // namespace

Status Staging::BeginSession() {
  stages_.clear();
  prepared_.clear();
  ended_.clear();
  store::Batch batch(store_);
  RETURN_IF_ERROR(LoadPrepared(&batch));
  RETURN_IF_ERROR(DropOthers(&batch));
  if (!batch.empty()) RETURN_IF_ERROR(store_->Write(&batch, store::Durability::kBuffered));
  List();
  return {};
}

Status Staging::LoadPrepared(store::Batch* batch) {
  const std::string prefix = store::StagedKey(store::StagedTag::kPrepared);
  store::Iterator it = store_->NewIterator(Family::kStaged, prefix, store::PrefixEnd(prefix));
  for (it.SeekToFirst(); it.Valid(); it.Next()) {
    const auto id = store::ParsePreparedKey(it.key());
    if (!id) return Fail(ErrorCode::kInternal, "the store holds a damaged key of a prepared transaction");
    ASSIGN_OR_RETURN(const PreparedRecord record, store::DecodePrepared(it.value()));
    if (record.comes_again) {
      batch->Delete(Family::kStaged, it.key());
    } else {
      prepared_.emplace(*id, record);
    }
  }
  return it.status();
}

Status Staging::DropOthers(store::Batch* batch) {
  std::set<uint64_t> kept;
  for (const auto& [id, record] : prepared_) kept.insert(record.stage);
  if (!kept.empty()) next_stage_ = std::max(next_stage_, *kept.rbegin() + 1);
  const std::string prefix = store::StagedKey(store::StagedTag::kStage);
  store::Iterator it = store_->NewIterator(Family::kStaged, prefix, store::PrefixEnd(prefix));
  for (it.SeekToFirst(); it.Valid();) {
    const auto id = store::ParseStageKey(it.key());
    if (!id) return Fail(ErrorCode::kInternal, "the store holds a damaged key of a staged change");
    next_stage_ = std::max(next_stage_, id->stage + 1);
    if (kept.count(id->stage) == 0) DropStage(id->stage, batch);
    it.Seek(store::PrefixEnd(store::StageKey(id->stage)));
  }
  return it.status();
}

Staging::Stage* Staging::Find(uint32_t xid) {
  const auto found = stages_.find(xid);
  return found == stages_.end() ? nullptr : &found->second;
}

Staging::Stage* Staging::Begin(uint32_t xid) {
  const auto [stage, is_new] = stages_.try_emplace(xid);
  CHECK(is_new);
  stage->second.number = next_stage_++;
  return &stage->second;
}

void Staging::Add(Stage* stage, base::Seq seq, const store::StagedChange& change, store::Batch* batch) {
  batch->Put(Family::kStaged, store::StageKey(stage->number, StagePart::kChange, seq.value),
             store::EncodeStagedChange(change));
  if (model::IsDefinition(change.op)) {
    batch->Put(Family::kStaged, store::StageKey(stage->number, StagePart::kDefinition, seq.value),
               store::EncodeStagedDefinition({change.subxid, change.op, change.table}));
  }
  if (!model::IsRowChange(change.op)) return;
  ++stage->rows;
  ++stage->by_subxid[change.subxid];
}

void Staging::Void(Stage* stage, uint32_t subxid, store::Batch* batch) {
  batch->Put(Family::kStaged, store::StageKey(stage->number, StagePart::kVoid, subxid), {});
  const auto rows = stage->by_subxid.find(subxid);
  if (rows == stage->by_subxid.end()) return;
  stage->rows -= rows->second;
  stage->by_subxid.erase(rows);
}

void Staging::Drop(uint32_t xid, store::Batch* batch) {
  const auto stage = stages_.find(xid);
  CHECK(stage != stages_.end());
  DropStage(stage->second.number, batch);
  stages_.erase(stage);
}

void Staging::Prepare(const PreparedId& id, PreparedRecord record, store::Batch* batch) {
  const auto stage = stages_.find(id.xid);
  CHECK(stage != stages_.end());
  record.stage = stage->second.number;
  record.changes = stage->second.rows;
  stages_.erase(stage);
  const auto before = prepared_.find(id);
  if (before != prepared_.end()) {
    DropStage(before->second.stage, batch);
    // What was to stay still does.
    record.comes_again = record.comes_again && before->second.comes_again;
  }
  batch->Put(Family::kStaged, store::PreparedKey(id.xid, id.gid), store::EncodePrepared(record));
  prepared_.insert_or_assign(id, record);
}

const PreparedRecord* Staging::FindPrepared(const PreparedId& id) const {
  const auto found = prepared_.find(id);
  return found == prepared_.end() || ended_.count(id) != 0 ? nullptr : &found->second;
}

void Staging::End(const PreparedId& id) {
  CHECK(prepared_.count(id) != 0);
  ended_.insert(id);
}

void Staging::Forget(const PreparedId& id, store::Batch* batch) {
  const auto found = prepared_.find(id);
  CHECK(found != prepared_.end());
  batch->Delete(Family::kStaged, store::PreparedKey(id.xid, id.gid));
  DropStage(found->second.stage, batch);
  prepared_.erase(found);
}

void Staging::WriteEnds(store::Batch* batch) const {
  for (const PreparedId& id : ended_) {
    batch->Delete(Family::kStaged, store::PreparedKey(id.xid, id.gid));
    DropStage(prepared_.at(id).stage, batch);
  }
}

void Staging::Published() {
  for (const PreparedId& id : ended_) prepared_.erase(id);
  ended_.clear();
  List();
}

void Staging::List() {
  std::vector<PreparedTransaction> listed;
  for (const auto& [id, record] : prepared_) {
    if (record.comes_again) continue;
    listed.push_back({id.gid, record.xid, record.position, record.time, record.changes});
  }
  std::sort(listed.begin(), listed.end(), [](const PreparedTransaction& a, const PreparedTransaction& b) {
    return a.position < b.position;
  });
  base::MutexLock lock(&mutex_);
  listed_ = std::move(listed);
}

std::vector<PreparedTransaction> Staging::Listed() const {
  base::MutexLock lock(&mutex_);
  return listed_;
}

}  // namespace varve::history
