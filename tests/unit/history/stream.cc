// SPDX-License-Identifier: PostgreSQL
#include "tests/unit/history/stream.h"

#include <algorithm>

#include "tests/support/catch.h"

namespace varve::test {

std::string Int4(int32_t value) {
  const auto bits = static_cast<uint32_t>(value);
  std::string out;
  for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<char>(bits >> shift));
  return out;
}

model::Column MakeColumn(uint16_t attnum, const std::string& name, uint32_t type, uint16_t key_position) {
  model::Column column;
  column.attnum = attnum;
  column.name = name;
  column.type_oid = type;
  column.base_type_oid = type;
  column.form = model::Form::kBinary;
  column.width = type == kInt4 ? 4 : 0;
  column.key_position = key_position;
  column.not_null = key_position != 0;
  return column;
}

RelationPtr MakeRelation(uint32_t oid, const std::string& name, std::vector<model::Column> columns,
                         uint16_t attribute_count, char identity) {
  auto relation = std::make_shared<model::Relation>();
  relation->oid = base::TableOid{oid};
  relation->schema = "public";
  relation->name = name;
  relation->identity = identity;
  relation->attribute_count = attribute_count;
  for (const model::Column& column : columns) {
    relation->attribute_count = std::max(relation->attribute_count, column.attnum);
  }
  relation->columns = std::move(columns);
  for (const auto& [type_oid, type_name] : {std::pair{kInt4, "int4"}, std::pair{kText, "text"}}) {
    model::Type type;
    type.oid = type_oid;
    type.schema = "pg_catalog";
    type.name = type_name;
    relation->types.push_back(type);
  }
  relation->version = model::ComputeVersion(*relation);
  return relation;
}

RelationPtr Accounts(uint32_t oid, const std::string& name) {
  return MakeRelation(
      oid, name, {MakeColumn(1, "id", kInt4, 1), MakeColumn(2, "name", kText), MakeColumn(3, "note", kText)});
}

std::string ImageOf(const model::Relation& relation, const Cells& cells,
                    const std::map<uint16_t, model::CellKind>& kinds) {
  std::vector<model::Cell> out(relation.attribute_count);
  for (const model::Column& column : relation.columns) {
    model::Cell& cell = out[column.attnum - 1];
    const auto value = cells.find(column.attnum);
    if (value == cells.end()) continue;
    cell.kind = value->second ? model::CellKind::kValue : model::CellKind::kNull;
    if (value->second) cell.value = *value->second;
    const auto kind = kinds.find(column.attnum);
    if (kind != kinds.end()) cell = model::Cell{kind->second, {}};
  }
  std::string image;
  model::EncodeImage(relation, out, &image);
  return image;
}

std::string ImageOf(const model::Relation& relation, const Cells& cells) {
  return ImageOf(relation, cells, {});
}

std::string KeyOf(const model::Relation& relation, const Cells& cells) {
  const std::string image = ImageOf(relation, cells);
  const auto decoded = model::DecodeImage(relation, image);
  REQUIRE(decoded.has_value());
  const auto key = types::EncodeKey(relation, *decoded);
  REQUIRE(key.has_value());
  return *key;
}

Cells CellsOf(const model::Relation& relation, const std::vector<model::Cell>& cells) {
  Cells out;
  for (const model::Column& column : relation.columns) {
    const model::Cell& cell = cells.at(column.attnum - 1);
    if (cell.kind == model::CellKind::kAbsent) continue;
    REQUIRE(cell.kind != model::CellKind::kUnchanged);
    out[column.attnum] =
        cell.kind == model::CellKind::kNull ? std::nullopt : std::optional<std::string>(cell.value);
  }
  return out;
}

Cells CellsOf(const history::Row& row) { return CellsOf(*row.relation, *row.cells); }

Cells KeyCells(const model::Relation& relation, const Cells& cells) {
  Cells key;
  for (const model::Column* column : relation.KeyColumns()) key[column->attnum] = cells.at(column->attnum);
  return key;
}

TestTransaction& TestTransaction::Insert(const RelationPtr& relation, const Cells& cells) {
  changes.push_back({model::Op::kInsert, relation->oid, relation, ImageOf(*relation, cells), {}});
  return *this;
}

TestTransaction& TestTransaction::Update(const RelationPtr& relation, const Cells& cells,
                                         const std::optional<Cells>& old_cells) {
  TestChange change{model::Op::kUpdate, relation->oid, relation, ImageOf(*relation, cells), {}};
  if (old_cells) change.old_image = ImageOf(*relation, KeyCells(*relation, *old_cells));
  changes.push_back(std::move(change));
  return *this;
}

TestTransaction& TestTransaction::Delete(const RelationPtr& relation, const Cells& cells) {
  changes.push_back(
      {model::Op::kDelete, relation->oid, relation, {}, ImageOf(*relation, KeyCells(*relation, cells))});
  return *this;
}

TestTransaction& TestTransaction::Table(model::Op op, const RelationPtr& relation) {
  changes.push_back({op, relation->oid, relation, {}, {}});
  return *this;
}

TestTransaction& TestTransaction::Rewrite(const RelationPtr& relation, const std::vector<Cells>& rows) {
  Table(model::Op::kRewrite, relation);
  changes.back().rewrite_rows = true;
  for (const Cells& row : rows) {
    changes.push_back({model::Op::kRewriteRow, relation->oid, relation, ImageOf(*relation, row), {}});
  }
  return *this;
}

TestTransaction& TestTransaction::Gone(model::Op op, uint32_t oid) {
  changes.push_back({op, base::TableOid{oid}, nullptr, {}, {}});
  return *this;
}

TestTransaction& TestTransaction::Message(const std::string& prefix, const std::string& content,
                                          bool transactional) {
  changes.push_back({model::Op::kMessage, {}, nullptr, content, prefix, false, transactional});
  return *this;
}

model::Batch PieceOf(const TestTransaction& transaction, size_t first, size_t count) {
  model::Batch batch;
  model::TransactionPiece piece;
  piece.end_lsn = base::Lsn{transaction.lsn};
  piece.commit_time = base::Timestamp{transaction.time};
  piece.xid = transaction.xid;
  piece.count = count;
  piece.begin = first == 0;
  piece.commit = first + count == transaction.changes.size();
  piece.non_transactional = transaction.non_transactional;
  if (piece.commit) piece.origin = transaction.origin;
  batch.pieces.push_back(piece);
  for (size_t i = first; i < first + count; ++i) {
    const TestChange& change = transaction.changes[i];
    model::Change out;
    out.op = change.op;
    out.seq = base::Seq{static_cast<uint32_t>(i)};
    out.table = change.table;
    out.relation = change.relation.get();
    out.new_image = change.new_image;
    out.old_image = change.old_image;
    out.old_is_full = change.old_is_full;
    out.message_transactional = change.transactional;
    out.rewrite_rows = change.rewrite_rows;
    batch.changes.push_back(out);
    if (change.relation != nullptr) batch.keep_alive.push_back(change.relation);
  }
  return batch;
}

base::Status AppendWhole(history::History* history, const TestTransaction& transaction) {
  return history->Append(PieceOf(transaction, 0, transaction.changes.size()));
}

history::Identity SampleIdentity() { return history::Identity{7, 1, 5, "shop", "varve", "varve", "UTF8"}; }

std::unique_ptr<history::History> OpenHistory(const std::string& directory, const base::Clock* clock,
                                              uint64_t pending_bytes_max) {
  history::Options options;
  options.data_dir = directory;
  options.memory_bytes = uint64_t{32} << 20;
  options.pending_bytes_max = pending_bytes_max;
  options.head_cache_bytes_max = 2000;
  auto history = history::History::Open(options, clock);
  if (!history) FAIL(history.error().message);
  return std::move(*history);
}

base::Status CopyTables(history::History* history,
                        const std::vector<std::pair<RelationPtr, std::vector<Cells>>>& tables) {
  RETURN_IF_ERROR(history->BeginBaseline(SampleIdentity()));
  for (const auto& [relation, rows] : tables) {
    RETURN_IF_ERROR(history->AddBaselineTable(*relation));
    for (const Cells& row : rows) {
      RETURN_IF_ERROR(history->AddBaselineRow(relation->oid, ImageOf(*relation, row)));
    }
  }
  return history->FinishBaseline(base::Position{kFirstLsn}, base::Timestamp{kFirstTime});
}

}  // namespace varve::test
