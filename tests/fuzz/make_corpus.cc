// SPDX-License-Identifier: PostgreSQL
// Writes valid messages for frame_fuzzer to start from, into the directory named by its argument.
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>

#include "sidecar/wire/decoder.h"
#include "sidecar/wire/head.h"
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

// One from here between two that replication has brought in, of which one origin has no name any more.
std::string Origins() {
  using varve::stream::Op;
  varve::test::StreamBuilder builder;
  const varve::model::Relation relation = varve::test::KeyedRelation();
  builder.relations = {relation};
  builder.refs.emplace_back(relation.version.value, relation.oid.value, 0);
  for (int32_t i = 0; i < 3; ++i) {
    builder.Add(Op::Insert, 0, 0, varve::test::KeyedImage(relation, i, "a"));
    builder.Commit(0x100 + static_cast<uint64_t>(i), 700 + static_cast<uint32_t>(i));
    if (i == 0) builder.From(1, "far", 0x123456789);
    if (i == 2) builder.From(2, "", 0);
  }
  return builder.Build();
}

// One transaction over two messages, then definitions, a rewrite with its rows and messages; only the first
// message of a session has a handshake.
std::string Session() {
  using varve::stream::Op;
  varve::test::StreamBuilder first;
  const varve::model::Relation relation = varve::test::KeyedRelation();
  first.relations = {relation};
  first.refs.emplace_back(relation.version.value, relation.oid.value, 0);
  first.Add(Op::Relation, 0, 0);
  first.Add(Op::Insert, 0, 1, varve::test::KeyedImage(relation, 1, "a"));
  first.Commit(0x100, 700).mutate_flags(1);
  varve::test::StreamBuilder second;
  second.sequence = 1;
  second.handshake = false;
  second.refs = first.refs;
  second.Add(Op::Update, 0, 2, varve::test::KeyedImage(relation, 2, "b"),
             varve::test::KeyedImage(relation, 1, ""));
  second.Add(Op::Message, 65535, 3, "content", "prefix").mutate_flags(2);
  second.Add(Op::Truncate, 0, 4);
  second.Commit(0x100, 700).mutate_flags(2);
  second.Add(Op::Message, 65535, 0, "lone", "prefix");
  second.Commit(0x180, 0).mutate_flags(7);
  varve::test::StreamBuilder third;
  third.sequence = 2;
  third.handshake = false;
  third.refs = first.refs;
  third.refs.emplace_back(0, relation.oid.value, 0);
  third.Add(Op::Untrack, 1, 0, "why");
  third.Add(Op::Drop, 1, 1);
  third.Commit(0x200, 701);
  return first.Build() + second.Build() + third.Build();
}

// A streamed transaction over two messages beside a whole one: what one says ends in the other.
std::string StagedSession() {
  using varve::stream::Op;
  varve::test::StreamBuilder first;
  const varve::model::Relation relation = varve::test::KeyedRelation();
  first.relations = {relation};
  first.refs.emplace_back(relation.version.value, relation.oid.value, 0);
  first.Add(Op::Insert, 0, 0, varve::test::KeyedImage(relation, 1, "a"));
  first.Commit(700, 700).mutate_flags(8 | 1);
  first.Add(Op::Insert, 0, 0, varve::test::KeyedImage(relation, 2, "b"));
  first.Commit(0x100, 702);
  varve::test::StreamBuilder second;
  second.sequence = 1;
  second.handshake = false;
  second.refs = first.refs;
  second.Add(Op::Insert, 0, 1, varve::test::KeyedImage(relation, 3, "c"));
  second.Commit(701, 700).mutate_flags(8);
  second.Commit(701, 700).mutate_flags(8 | 16);
  second.Add(Op::Gid, 65535, 2, "gid");
  second.Commit(0x180, 700).mutate_flags(8 | 32 | 2);
  second.Add(Op::Gid, 65535, 0, "gid");
  second.Commit(0x200, 700).mutate_flags(128 | 3);
  return first.Build() + second.Build();
}

// What stands in the COPY stream where batches go another way.
std::string Marker() {
  const std::string zeros(7, '\0');
  return "VRVM" + zeros + '\1' + zeros + '\2' + zeros + '\3';
}

// What the decoder refuses from the start is of no use to start from.
bool IsValid(std::string_view rest) {
  varve::wire::Decoder decoder(varve::wire::SessionId{1, 2}, true);
  while (!rest.empty()) {
    uint32_t body = 0;
    std::memcpy(&body, rest.data(), sizeof body);
    const auto batch = decoder.Decode(rest.substr(0, size_t{body} + 4));
    if (!batch) {
      std::fprintf(stderr, "make_corpus: %s\n", batch.error().message.c_str());
      return false;
    }
    rest.remove_prefix(size_t{body} + 4);
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: make_corpus DIRECTORY\n");
    return 2;
  }
  const std::string directory = argv[1];
  const std::pair<const char*, std::string> sessions[] = {{"one_transaction", OneTransaction()},
                                                          {"every_type", EveryType()},
                                                          {"staged", Staged()},
                                                          {"origins", Origins()},
                                                          {"session", Session()},
                                                          {"staged_session", StagedSession()}};
  for (const auto& [name, bytes] : sessions) {
    if (!IsValid(bytes)) return 1;
    std::ofstream(directory + "/" + name, std::ios::binary) << bytes;
  }
  if (!varve::wire::ReadMarker(Marker(), varve::wire::SessionId{1, 2})) return 1;
  std::ofstream(directory + "/marker", std::ios::binary) << Marker();
  return 0;
}
