// SPDX-License-Identifier: PostgreSQL
#include "sidecar/store/error.h"

#include <string>

#include <fmt/format.h>
#include <rocksdb/status.h>

namespace varve::store {

using base::Error;
using base::ErrorCode;

Error ErrorOf(const rocksdb::Status& status, std::string_view doing) {
  const std::string text = status.ToString();
  if (status.IsNoSpace() || status.subcode() == rocksdb::Status::kSpaceLimit) {
    return Error{ErrorCode::kStoreFull, fmt::format("cannot {}: the disk is full ({}); free space, then "
                                                    "start varved again: PostgreSQL sends again what is "
                                                    "missing",
                                                    doing, text)};
  }
  // RocksDB has no code for a held lock, only these words (env/fs_posix.cc, LockFile).
  if (status.IsIOError() && (text.find("While lock file") != std::string::npos ||
                             text.find("lock hold by current process") != std::string::npos)) {
    return Error{ErrorCode::kUnavailable, fmt::format("another varved holds this store ({})", text)};
  }
  if (status.IsCorruption()) {
    return Error{ErrorCode::kInternal, fmt::format("cannot {}: the store is damaged ({})", doing, text)};
  }
  return Error{ErrorCode::kInternal, fmt::format("cannot {}: {}", doing, text)};
}

}  // namespace varve::store
