// SPDX-License-Identifier: PostgreSQL
#include "sidecar/history/stage_reader.h"

#include "sidecar/base/check.h"

namespace varve::history {

using base::ErrorCode;
using base::Fail;
using base::Result;
using base::Status;
using store::StagePart;

namespace {

Result<store::StageId> ParseKey(std::string_view key) {
  const auto id = store::ParseStageKey(key);
  if (!id) return Fail(ErrorCode::kInternal, "the store holds a damaged key of a staged change");
  return *id;
}

}  // namespace

StageReader::StageReader(const store::Store* store, const Catalog* catalog, uint64_t stage)
    : store_(store), catalog_(catalog), stage_(stage), changes_(Part(StagePart::kChange)) {}

store::Iterator StageReader::Part(StagePart part) const {
  const std::string prefix = store::StageKey(stage_, part);
  return store_->NewIterator(store::Family::kStaged, prefix, store::PrefixEnd(prefix));
}

Status StageReader::Open() {
  RETURN_IF_ERROR(ReadVoided());
  RETURN_IF_ERROR(ReadDefinitions());
  changes_.SeekToFirst();
  return Settle();
}

Status StageReader::ReadVoided() {
  store::Iterator it = Part(StagePart::kVoid);
  for (it.SeekToFirst(); it.Valid(); it.Next()) {
    ASSIGN_OR_RETURN(const store::StageId id, ParseKey(it.key()));
    voided_.insert(id.number);
  }
  return it.status();
}

// Of each table the last one counts. An Untrack also ends what was known of the rows, whatever follows it,
// but says nothing new where the table was untracked already.
Status StageReader::ReadDefinitions() {
  struct Last {
    uint32_t seq = 0;
    model::Op op = model::Op::kRelation;
  };
  std::map<base::TableOid, Last> last;
  store::Iterator it = Part(StagePart::kDefinition);
  for (it.SeekToFirst(); it.Valid(); it.Next()) {
    ASSIGN_OR_RETURN(const store::StageId id, ParseKey(it.key()));
    ASSIGN_OR_RETURN(const store::StagedDefinition definition, store::DecodeStagedDefinition(it.value()));
    if (voided_.count(definition.subxid) != 0) continue;
    const auto [before, is_first] = last.try_emplace(definition.table);
    if (!is_first) {
      if (before->second.op != model::Op::kUntrack) {
        definitions_.erase(before->second.seq);
      } else if (definition.op == model::Op::kUntrack) {
        continue;
      }
    }
    before->second = Last{id.number, definition.op};
    definitions_.insert(id.number);
  }
  return it.status();
}

Status StageReader::Settle() {
  for (; changes_.Valid(); changes_.Next()) {
    ASSIGN_OR_RETURN(const store::StageId id, ParseKey(changes_.key()));
    ASSIGN_OR_RETURN(const store::StagedChange change, store::DecodeStagedChange(changes_.value()));
    if (voided_.count(change.subxid) != 0) continue;
    if (!model::IsDefinition(change.op) || definitions_.count(id.number) != 0) return {};
  }
  return changes_.status();
}

Result<model::Batch> StageReader::Read(size_t bytes) {
  CHECK(Valid());
  model::Batch batch;
  std::vector<size_t> ends;
  do {
    batch.bytes += changes_.value();
    ends.push_back(batch.bytes.size());
    changes_.Next();
    RETURN_IF_ERROR(Settle());
  } while (Valid() && batch.bytes.size() < bytes);
  const std::string_view all = batch.bytes;
  size_t begin = 0;
  for (const size_t end : ends) {
    ASSIGN_OR_RETURN(const model::Change change, MakeChange(all.substr(begin, end - begin)));
    batch.changes.push_back(change);
    begin = end;
  }
  return batch;
}

Result<model::Change> StageReader::MakeChange(std::string_view bytes) {
  ASSIGN_OR_RETURN(const store::StagedChange staged, store::DecodeStagedChange(bytes));
  model::Change change;
  change.op = staged.op;
  change.seq = base::Seq{next_seq_++};
  change.table = staged.table;
  change.new_image = staged.new_image;
  change.old_image = staged.old_image;
  change.old_is_full = staged.old_is_full;
  change.truncate_cascade = staged.truncate_cascade;
  change.truncate_restart_identity = staged.truncate_restart_identity;
  change.message_transactional = staged.message_transactional;
  change.rewrite_rows = staged.rewrite_rows;
  if (staged.relation.version.value == 0) return change;
  RelationPtr& relation = relations_[staged.relation];
  if (relation == nullptr) {
    ASSIGN_OR_RETURN(relation, catalog_->FindDefinition(staged.relation));
  }
  change.relation = relation.get();  // the catalog keeps it
  return change;
}

}  // namespace varve::history
