// SPDX-License-Identifier: PostgreSQL
#include "sidecar/history/records.h"

namespace varve::history {

store::ReadPointRecord RecordOf(const ReadPoint& point) {
  return store::ReadPointRecord{point.position, point.commit_time, point.xid};
}

ReadPoint PointOf(const store::ReadPointRecord& record) {
  return ReadPoint{record.position, record.commit_time, record.xid};
}

ReadPoint PointOf(base::Position position, const store::TransactionRecord& record) {
  ReadPoint point{position, record.commit_time, std::nullopt};
  if (!record.non_transactional) point.xid = record.xid;
  return point;
}

std::string EncodePublished(const Published& published) {
  return store::EncodePublished(
      store::PublishedRecord{published.through, RecordOf(published.last), published.running_max});
}

base::Result<Published> DecodePublished(std::string_view bytes) {
  ASSIGN_OR_RETURN(const store::PublishedRecord record, store::DecodePublished(bytes));
  return Published{record.through, PointOf(record.last), record.running_max};
}

std::string EncodeIdentity(const Identity& identity) {
  return store::EncodeIdentity(store::IdentityRecord{identity.system_identifier, identity.timeline,
                                                     identity.database_oid, identity.database, identity.slot,
                                                     identity.publication, identity.encoding});
}

base::Result<Identity> DecodeIdentity(std::string_view bytes) {
  ASSIGN_OR_RETURN(store::IdentityRecord record, store::DecodeIdentity(bytes));
  return Identity{record.system_identifier,   record.timeline,        record.database_oid,
                  std::move(record.database), std::move(record.slot), std::move(record.publication),
                  std::move(record.encoding)};
}

TransactionInfo InfoOf(base::Position position, const store::TransactionRecord& record) {
  TransactionInfo info;
  info.point = PointOf(position, record);
  for (const auto& [table, counts] : record.tables) {
    info.tables[table] =
        TableCounts{counts.inserts, counts.updates, counts.deletes, counts.truncates, counts.definitions};
  }
  info.messages = record.messages;
  info.origin = record.origin;
  return info;
}

}  // namespace varve::history
