// SPDX-License-Identifier: PostgreSQL
// Writes valid messages for frame_fuzzer to start from, into the directory named by its argument.
#include <cstdio>
#include <fstream>
#include <string>

#include "tests/support/stream_builder.h"

namespace {

std::string OneTransaction() {
  using varve::stream::Op;
  varve::test::StreamBuilder builder;
  const varve::model::Relation relation = varve::test::KeyedRelation();
  builder.relations = {relation};
  builder.refs.emplace_back(relation.version.value, relation.oid.value, 0);
  builder.Add(Op::Insert, 0, 0, varve::test::KeyedImage(relation, 1, "a"));
  builder.Add(Op::Delete, 0, 1, {}, varve::test::KeyedImage(relation, 1, ""));
  builder.Commit(0x100, 700);
  return builder.Build();
}

// The hash in a relation guards it from the fuzzer: these columns let mutated images reach every reader of
// values.
std::string EveryType() {
  varve::test::StreamBuilder builder;
  varve::model::Relation relation = varve::test::KeyedRelation();
  const std::pair<uint32_t, uint16_t> types[] = {
      {16, 1},    {20, 8},    {21, 2},   {26, 4},   {700, 4},  {701, 8},  {1700, 0}, {1042, 0},
      {17, 0},    {114, 0},   {3802, 0}, {1082, 4}, {1083, 8}, {1114, 8}, {1184, 8}, {1266, 12},
      {1186, 16}, {2950, 16}, {1007, 0}, {1009, 0}, {1231, 0}, {1185, 0}, {19, 0},   {18, 1}};
  for (const auto& [oid, width] : types) {
    varve::model::Column column;
    column.attnum = ++relation.attribute_count;
    column.name = "c" + std::to_string(column.attnum);
    column.type_oid = column.base_type_oid = oid;
    column.form = varve::model::Form::kBinary;
    column.width = width;
    relation.columns.push_back(column);
  }
  relation.version = varve::model::ComputeVersion(relation);
  std::vector<varve::model::Cell> cells(relation.attribute_count);
  const std::string zeros(32, '\0');
  for (const varve::model::Column& column : relation.columns) {
    const size_t length = column.width == 0 ? 20 : column.width;
    cells[column.attnum - 1] = {varve::model::CellKind::kValue, std::string_view(zeros).substr(0, length)};
  }
  std::string image;
  varve::model::EncodeImage(relation, cells, &image);
  builder.relations = {relation};
  builder.refs.emplace_back(relation.version.value, relation.oid.value, 0);
  builder.Add(varve::stream::Op::Insert, 0, 0, image);
  builder.Commit(0x100, 700);
  return builder.Build();
}

// Pieces of the options streaming and two_phase: two streamed blocks, a rollback, a commit; a prepared one.
std::string Staged() {
  using varve::stream::Op;
  varve::test::StreamBuilder builder;
  const varve::model::Relation relation = varve::test::KeyedRelation();
  builder.relations = {relation};
  builder.refs.emplace_back(relation.version.value, relation.oid.value, 0);
  builder.Add(Op::Insert, 0, 0, varve::test::KeyedImage(relation, 1, "a"));
  builder.Commit(700, 700).mutate_flags(8 | 1);
  builder.Add(Op::Insert, 0, 1, varve::test::KeyedImage(relation, 2, "b"));
  builder.Commit(701, 700).mutate_flags(8);
  builder.Commit(701, 700).mutate_flags(8 | 16);
  builder.Commit(0x100, 700).mutate_flags(8 | 2);
  builder.Add(Op::Gid, 65535, 0, "gid");
  builder.Commit(0x90, 702).mutate_flags(32 | 3);
  builder.Add(Op::Gid, 65535, 0, "gid");
  builder.Commit(0x200, 702).mutate_flags(64 | 3);
  return builder.Build();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: make_corpus DIRECTORY\n");
    return 2;
  }
  const std::string directory = argv[1];
  std::ofstream(directory + "/one_transaction", std::ios::binary) << OneTransaction();
  std::ofstream(directory + "/every_type", std::ios::binary) << EveryType();
  std::ofstream(directory + "/staged", std::ios::binary) << Staged();
  return 0;
}
