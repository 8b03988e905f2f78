// SPDX-License-Identifier: PostgreSQL
#include "sidecar/setup/plan.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "sidecar/pg/preflight.h"
#include "sidecar/setup/connect.h"
#include "sidecar/setup/pattern.h"

namespace varve::setup {

using base::ErrorCode;
using base::Fail;

namespace {

constexpr char kNewFirstCopy[] =
    "to have its history stop varved, varve detach, move the data directory away, run varve init, start "
    "varved: a new first copy (docs/operations.md)";

bool IsName(const std::string& pattern) { return pattern.find_first_of("*?") == std::string::npos; }

// A view and the like is in nobody's way: only who names one hears of it.
bool IsTable(const pg::TableFacts& table) { return table.kind == 'r' || table.kind == 'p'; }

// A partition whose root the publication has is followed with that.
bool IsPartOf(const pg::TableFacts& table, const std::set<uint32_t>& published) {
  return std::any_of(table.ancestors.begin(), table.ancestors.end(),
                     [&](uint32_t oid) { return published.count(oid) != 0; });
}

struct Choice {
  bool chosen = false;
  bool by_name = false;
};

Choice Choose(const std::vector<std::string>& patterns, const pg::TableFacts& table,
              std::set<std::string>* unused) {
  Choice choice;
  choice.chosen = patterns.empty() && IsTable(table);
  for (const std::string& pattern : patterns) {
    if (!FitsTablePattern(pattern, table.schema, table.name)) continue;
    if (!IsTable(table) && !IsName(pattern)) continue;
    choice.chosen = true;
    choice.by_name = choice.by_name || IsName(pattern);
    unused->erase(pattern);
  }
  return choice;
}

tl::unexpected<base::Error> CannotFollow(const pg::TableFacts& table, const pg::TableVerdict& verdict) {
  return Fail(ErrorCode::kInvalidArgument,
              WithRemedy(fmt::format("{} cannot be followed: {}", table.DisplayName(), verdict.reason),
                         verdict.remedy));
}

}  // namespace

base::Result<Plan> MakePlan(const PlanFacts& facts, const std::vector<std::string>& patterns) {
  Plan plan;
  std::set<uint32_t> present;
  for (const pg::TableFacts& table : facts.publication->tables) {
    present.insert(table.oid);
    plan.already.push_back(table.DisplayName());
  }
  std::set<std::string> unused(patterns.begin(), patterns.end());
  for (pg::TableFacts table : *facts.relations) {
    // A publication that is yet to be made publishes them.
    table.publishes_generated = !facts.publication->exists || facts.publication->publishes_generated;
    const Choice choice = Choose(patterns, table, &unused);
    if (!choice.chosen || present.count(table.oid) != 0 || IsPartOf(table, present)) continue;
    const pg::TableVerdict verdict = pg::JudgeTable(table);
    if (!verdict.usable) {
      if (choice.by_name) return CannotFollow(table, verdict);
      plan.left_out.push_back({table.DisplayName(), verdict.reason, verdict.remedy});
    } else if (!facts.history.empty()) {
      const std::string reason = fmt::format(
          "there is a history already ({}), and a table that is added now is not in its first copy",
          facts.history);
      if (!patterns.empty()) {
        return Fail(ErrorCode::kConflict,
                    fmt::format("{} is not added: {}; {}", table.DisplayName(), reason, kNewFirstCopy));
      }
      plan.left_out.push_back({table.DisplayName(), reason, kNewFirstCopy});
    } else if (!table.is_owned) {
      plan.foreign.push_back(table);
      plan.left_out.push_back({table.DisplayName(), fmt::format("role {} does not own it", facts.user),
                               "run varve init with a connection string of its owner or of a superuser"});
    } else if (facts.publication->all_tables) {
      plan.left_out.push_back(
          {table.DisplayName(), "the publication is FOR ALL TABLES and yet lacks it", ""});
    } else {
      plan.add.push_back(table);
    }
  }
  if (unused.empty()) return plan;
  return Fail(ErrorCode::kInvalidArgument,
              fmt::format("no table fits {}; write name (of schema public) or schema.name, with * and ?",
                          pg::QuoteLiteral(*unused.begin())));
}

}  // namespace varve::setup
