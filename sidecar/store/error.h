// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <string_view>

#include "sidecar/base/result.h"

namespace rocksdb {
class Status;
}  // namespace rocksdb

namespace varve::store {

// What a RocksDB error means to people; `doing` completes "cannot ...". REQUIRES: !status.ok().
base::Error ErrorOf(const rocksdb::Status& status, std::string_view doing);

}  // namespace varve::store
