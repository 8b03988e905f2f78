// SPDX-License-Identifier: PostgreSQL
#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "plugin/wire/wire.h"
#include "sidecar/model/relation.h"
#include "tests/support/catch.h"

namespace varve {
namespace {

VarveBytes BytesOf(const std::string& text) { return {text.data(), text.size()}; }

// The plugin's view of a relation: borrows from it.
struct PlainRelation {
  explicit PlainRelation(const model::Relation& from) {
    for (const model::Column& column : from.columns) {
      VarveColumn plain = {};
      plain.attnum = column.attnum;
      plain.name = BytesOf(column.name);
      plain.type_oid = column.type_oid;
      plain.base_type_oid = column.base_type_oid;
      plain.typmod = column.typmod;
      plain.form = static_cast<uint8_t>(column.form);
      plain.width = column.width;
      plain.key_position = column.key_position;
      plain.identity_position = column.identity_position;
      plain.not_null = column.not_null;
      plain.generated = static_cast<uint8_t>(column.generated);
      columns.push_back(plain);
    }
    relation.oid = from.oid.value;
    relation.schema = BytesOf(from.schema);
    relation.name = BytesOf(from.name);
    relation.identity = static_cast<uint8_t>(from.identity);
    relation.attribute_count = from.attribute_count;
    relation.columns = columns.data();
    relation.column_count = columns.size();
  }

  std::vector<VarveColumn> columns;
  VarveRelation relation = {};
};

uint64_t PluginVersion(const model::Relation& relation) {
  PlainRelation plain(relation);
  REQUIRE(varve_wire_set_version(&plain.relation) == VARVE_WIRE_OK);
  return plain.relation.version;
}

model::Relation RandomRelation(std::mt19937* random) {
  const auto number = [&](uint32_t below) { return (*random)() % below; };
  const auto text = [&](size_t length_max) {
    std::string out(number(static_cast<uint32_t>(length_max + 1)), ' ');
    std::generate(out.begin(), out.end(), [&] { return static_cast<char>(number(256)); });
    return out;
  };
  model::Relation relation;
  relation.oid.value = (*random)();
  relation.schema = text(63);
  relation.name = text(63);
  relation.identity = "difn"[number(4)];
  uint16_t attnum = 0;
  for (uint32_t count = number(40); count > 0; --count) {
    model::Column column;
    column.attnum = attnum = static_cast<uint16_t>(attnum + 1 + number(3));
    column.name = text(63);
    column.type_oid = (*random)();
    column.base_type_oid = (*random)();
    column.typmod = static_cast<int32_t>((*random)());
    column.form = static_cast<model::Form>(number(2));
    column.width = static_cast<uint16_t>(number(17));
    column.key_position = static_cast<uint16_t>(number(33));
    column.identity_position = static_cast<uint16_t>(number(33));
    column.not_null = number(2) == 1;
    column.generated = "\0sv"[number(3)];
    relation.columns.push_back(column);
  }
  relation.attribute_count = static_cast<uint16_t>(attnum + number(2));
  return relation;
}

}  // namespace

TEST_CASE("plugin and sidecar compute the same relation version") {
  const uint32_t seed = std::random_device()();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  for (int i = 0; i < 1000; ++i) {
    const model::Relation relation = RandomRelation(&random);
    REQUIRE(PluginVersion(relation) == model::ComputeVersion(relation).value);
  }
}

TEST_CASE("types, defaults and missing values do not change a relation version") {
  model::Relation relation;
  relation.oid.value = 16384;
  relation.schema = "public";
  relation.name = "t";
  relation.attribute_count = 1;
  relation.columns.resize(1);
  relation.columns[0].attnum = 1;
  relation.columns[0].name = "id";
  PlainRelation plain(relation);
  VarveType type = {};
  plain.relation.types = &type;
  plain.relation.type_count = 1;
  plain.columns[0].default_expression = {"1", 1};
  plain.columns[0].missing = {"1", 1};
  REQUIRE(varve_wire_set_version(&plain.relation) == VARVE_WIRE_OK);
  REQUIRE(plain.relation.version == PluginVersion(relation));
  // ... but they make another description, which is sent again.
  const uint64_t description = plain.relation.description;
  const auto changed = [&] {
    REQUIRE(varve_wire_set_version(&plain.relation) == VARVE_WIRE_OK);
    return plain.relation.description != description;
  };
  REQUIRE_FALSE(changed());
  plain.columns[0].default_expression = {"2", 1};
  REQUIRE(changed());
  plain.columns[0].default_expression = {"1", 1};
  plain.columns[0].missing = {nullptr, 0};
  REQUIRE(changed());
  plain.columns[0].missing = {"1", 1};
  type.json_cast = true;
  REQUIRE(changed());
}

}  // namespace varve
