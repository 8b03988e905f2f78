// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sidecar/base/result.h"
#include "sidecar/model/relation.h"
#include "sidecar/pg/connection.h"

namespace varve::ingest {

// What tells that a table is still the one that a snapshot saw: another file after TRUNCATE or a rewrite,
// another signature after a change of its columns, or of what its partitions are.
struct TableStamp {
  uint32_t file_node = 0;
  std::string signature;
  bool operator==(const TableStamp&) const = default;
};

// What holds rows of a table: the table itself, or a partition.
struct CopySource {
  std::string schema;
  std::string name;
  uint64_t pages = 0;  // of its main fork, now
};

struct CatalogTable {
  model::Relation relation;
  TableStamp stamp;
  std::vector<CopySource> sources;
  int64_t rows_estimate = 0;
};

// Reads the relations of these tables as the connection's snapshot has them, equal to what the output plugin
// sends (model::ComputeVersion agrees). REQUIRES: an open transaction with PinSettings. Tables that the
// snapshot does not have are left out.
base::Result<std::vector<CatalogTable>> ReadRelations(pg::Connection* connection,
                                                      const std::vector<uint32_t>& oids);

// The stamps of tables, each as this connection's snapshot has it; nothing for a table that is gone.
base::Result<std::map<uint32_t, TableStamp>> ReadStamps(pg::Connection* connection,
                                                        const std::vector<uint32_t>& oids);

// The settings under which text forms are printed (schemas/README.md), for the session.
base::Status PinSettings(pg::Connection* connection);

// What COPY (…) must select to give a column in its form.
std::string SelectExpression(const model::Column& column);
// Whether rows of the first copy have a cell for the column: all but virtual generated ones.
bool IsStored(const model::Column& column);

}  // namespace varve::ingest
