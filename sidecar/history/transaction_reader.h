// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <functional>
#include <optional>

#include "sidecar/base/result.h"
#include "sidecar/store/record_format.h"
#include "sidecar/store/store.h"

namespace varve::history {

struct TransactionEntry {
  base::Position position;
  store::TransactionRecord record;
};

// Looks up transactions. Borrows the store and the snapshot. One thread.
class TransactionReader {
 public:
  TransactionReader(const store::Store* store, const store::Snapshot* snapshot)
      : store_(store), snapshot_(snapshot) {}

  // Nothing when there is none at exactly this position. Errors: kInternal.
  base::Result<std::optional<TransactionEntry>> At(base::Position position) const;

  using Filter = std::function<bool(const TransactionEntry&)>;
  // The last one at or before the position that the filter accepts.
  base::Result<std::optional<TransactionEntry>> LastUpTo(base::Position position, const Filter& filter) const;

  // Those in (from, to]; the callback's false ends the walk.
  using Callback = std::function<base::Result<bool>(const TransactionEntry&)>;
  base::Status Walk(base::Position from, base::Position to, bool oldest_first,
                    const Callback& callback) const;

 private:
  const store::Store* store_;
  const store::Snapshot* snapshot_;
};

}  // namespace varve::history
