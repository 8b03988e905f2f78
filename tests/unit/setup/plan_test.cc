// SPDX-License-Identifier: PostgreSQL
#include "sidecar/setup/plan.h"

#include "tests/support/catch.h"

namespace varve::setup {
namespace {

pg::TableFacts Table(uint32_t oid, const std::string& name, char kind = 'r') {
  pg::TableFacts table;
  table.oid = oid;
  table.schema = "public";
  table.name = name;
  table.kind = kind;
  table.has_primary_key = true;
  table.is_owned = true;
  return table;
}

// What the tests ask of: two good tables, one without a key, one that is unlogged, a partitioned one, a view.
class World {
 public:
  World() {
    relations.push_back(Table(1, "orders"));
    relations.push_back(Table(2, "users"));
    relations.push_back(Table(3, "keyless"));
    relations.back().has_primary_key = false;
    relations.push_back(Table(4, "ul"));
    relations.back().persistence = 'u';
    relations.push_back(Table(5, "part", 'p'));
    relations.push_back(Table(6, "userview", 'v'));
  }
  base::Result<Plan> Make(const std::vector<std::string>& patterns) const {
    return MakePlan({&publication, &relations, "app", history}, patterns);
  }
  std::string Refused(const std::vector<std::string>& patterns, base::ErrorCode code) const {
    const auto plan = Make(patterns);
    REQUIRE_FALSE(plan);
    CHECK(plan.error().code == code);
    return plan.error().message;
  }

  pg::Publication publication;
  std::vector<pg::TableFacts> relations;
  std::string history;
};

std::vector<std::string> Added(const Plan& plan) {
  std::vector<std::string> names;
  for (const pg::TableFacts& table : plan.add) names.push_back(table.name);
  return names;
}

std::vector<std::string> LeftOut(const Plan& plan) {
  std::vector<std::string> names;
  for (const LeftOutTable& table : plan.left_out) names.push_back(table.table);
  return names;
}

bool Has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

using Names = std::vector<std::string>;

TEST_CASE("without patterns every table is followed, or left out with its reason") {
  const auto plan = World().Make({});
  REQUIRE(plan);
  CHECK(Added(*plan) == Names{"orders", "users"});
  CHECK(LeftOut(*plan) == Names{"public.keyless", "public.ul", "public.part"});
  CHECK(Has(plan->left_out[1].reason, "unlogged"));
  CHECK(Has(plan->left_out[2].reason, "partitioned"));
  for (const LeftOutTable& table : plan->left_out) CHECK_FALSE(table.remedy.empty());
}

TEST_CASE("partitions of what the publication has as one are not added for themselves") {
  World world;
  world.relations.push_back(Table(7, "part_1"));
  world.relations.back().ancestors = {5};
  CHECK(Added(*world.Make({})) == Names{"orders", "users", "part_1"});
  world.publication.tables = {world.relations[4]};
  CHECK(Added(*world.Make({})) == Names{"orders", "users"});
  CHECK(world.Make({"part_1"})->add.empty());
}

TEST_CASE("a table with a generated column in its identity is added where that is published") {
  World world;
  world.relations[0].generated_identity = 's';
  CHECK(Added(*world.Make({})) == Names{"orders", "users"});
  world.publication.exists = true;
  CHECK(Added(*world.Make({})) == Names{"users"});
  world.publication.publishes_generated = true;
  CHECK(Added(*world.Make({})) == Names{"orders", "users"});
}

TEST_CASE("a table that is named and cannot be followed is refused with the reason") {
  const World world;
  CHECK(Has(world.Refused({"part"}, base::ErrorCode::kInvalidArgument), "partitioned"));
  CHECK(Has(world.Refused({"ul"}, base::ErrorCode::kInvalidArgument), "set logged"));
  CHECK(Has(world.Refused({"userview"}, base::ErrorCode::kInvalidArgument), "view"));
  CHECK(Has(world.Refused({"users", "keyless"}, base::ErrorCode::kInvalidArgument), "no primary key"));
  CHECK(Has(world.Refused({"nothing"}, base::ErrorCode::kInvalidArgument), "no table fits 'nothing'"));
  const auto plan = world.Make({"u*"});
  REQUIRE(plan);
  CHECK(Added(*plan) == Names{"users"});
  CHECK(LeftOut(*plan) == Names{"public.ul"});
}

TEST_CASE("once there is a history nothing is added to it") {
  World world;
  world.publication.exists = true;
  world.publication.tables = {world.relations[0]};
  world.history = "slot varve exists";
  CHECK(world.Make({"orders"}));
  const std::string refused = world.Refused({"users"}, base::ErrorCode::kConflict);
  CHECK(Has(refused, "public.users is not added: there is a history already (slot varve exists)"));
  CHECK(Has(refused, "varve detach"));
  const auto again = world.Make({});
  REQUIRE(again);
  CHECK(again->add.empty());
  CHECK(LeftOut(*again) == Names{"public.users", "public.keyless", "public.ul", "public.part"});
}

TEST_CASE("tables of others are named apart") {
  World world;
  world.relations[1].is_owned = false;
  const auto plan = world.Make({"orders", "users"});
  REQUIRE(plan);
  CHECK(Added(*plan) == Names{"orders"});
  REQUIRE(plan->foreign.size() == 1);
  CHECK(plan->foreign[0].name == "users");
  CHECK(Has(plan->left_out[0].reason, "role app does not own it"));
}

}  // namespace
}  // namespace varve::setup
