// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "sidecar/base/result.h"
#include "sidecar/history/catalog.h"
#include "sidecar/model/change.h"
#include "sidecar/store/record_format.h"
#include "sidecar/store/store.h"

namespace varve::history {

// Walks what a staged transaction did, as if it had come whole: without what rolled back, of what was said of
// a table only what counts in the end, numbered anew. Borrows store and catalog, and sees what was written
// when it was opened. The applier's thread only. Fails with kInternal.
class StageReader {
 public:
  StageReader(const store::Store* store, const Catalog* catalog, uint64_t stage);

  base::Status Open();
  // Whether there is something left.
  bool Valid() const { return changes_.Valid(); }
  // The next changes, at least one and, beyond that, about this many bytes. REQUIRES: Valid().
  base::Result<model::Batch> Read(size_t bytes);

 private:
  base::Status ReadVoided();
  base::Status ReadDefinitions();
  // Goes on to the next change that counts, if this one does not.
  base::Status Settle();
  base::Result<model::Change> MakeChange(std::string_view bytes);
  store::Iterator Part(store::StagePart part) const;

  const store::Store* store_;
  const Catalog* catalog_;
  uint64_t stage_;
  std::set<uint32_t> voided_;       // subtransactions
  std::set<uint32_t> definitions_;  // seqs of those that count
  std::map<store::RelationId, RelationPtr> relations_;
  store::Iterator changes_;
  uint32_t next_seq_ = 0;
};

}  // namespace varve::history
