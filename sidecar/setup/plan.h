// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <string>
#include <vector>

#include "sidecar/base/result.h"
#include "sidecar/pg/server_state.h"
#include "sidecar/setup/setup.h"

namespace varve::setup {

// What init will do to the publication.
struct Plan {
  std::vector<pg::TableFacts> add;
  std::vector<pg::TableFacts> foreign;  // could be followed, were they this role's to add
  std::vector<LeftOutTable> left_out;
  std::vector<std::string> already;  // in the publication
};

// What the plan depends on besides the patterns.
struct PlanFacts {
  const pg::Publication* publication = nullptr;
  const std::vector<pg::TableFacts>* relations = nullptr;  // of users, of every kind
  std::string user;
  std::string
      history;  // what shows that there is one, e.g. "slot varve exists"; empty: this is the first setup
};

// Errors: kInvalidArgument for a pattern that fits nothing, or a name whose table cannot be followed;
// kConflict when tables are asked for that a history would lack.
base::Result<Plan> MakePlan(const PlanFacts& facts, const std::vector<std::string>& patterns);

}  // namespace varve::setup
