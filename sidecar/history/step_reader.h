// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <deque>
#include <optional>
#include <utility>

#include "sidecar/history/catalog.h"
#include "sidecar/history/history.h"
#include "sidecar/history/row_mapper.h"
#include "sidecar/history/transaction_reader.h"
#include "sidecar/history/version_reader.h"
#include "sidecar/store/store.h"

namespace varve::history {

// Walks every step of a stretch of history in order: rows, truncates, messages, and between them what became
// of the tables' schemas. Borrows everything. One thread.
class StepReader {
 public:
  StepReader(const store::Store* store, const store::Snapshot* snapshot, const Catalog* catalog,
             const ReadPoint& first);

  // Steps in (from, to], of one table or of all, with messages.
  base::Status Walk(base::Position from, base::Position to, std::optional<base::TableOid> table,
                    const ChangeCallback& callback);

 private:
  using SchemaEvent = std::pair<base::TableOid, TableEvent>;

  void CollectEvents(base::Position from, base::Position to, std::optional<base::TableOid> table);
  // Shows the schema events at or before the place; false: stop.
  base::Result<bool> ShowEvents(store::Place up_to, const ChangeCallback& callback);
  base::Result<bool> ShowEvent(const SchemaEvent& event, const ChangeCallback& callback);
  base::Result<bool> ShowStep(store::Place place, const store::LogRecord& record,
                              const ChangeCallback& callback);
  base::Result<bool> ShowRow(store::Place place, const store::LogRecord& record, ChangeView* view,
                             const ChangeCallback& callback);
  // The transaction at the position, remembered for the next call.
  base::Result<ReadPoint> PointAt(base::Position position);

  const store::Store* store_;
  const store::Snapshot* snapshot_;
  const Catalog* catalog_;
  ReadPoint point_;
  VersionReader versions_;
  TransactionReader transactions_;
  RowPainter painter_;
  std::deque<SchemaEvent> events_;
};

// The error that tells why the rows of a table were no longer known, in words for a step.
std::string DescribeStop(const Catalog& catalog, base::TableOid table, const TableEvent& event);

}  // namespace varve::history
