// SPDX-License-Identifier: PostgreSQL
#include "sidecar/history/version_reader.h"

namespace varve::history {

using base::Result;
using base::Status;
using store::Family;

namespace {

// Whether a rewind key belongs to the row: key bytes are prefix-free, so only the row's own rewinds begin
// with its key.
bool IsRewindOf(std::string_view rewind_key, std::string_view row_key) {
  return rewind_key.size() == row_key.size() + sizeof(uint64_t) &&
         rewind_key.substr(0, row_key.size()) == row_key;
}

}  // namespace

RowVersion OwnVersion(const store::VersionRecord& record) {
  return RowVersion{record.start,
                    record.tombstone,
                    record.moved,
                    record.version,
                    std::string(record.previous_key),
                    std::string(record.image)};
}

VersionReader::VersionReader(const store::Store* store, const store::Snapshot* snapshot, base::Position first)
    : store_(store),
      snapshot_(snapshot),
      first_(first),
      keyframe_(store, first),
      rewinds_(store->NewIterator(Family::kRewind, "", "", snapshot)) {}

Result<std::optional<RowVersion>> VersionReader::FromKeyframe(base::TableOid table, std::string_view key) {
  ASSIGN_OR_RETURN(const auto row, keyframe_.Find(table, key));
  if (!row) return std::optional<RowVersion>();
  RowVersion version;
  version.start.position = first_;
  version.version = row->version;
  version.image = row->image;
  return std::optional<RowVersion>(std::move(version));
}

Result<std::optional<RowVersion>> VersionReader::At(base::TableOid table, std::string_view key,
                                                    base::Position position) {
  const std::string row_key = store::RowKey(table, key);
  ASSIGN_OR_RETURN(const auto head, store_->Get(Family::kHead, row_key, snapshot_));
  if (!head) return FromKeyframe(table, key);
  ASSIGN_OR_RETURN(const store::VersionRecord record, store::DecodeVersion(*head));
  if (record.start.position <= position) return std::optional<RowVersion>(OwnVersion(record));
  return FirstRewind(row_key, position);
}

Result<std::optional<RowVersion>> VersionReader::FirstRewind(std::string_view row_key,
                                                             base::Position position) {
  rewinds_.Seek(store::RewindKey(row_key, base::Position{position.value + 1}));
  RETURN_IF_ERROR(rewinds_.status());
  if (!rewinds_.Valid() || !IsRewindOf(rewinds_.key(), row_key)) return std::optional<RowVersion>();
  ASSIGN_OR_RETURN(const store::VersionRecord record, store::DecodeVersion(rewinds_.value()));
  // A version that began after the position: the row did not exist yet.
  if (record.start.position > position) return std::optional<RowVersion>();
  return std::optional<RowVersion>(OwnVersion(record));
}

Result<std::optional<RowVersion>> VersionReader::EndedAt(base::TableOid table, std::string_view key,
                                                         base::Position end) {
  const std::string rewind_key = store::RewindKey(store::RowKey(table, key), end);
  ASSIGN_OR_RETURN(const auto value, store_->Get(Family::kRewind, rewind_key, snapshot_));
  if (!value) return std::optional<RowVersion>();
  ASSIGN_OR_RETURN(const store::VersionRecord record, store::DecodeVersion(*value));
  return std::optional<RowVersion>(OwnVersion(record));
}

Status VersionReader::Walk(base::TableOid table, std::string_view key, base::Position from, base::Position to,
                           const VersionCallback& callback) {
  const std::string row_key = store::RowKey(table, key);
  rewinds_.Seek(store::RewindKey(row_key, base::Position{from.value + 1}));
  for (; rewinds_.Valid() && IsRewindOf(rewinds_.key(), row_key); rewinds_.Next()) {
    const auto end = store::RewindKeyEnd(rewinds_.key());
    ASSIGN_OR_RETURN(const store::VersionRecord record, store::DecodeVersion(rewinds_.value()));
    if (record.start.position > to) return {};
    ASSIGN_OR_RETURN(const bool more, callback(OwnVersion(record), end));
    if (!more) return {};
  }
  RETURN_IF_ERROR(rewinds_.status());
  ASSIGN_OR_RETURN(const auto head, store_->Get(Family::kHead, row_key, snapshot_));
  std::optional<RowVersion> newest;
  if (head) {
    ASSIGN_OR_RETURN(const store::VersionRecord record, store::DecodeVersion(*head));
    newest = OwnVersion(record);
  } else {
    ASSIGN_OR_RETURN(newest, FromKeyframe(table, key));
  }
  if (!newest || newest->start.position > to) return {};
  RETURN_IF_ERROR(callback(*newest, std::nullopt));
  return {};
}

}  // namespace varve::history
