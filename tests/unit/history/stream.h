// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sidecar/base/clock.h"
#include "sidecar/history/history.h"
#include "sidecar/model/change.h"
#include "sidecar/model/relation.h"
#include "sidecar/types/key.h"

namespace varve::test {

// A row as a test thinks of it: values by attnum, nothing for null.
using Cells = std::map<uint16_t, std::optional<std::string>>;
using RelationPtr = std::shared_ptr<const model::Relation>;

inline constexpr uint32_t kInt4 = 23;
inline constexpr uint32_t kText = 25;

std::string Int4(int32_t value);

model::Column MakeColumn(uint16_t attnum, const std::string& name, uint32_t type, uint16_t key_position = 0);
// Columns by attnum; gaps are dropped columns. Computes the version.
RelationPtr MakeRelation(uint32_t oid, const std::string& name, std::vector<model::Column> columns,
                         uint16_t attribute_count = 0, char identity = 'd');
// accounts(id int4 primary key, name text, note text)
RelationPtr Accounts(uint32_t oid = 16384, const std::string& name = "accounts");

std::string ImageOf(const model::Relation& relation, const Cells& cells);
// The same, with the cells of these attnums marked unchanged, or absent.
std::string ImageOf(const model::Relation& relation, const Cells& cells,
                    const std::map<uint16_t, model::CellKind>& kinds);
std::string KeyOf(const model::Relation& relation, const Cells& cells);
Cells CellsOf(const model::Relation& relation, const std::vector<model::Cell>& cells);
Cells CellsOf(const history::Row& row);

// One change and the bytes it points to.
struct TestChange {
  model::Op op = model::Op::kInsert;
  base::TableOid table;
  RelationPtr relation;
  std::string new_image;
  std::string old_image;
  bool old_is_full = false;
  bool transactional = true;
  bool rewrite_rows = false;
};

struct TestTransaction {
  uint64_t lsn = 0;
  uint32_t xid = 0;
  int64_t time = 0;
  bool non_transactional = false;
  std::vector<TestChange> changes;
  std::optional<model::Origin> origin;

  base::Position position() const { return base::Position{lsn}; }

  TestTransaction& Insert(const RelationPtr& relation, const Cells& cells);
  // `old_cells`: the key when it changes.
  TestTransaction& Update(const RelationPtr& relation, const Cells& cells,
                          const std::optional<Cells>& old_cells = std::nullopt);
  TestTransaction& Delete(const RelationPtr& relation, const Cells& cells);
  TestTransaction& Table(model::Op op, const RelationPtr& relation);
  // A rewrite and the rows that it wrote.
  TestTransaction& Rewrite(const RelationPtr& relation, const std::vector<Cells>& rows);
  TestTransaction& Gone(model::Op op, uint32_t oid);
  TestTransaction& Message(const std::string& prefix, const std::string& content, bool transactional = true);
};

// A batch of one piece: changes [first, first + count) of the transaction, which must outlive it.
model::Batch PieceOf(const TestTransaction& transaction, size_t first, size_t count);
// Appends the whole transaction as one piece.
base::Status AppendWhole(history::History* history, const TestTransaction& transaction);

// Only the key columns of the cells.
Cells KeyCells(const model::Relation& relation, const Cells& cells);

class FixedClock : public base::Clock {
 public:
  base::Timestamp Now() const override { return base::Timestamp{now}; }
  std::chrono::steady_clock::time_point Steady() const override { return std::chrono::steady_clock::now(); }
  int64_t now = int64_t{1} << 50;
};

inline constexpr uint64_t kFirstLsn = 1000;
inline constexpr int64_t kFirstTime = 1'000'000;

history::Identity SampleIdentity();
// By default almost every change is written before its transaction is published.
std::unique_ptr<history::History> OpenHistory(const std::string& directory, const base::Clock* clock,
                                              uint64_t pending_bytes_max = 200);
// Makes the first copy at kFirstLsn.
base::Status CopyTables(history::History* history,
                        const std::vector<std::pair<RelationPtr, std::vector<Cells>>>& tables);

}  // namespace varve::test
