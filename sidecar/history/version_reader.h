// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "sidecar/base/ids.h"
#include "sidecar/base/result.h"
#include "sidecar/history/keyframe_reader.h"
#include "sidecar/store/record_format.h"
#include "sidecar/store/store.h"

namespace varve::history {

// A version of a row that the reader keeps.
struct RowVersion {
  store::Place start;
  bool tombstone = false;
  bool moved = false;
  base::RelationVersion version;
  std::string previous_key;
  std::string image;
};
RowVersion OwnVersion(const store::VersionRecord& record);

// Finds the version of a row at a position: the head when it is old enough, else the rewind that ends first
// after the position; a row without a head is as the first copy has it. Knows nothing of TRUNCATE. Borrows
// the store and the snapshot. One thread.
class VersionReader {
 public:
  VersionReader(const store::Store* store, const store::Snapshot* snapshot, base::Position first);

  // Nothing when the row did not exist yet; it may be a tombstone. Errors: kInternal.
  base::Result<std::optional<RowVersion>> At(base::TableOid table, std::string_view key,
                                             base::Position position);
  // The version that ended exactly at the position. Errors: kInternal.
  base::Result<std::optional<RowVersion>> EndedAt(base::TableOid table, std::string_view key,
                                                  base::Position end);
  // The version that ended first after the position, without a look at the head; nothing when none ended.
  // `row_key` as store::RowKey makes it.
  base::Result<std::optional<RowVersion>> FirstRewind(std::string_view row_key, base::Position position);

  // The versions of the key that were there at `from` or began up to `to`, oldest first, each with the
  // position where it ended (none: it is the newest). The callback's false ends the walk.
  using VersionCallback =
      std::function<base::Result<bool>(const RowVersion& version, std::optional<base::Position> end)>;
  base::Status Walk(base::TableOid table, std::string_view key, base::Position from, base::Position to,
                    const VersionCallback& callback);

 private:
  base::Result<std::optional<RowVersion>> FromKeyframe(base::TableOid table, std::string_view key);

  const store::Store* store_;
  const store::Snapshot* snapshot_;
  base::Position first_;
  KeyframeReader keyframe_;
  store::Iterator rewinds_;
};

}  // namespace varve::history
