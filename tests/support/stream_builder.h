// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sidecar/model/change.h"
#include "sidecar/model/relation.h"
#include "sidecar/model/row_image.h"
#include "stream_generated.h"

namespace varve::test {

// Builds messages as the plugin does, with every field open to forgery.
struct StreamBuilder {
  uint64_t session_high = 1;
  uint64_t session_low = 2;
  uint64_t sequence = 0;
  std::vector<model::Relation> relations;
  std::vector<stream::RelationRef> refs;
  std::vector<stream::Transaction> transactions;
  std::vector<stream::Change> changes;
  std::vector<stream::Origin> origins;
  std::string heap;
  bool handshake = true;

  // Adds a change whose images go to the heap; returns it for forging.
  stream::Change& Add(stream::Op op, uint16_t relation, uint32_t seq, std::string_view new_image = {},
                      std::string_view old_image = {});
  // The changes added since the last call become one whole transaction.
  stream::Transaction& Commit(uint64_t end_lsn, uint32_t xid);
  // The last transaction comes from elsewhere.
  stream::Origin& From(uint32_t id, std::string_view name, uint64_t lsn);
  std::string Build() const;
};

// A table with an int4 key "id" and a text column "v", its version computed.
model::Relation KeyedRelation(uint32_t oid = 16385);
// The image of one of its rows.
std::string KeyedImage(const model::Relation& relation, int32_t id, std::string_view v);

}  // namespace varve::test
