// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "tests/unit/history/stream.h"

namespace varve::test {

// A row as the model keeps it: its cells, and the key under which the running transaction found it.
struct ModelRow {
  Cells cells;
  std::string origin;
};

struct ModelTable {
  RelationPtr relation;  // as the stream last named it
  std::map<std::string, ModelRow> rows;
};

// A step as `show` should tell it.
struct ModelStep {
  model::Op op = model::Op::kInsert;
  base::TableOid table;
  std::optional<Cells> before;
  std::optional<Cells> after;
  std::string prefix;
};

// The whole database right after a transaction: every version of everything, kept in full.
struct ModelMoment {
  uint64_t lsn = 0;
  int64_t time = 0;
  uint32_t xid = 0;
  bool in_log = false;
  bool is_transaction = true;
  std::map<base::TableOid, ModelTable> tables;
  std::vector<ModelStep> steps;
};

// Shows cells under a later schema, as PostgreSQL does after ADD and DROP COLUMN.
Cells Convert(const Cells& cells, const model::Relation& from, const model::Relation& to);

// Makes up a history: rows of two tables with int4 and text keys, changes of keys, truncates, column DDL
// (as relation versions), rewrites, messages; and what the database was at each step.
class ReferenceModel {
 public:
  explicit ReferenceModel(uint32_t seed);

  const std::vector<std::pair<RelationPtr, std::vector<Cells>>>& copy() const { return copy_; }
  const std::vector<TestTransaction>& transactions() const { return transactions_; }
  // The first copy, then one for each transaction.
  const std::vector<ModelMoment>& moments() const { return moments_; }
  const ModelMoment& MomentAt(uint64_t lsn) const;
  // Every key that a table ever had.
  std::vector<std::string> Keys(base::TableOid table) const;

  void AddTransaction();

 private:
  uint32_t Random(uint32_t below) { return static_cast<uint32_t>(random_()) % below; }
  std::string RandomText();
  Cells RandomCells(const model::Relation& relation, const Cells& key);
  Cells RandomKey(base::TableOid table);
  base::TableOid RandomTable() { return base::TableOid{Random(2) == 0 ? 16384U : 16390U}; }

  void AddChange(TestTransaction* transaction);
  void InsertRow(TestTransaction* transaction, base::TableOid oid);
  void UpdateRow(TestTransaction* transaction, base::TableOid oid);
  void DeleteRow(TestTransaction* transaction, base::TableOid oid);
  void Truncate(TestTransaction* transaction, base::TableOid oid);
  void ChangeSchema(TestTransaction* transaction, base::TableOid oid);
  void RewriteTable(TestTransaction* transaction, base::TableOid oid);
  RelationPtr NextRelation(const model::Relation& relation);

  std::mt19937 random_;
  std::vector<std::pair<RelationPtr, std::vector<Cells>>> copy_;
  std::vector<TestTransaction> transactions_;
  std::vector<ModelMoment> moments_;
  std::map<base::TableOid, ModelTable> tables_;
  bool defined_ = false;  // the transaction at hand changed a table's definition
  std::vector<ModelStep> steps_;
  uint64_t lsn_ = kFirstLsn;
  uint32_t xid_ = 700;
  int64_t time_ = kFirstTime;
  int names_ = 0;
};

}  // namespace varve::test
