// SPDX-License-Identifier: PostgreSQL
#include "tests/unit/history/reference_model.h"

#include <algorithm>
#include <set>

#include "tests/support/catch.h"

namespace varve::test {
namespace {

constexpr int32_t kKeySpace = 12;
constexpr uint32_t kTextKeyTable = 16390;

}  // namespace

Cells Convert(const Cells& cells, const model::Relation& from, const model::Relation& to) {
  Cells out;
  for (const model::Column& column : to.columns) {
    const auto found = cells.find(column.attnum);
    if (found != cells.end()) {
      out[column.attnum] = found->second;
    } else if (column.attnum > from.attribute_count) {
      out[column.attnum] = column.missing;
    }
  }
  return out;
}

ReferenceModel::ReferenceModel(uint32_t seed) : random_(seed) {
  const RelationPtr accounts = Accounts();
  // REPLICA IDENTITY FULL with a primary key of two columns: the key is the primary key all the same.
  const RelationPtr events = MakeRelation(
      kTextKeyTable, "events",
      {MakeColumn(1, "body", kText), MakeColumn(2, "kind", kText, 2), MakeColumn(4, "n", kInt4, 1)}, 0, 'f');
  for (const RelationPtr& relation : {accounts, events}) {
    tables_[relation->oid].relation = relation;
    std::vector<Cells> rows;
    for (uint32_t i = Random(10); i > 0; --i) {
      const Cells row = RandomCells(*relation, RandomKey(relation->oid));
      if (tables_[relation->oid].rows.emplace(KeyOf(*relation, row), ModelRow{row, {}}).second) {
        rows.push_back(row);
      }
    }
    std::shuffle(rows.begin(), rows.end(), random_);
    copy_.emplace_back(relation, rows);
  }
  ModelMoment moment;
  moment.lsn = lsn_;
  moment.time = time_;
  moment.tables = tables_;
  moments_.push_back(std::move(moment));
}

std::string ReferenceModel::RandomText() {
  std::string text(Random(30), 'x');
  for (char& letter : text) letter = static_cast<char>('a' + Random(26));
  return text;
}

Cells ReferenceModel::RandomKey(base::TableOid table) {
  const std::string number = Int4(static_cast<int32_t>(Random(kKeySpace)) - kKeySpace / 2);
  if (table.value != kTextKeyTable) return {{1, number}};
  return {{4, number}, {2, Random(2) == 0 ? "a" : "ab"}};
}

Cells ReferenceModel::RandomCells(const model::Relation& relation, const Cells& key) {
  Cells cells = key;
  for (const model::Column& column : relation.columns) {
    if (cells.count(column.attnum) != 0) continue;
    if (Random(4) == 0) {
      cells[column.attnum] = std::nullopt;
    } else {
      cells[column.attnum] = column.type_oid == kInt4 ? Int4(static_cast<int32_t>(random_())) : RandomText();
    }
  }
  return cells;
}

const ModelMoment& ReferenceModel::MomentAt(uint64_t lsn) const {
  const auto behind =
      std::upper_bound(moments_.begin(), moments_.end(), lsn,
                       [](uint64_t at, const ModelMoment& moment) { return at < moment.lsn; });
  return *std::prev(behind);
}

std::vector<std::string> ReferenceModel::Keys(base::TableOid table) const {
  std::set<std::string> keys;
  for (const ModelMoment& moment : moments_) {
    for (const auto& [key, row] : moment.tables.at(table).rows) keys.insert(key);
  }
  return {keys.begin(), keys.end()};
}

void ReferenceModel::AddTransaction() {
  TestTransaction transaction;
  lsn_ += 2 + Random(50);
  transaction.lsn = lsn_;
  time_ += static_cast<int64_t>(Random(2000)) - 500;  // clocks step back, and stand still
  transaction.time = time_;
  steps_.clear();
  defined_ = false;
  for (auto& [oid, table] : tables_) {
    for (auto& [key, row] : table.rows) row.origin = key;
  }
  ModelMoment moment;
  if (Random(12) == 0) {
    transaction.non_transactional = true;
    transaction.time = 0;
    transaction.Message("note", RandomText(), false);
    steps_.push_back({model::Op::kMessage, {}, {}, {}, "note"});
    moment.is_transaction = false;
  } else {
    transaction.xid = ++xid_;
    for (uint32_t i = 1 + Random(8); i > 0; --i) AddChange(&transaction);
  }
  moment.lsn = lsn_;
  moment.time = transaction.time;
  moment.xid = transaction.xid;
  moment.in_log = moment.is_transaction && (defined_ || !steps_.empty());
  moment.tables = tables_;
  moment.steps = steps_;
  moments_.push_back(std::move(moment));
  transactions_.push_back(std::move(transaction));
}

void ReferenceModel::AddChange(TestTransaction* transaction) {
  const base::TableOid oid = RandomTable();
  switch (Random(17)) {
    case 16: return RewriteTable(transaction, oid);
    case 0: return Truncate(transaction, oid);
    case 1: return ChangeSchema(transaction, oid);
    case 2:
      transaction->Message("app", RandomText());
      steps_.push_back({model::Op::kMessage, {}, {}, {}, "app"});
      return;
    case 3:
    case 4:
    case 5:
    case 6: return InsertRow(transaction, oid);
    case 7:
    case 8: return DeleteRow(transaction, oid);
    default: return UpdateRow(transaction, oid);
  }
}

void ReferenceModel::InsertRow(TestTransaction* transaction, base::TableOid oid) {
  ModelTable& table = tables_[oid];
  const Cells cells = RandomCells(*table.relation, RandomKey(oid));
  const std::string key = KeyOf(*table.relation, cells);
  if (!table.rows.emplace(key, ModelRow{cells, key}).second) return;
  transaction->Insert(table.relation, cells);
  steps_.push_back({model::Op::kInsert, oid, {}, cells, {}});
}

void ReferenceModel::UpdateRow(TestTransaction* transaction, base::TableOid oid) {
  ModelTable& table = tables_[oid];
  if (table.rows.empty()) return;
  auto it = std::next(table.rows.begin(), Random(static_cast<uint32_t>(table.rows.size())));
  const ModelRow before = it->second;
  Cells key = KeyCells(*table.relation, before.cells);
  if (Random(4) == 0) key = RandomKey(oid);
  ModelRow after{RandomCells(*table.relation, key), before.origin};
  const std::string new_key = KeyOf(*table.relation, after.cells);
  if (new_key != it->first && table.rows.count(new_key) != 0) return;

  TestChange change{model::Op::kUpdate, oid, table.relation, {}, {}};
  std::map<uint16_t, model::CellKind> kinds;
  for (const model::Column& column : table.relation->columns) {
    const auto stored = before.cells.find(column.attnum);
    if (column.key_position != 0 || !stored->second || Random(3) != 0) continue;
    after.cells[column.attnum] = stored->second;
    kinds[column.attnum] = model::CellKind::kUnchanged;
  }
  change.new_image = ImageOf(*table.relation, after.cells, kinds);
  if (table.relation->identity == 'f') {
    change.old_image = ImageOf(*table.relation, before.cells);
    change.old_is_full = true;
  } else if (new_key != it->first || Random(4) == 0) {
    change.old_image = ImageOf(*table.relation, KeyCells(*table.relation, before.cells));
  }
  transaction->changes.push_back(std::move(change));
  steps_.push_back({model::Op::kUpdate, oid, before.cells, after.cells, {}});
  table.rows.erase(it);
  table.rows.emplace(new_key, after);
}

void ReferenceModel::DeleteRow(TestTransaction* transaction, base::TableOid oid) {
  ModelTable& table = tables_[oid];
  if (table.rows.empty()) return;
  auto it = std::next(table.rows.begin(), Random(static_cast<uint32_t>(table.rows.size())));
  transaction->Delete(table.relation, it->second.cells);
  steps_.push_back({model::Op::kDelete, oid, it->second.cells, {}, {}});
  table.rows.erase(it);
}

void ReferenceModel::Truncate(TestTransaction* transaction, base::TableOid oid) {
  if (Random(3) != 0) return;
  transaction->Table(model::Op::kTruncate, tables_[oid].relation);
  steps_.push_back({model::Op::kTruncate, oid, {}, {}, {}});
  tables_[oid].rows.clear();
}

RelationPtr ReferenceModel::NextRelation(const model::Relation& relation) {
  std::vector<model::Column> columns = relation.columns;
  uint16_t count = relation.attribute_count;
  const uint32_t kind = Random(4);
  std::vector<size_t> plain;
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].key_position == 0) plain.push_back(i);
  }
  if (kind <= 1 || plain.empty()) {
    model::Column column =
        MakeColumn(++count, "added" + std::to_string(++names_), Random(2) == 0 ? kInt4 : kText);
    if (kind == 1) column.missing = column.type_oid == kInt4 ? Int4(77) : "default";
    columns.push_back(column);
  } else if (kind == 2) {
    columns.erase(columns.begin() +
                  static_cast<std::ptrdiff_t>(plain[Random(static_cast<uint32_t>(plain.size()))]));
  } else {
    columns[Random(static_cast<uint32_t>(columns.size()))].name = "renamed" + std::to_string(++names_);
  }
  return MakeRelation(relation.oid.value, relation.name, columns, count, relation.identity);
}

void ReferenceModel::ChangeSchema(TestTransaction* transaction, base::TableOid oid) {
  ModelTable& table = tables_[oid];
  const RelationPtr next = NextRelation(*table.relation);
  for (auto& [key, row] : table.rows) row.cells = Convert(row.cells, *table.relation, *next);
  table.relation = next;
  defined_ = true;
  // Told by a change of its own, or only by the rows that come after it.
  if (Random(2) == 0) {
    transaction->Table(model::Op::kRelation, next);
    return;
  }
  const size_t changes = transaction->changes.size();
  while (transaction->changes.size() == changes) {
    InsertRow(transaction, oid);
    if (transaction->changes.size() == changes) DeleteRow(transaction, oid);
  }
}

// All rows in the order of a heap, some with other values; under another definition or not.
void ReferenceModel::RewriteTable(TestTransaction* transaction, base::TableOid oid) {
  ModelTable& table = tables_[oid];
  if (table.rows.empty()) return;
  if (Random(2) == 0) {
    const RelationPtr next = NextRelation(*table.relation);
    for (auto& [key, row] : table.rows) row.cells = Convert(row.cells, *table.relation, *next);
    table.relation = next;
    defined_ = true;
  }
  std::vector<std::string> keys;
  for (const auto& [key, row] : table.rows) keys.push_back(key);
  std::shuffle(keys.begin(), keys.end(), random_);
  std::vector<Cells> written;
  for (const std::string& key : keys) {
    ModelRow& row = table.rows.at(key);
    const Cells before = row.cells;
    if (Random(2) == 0) row.cells = RandomCells(*table.relation, KeyCells(*table.relation, before));
    written.push_back(row.cells);
    if (row.cells != before) steps_.push_back({model::Op::kUpdate, oid, before, row.cells, {}});
  }
  transaction->Rewrite(table.relation, written);
}

}  // namespace varve::test
