// SPDX-License-Identifier: PostgreSQL
#include "sidecar/model/relation.h"

#include "tests/support/catch.h"

namespace varve::model {
namespace {

Relation MakeRelation() {
  Relation relation;
  relation.oid = base::TableOid{16385};
  relation.schema = "public";
  relation.name = "accounts";
  relation.attribute_count = 3;
  relation.columns.resize(2);
  relation.columns[0].attnum = 1;
  relation.columns[0].name = "id";
  relation.columns[0].key_position = 2;
  relation.columns[1].attnum = 3;
  relation.columns[1].name = "region";
  relation.columns[1].key_position = 1;
  relation.columns[1].identity_position = 1;
  return relation;
}

}  // namespace

TEST_CASE("the key follows the index order, and the identity index where it is chosen") {
  Relation relation = MakeRelation();
  REQUIRE(relation.KeyColumns().size() == 2);
  REQUIRE(relation.KeyColumns()[0]->name == "region");
  relation.identity = 'i';
  REQUIRE(relation.KeyColumns().size() == 1);
  REQUIRE(relation.KeyColumns()[0]->name == "region");
}

TEST_CASE("columns are found by name and by attnum") {
  const Relation relation = MakeRelation();
  REQUIRE(relation.FindAttnum(3)->name == "region");
  REQUIRE(relation.FindAttnum(2) == nullptr);
  REQUIRE(relation.FindColumn("id")->attnum == 1);
  REQUIRE(relation.FindColumn("ID") == nullptr);
}

TEST_CASE("the relation version depends on each part of its canonical form and on nothing else") {
  const Relation relation = MakeRelation();
  const auto version = ComputeVersion(relation);
  const auto differs = [&](auto change) {
    Relation other = relation;
    change(&other);
    return ComputeVersion(other) != version;
  };
  REQUIRE(differs([](Relation* r) { r->name = "account"; }));
  REQUIRE(differs([](Relation* r) { r->schema = "s"; }));
  REQUIRE(differs([](Relation* r) { r->oid.value = 1; }));
  REQUIRE(differs([](Relation* r) { r->identity = 'f'; }));
  REQUIRE(differs([](Relation* r) { r->columns[0].name = "i"; }));
  REQUIRE(differs([](Relation* r) { r->columns[0].type_oid = 23; }));
  REQUIRE(differs([](Relation* r) { r->columns[0].base_type_oid = 23; }));
  REQUIRE(differs([](Relation* r) { r->columns[0].typmod = 14; }));
  REQUIRE(differs([](Relation* r) { r->columns[0].form = Form::kBinary; }));
  REQUIRE(differs([](Relation* r) { r->columns[0].not_null = true; }));
  REQUIRE_FALSE(differs([](Relation* r) { r->columns[0].missing = "7"; }));
  REQUIRE_FALSE(differs([](Relation* r) { r->columns[0].default_expression = "7"; }));
  REQUIRE_FALSE(differs([](Relation* r) { r->types.resize(1); }));
  Relation composite = relation;
  composite.types.resize(2);
  composite.types[0] = {16400, "public", "pair", 'c', 0, ',', {{"a", 23}}, false};
  composite.types[1] = {16399, "public", "other", 'c', 0, ',', {}, false};
  Relation renamed = composite;
  renamed.types[0].fields[0].name = "b";
  REQUIRE(ComputeVersion(renamed) != ComputeVersion(composite));
  Relation turned = composite;
  std::swap(turned.types[0], turned.types[1]);
  REQUIRE(ComputeVersion(turned) == ComputeVersion(composite));
}

}  // namespace varve::model
