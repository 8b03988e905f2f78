// SPDX-License-Identifier: PostgreSQL
#include "tests/unit/types/fuzz_values.h"

#include "sidecar/base/check.h"
#include "sidecar/types/json.h"
#include "sidecar/types/key.h"
#include "sidecar/types/oids.h"
#include "tests/unit/types/sample_relation.h"

namespace varve::types {
namespace {

constexpr uint32_t kUserOid = 20000;

// One relation a type: the binary types, their arrays, text-form ones and a tree of user types.
std::vector<model::Relation> MakeRelations() {
  std::vector<model::Type> types(6);
  const char* kinds = "Acdbed";
  for (uint32_t i = 0; i < types.size(); ++i) {
    types[i].oid = kUserOid + i;
    types[i].kind = kinds[i];
    types[i].inner_oid = kUserOid + i + 1;
    types[i].name = i == 3 ? "hstore" : "user";
    types[i].json_cast = i == 3;
  }
  types[1].fields = {
      {"d", kUserOid + 2}, {"n", kNumericOid}, {"j", kJsonOid}, {"a", 1009}, {"t", kTimestamptzOid}};
  types[5].inner_oid = kUserOid;
  std::vector<model::Relation> relations;
  const auto add = [&](uint32_t oid) {
    relations.push_back(MakeRelation({{"v", oid}}));
    relations.back().types = types;
  };
  for (uint32_t oid = 0; oid < 6000; ++oid) {
    if (RepresentationOf(oid).form == model::Form::kBinary) add(oid);
  }
  for (const uint32_t oid : {kInetOid, kCidrOid, kMacaddrOid, kMoneyOid, kTidOid, kInt4RangeOid, kPgLsnOid,
                             kInt2VectorOid, kVarbitOid}) {
    add(oid);
  }
  for (const model::Type& type : types) add(type.oid);
  return relations;
}

// What reads as a key prints as one that reads back to the same bytes.
void FuzzWritten(const model::Relation& relation, std::string_view text) {
  (void)ParseKey(relation, text);
  const model::Column& column = relation.columns[0];
  const auto value = ParseValue(relation, column, text);
  if (!value) return;
  const std::vector<model::Cell> cells = {Value(*value)};
  const auto key = EncodeKey(relation, cells);
  std::string json;
  if (!key || !AppendKeyJson(relation, cells, &json)) return;
  const auto back = ParseKey(relation, json);
  CHECK(back.has_value() && *back == *key);
}

void FuzzBytes(const model::Relation& relation, std::string_view bytes) {
  const std::vector<model::Cell> cells = {Value(bytes)};
  std::string out;
  (void)AppendRowJson(relation, cells, &out);
  out.clear();
  (void)AppendValueText(relation, relation.columns[0], bytes, &out);
  out.clear();
  (void)AppendKeyJson(relation, cells, &out);
  if (const auto key = EncodeKey(relation, cells)) {
    CHECK(ValuesEqual(relation, relation.columns[0], bytes, bytes).value_or(false));
  }
}

}  // namespace

void FuzzValue(std::string_view bytes) {
  static const std::vector<model::Relation> relations = MakeRelations();
  if (bytes.size() < 2) return;
  const model::Relation& relation = relations[static_cast<uint8_t>(bytes[0]) % relations.size()];
  const std::string_view rest = bytes.substr(2);
  if ((bytes[1] & 1) != 0) {
    FuzzWritten(relation, rest);
  } else {
    FuzzBytes(relation, rest);
  }
}

}  // namespace varve::types
