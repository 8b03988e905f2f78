// SPDX-License-Identifier: PostgreSQL
#include "sidecar/pg/preflight.h"

#include <algorithm>

#include "tests/support/catch.h"

namespace varve::pg {
namespace {

ServerSettings Good() {
  ServerSettings settings;
  settings.version_num = 150020;
  settings.version = "15.20";
  settings.wal_level = "logical";
  settings.replication_slots_max = 10;
  settings.wal_senders_max = 10;
  settings.plugin_libraries = "pgoutput, \"varve\"";
  settings.slot_wal_keep_size_max = "10GB";
  settings.encoding = "UTF8";
  settings.user = "app";
  settings.has_replication = true;
  return settings;
}

std::vector<std::string> FailedNames(const ServerSettings& settings, const PreflightOptions& options = {}) {
  std::vector<std::string> names;
  for (const Finding& finding : CheckSettings(settings, options)) {
    if (finding.severity != Severity::kFailed) continue;
    names.push_back(finding.name);
    INFO(finding.message);
    CHECK_FALSE(finding.remedy.empty());
  }
  return names;
}

using Names = std::vector<std::string>;

TEST_CASE("a right that is missing on the database is granted by name") {
  ServerError error;
  error.sqlstate = "42501";
  error.message = "permission denied for database shop";
  CHECK(RemedyFor(error, "rep", "shop") == "grant create on database \"shop\" to \"rep\";");
}

TEST_CASE("what is no logged table is refused with its reason") {
  TableFacts table;
  table.schema = "public";
  table.name = "t";
  table.has_primary_key = true;
  CHECK(JudgeTable(table).usable);
  table.persistence = 'u';
  CHECK(JudgeTable(table).remedy == "alter table \"public\".\"t\" set logged;");
  table.kind = 'v';
  CHECK(JudgeTable(table).reason.find("view") != std::string::npos);
}

TEST_CASE("a server that is ready fails no check") { CHECK(FailedNames(Good()).empty()); }

TEST_CASE("each setting that stands in the way is named with its remedy") {
  ServerSettings settings = Good();
  settings.version_num = 140010;
  CHECK(FailedNames(settings) == Names{"version"});
  settings = Good();
  settings.wal_level = "replica";
  CHECK(FailedNames(settings) == Names{"wal_level"});
  settings = Good();
  settings.encoding = "LATIN1";
  CHECK(FailedNames(settings) == Names{"encoding"});
  settings = Good();
  settings.in_recovery = true;
  CHECK(FailedNames(settings) == Names{"primary"});
  settings = Good();
  settings.has_replication = false;
  CHECK(FailedNames(settings) == Names{"role"});
  settings = Good();
  settings.plugin_libraries = "pgoutput, varve2";
  CHECK(FailedNames(settings) == Names{"output_plugin_libraries"});
  settings = Good();
  settings.replication_slots_used = 10;
  CHECK(FailedNames(settings) == Names{"replication_slots"});
  CHECK(FailedNames(settings, {"varve", true, false}).empty());
  settings = Good();
  settings.wal_senders_used = 10;
  CHECK(FailedNames(settings) == Names{"wal_senders"});
  settings = Good();
  settings.synchronous_standby_names = "*";
  CHECK(FailedNames(settings) == Names{"synchronous_standby_names"});
  CHECK(FailedNames(settings, {"varve", false, true}).empty());
}

TEST_CASE("the line for the allow-list is quoted, else the server would not start") {
  ServerSettings settings = Good();
  settings.plugin_libraries = "pgoutput, test_decoding";
  const auto findings = CheckSettings(settings, {});
  const auto found = std::find_if(findings.begin(), findings.end(), [](const Finding& finding) {
    return finding.name == "output_plugin_libraries";
  });
  REQUIRE(found != findings.end());
  CHECK(found->remedy.find("output_plugin_libraries = 'pgoutput, test_decoding, varve'") !=
        std::string::npos);
}

TEST_CASE("a list that the role may not see is unknown, one that the server does not have is fine") {
  for (const auto& [version, severity] : {std::pair{150020, Severity::kUnknown},
                                          {150018, Severity::kOk},
                                          {170011, Severity::kUnknown},
                                          {190000, Severity::kUnknown}}) {
    ServerSettings settings = Good();
    settings.version_num = version;
    settings.plugin_libraries.reset();
    for (const Finding& finding : CheckSettings(settings, {})) {
      if (finding.name == "output_plugin_libraries") CHECK(finding.severity == severity);
    }
  }
}

TEST_CASE("synchronous_standby_names is read as the server reads it") {
  CHECK_FALSE(NamesStandby("", "varve"));
  CHECK(NamesStandby("*", "varve"));
  CHECK(NamesStandby("varve", "varve"));
  CHECK(NamesStandby("VARVE", "varve"));
  CHECK(NamesStandby("a, b , varve", "varve"));
  CHECK(NamesStandby("ANY 1 (a, *)", "varve"));
  CHECK(NamesStandby("FIRST 2 (a, \"varve\")", "varve"));
  CHECK(NamesStandby("2 (a, varve)", "varve"));
  CHECK_FALSE(NamesStandby("varve2, xvarve", "varve"));
  CHECK_FALSE(NamesStandby("\"*\"", "varve"));
  CHECK_FALSE(NamesStandby("\"a, varve\"", "varve"));
}

TEST_CASE("a table is usable with a key that identifies its rows") {
  TableFacts table;
  table.schema = "public";
  table.name = "t";
  CHECK_FALSE(JudgeTable(table).usable);
  CHECK(JudgeTable(table).breaks_updates);
  CHECK(JudgeTable(table).remedy ==
        "alter table \"public\".\"t\" add primary key (…); or, if rows have no key, alter table "
        "\"public\".\"t\" replica identity full;");
  table.usable_index = "t_idx";
  CHECK(JudgeTable(table).remedy == "alter table \"public\".\"t\" replica identity using index \"t_idx\";");
  table.has_deferrable_key = true;
  CHECK(JudgeTable(table).reason == "its primary key is deferrable");
  table.has_deferrable_key = false;
  table.has_primary_key = true;
  CHECK(JudgeTable(table).usable);
  table.identity = 'f';
  CHECK(JudgeTable(table).usable);
  table.identity = 'n';
  CHECK(JudgeTable(table).remedy == "alter table \"public\".\"t\" replica identity default;");
  table.identity = 'i';
  CHECK_FALSE(JudgeTable(table).usable);
  table.has_identity_index = true;
  CHECK(JudgeTable(table).usable);
  CHECK(JudgeTable(table).has_key);
  table.has_primary_key = false;
  table.identity = 'f';
  CHECK(JudgeTable(table).usable);
  CHECK_FALSE(JudgeTable(table).has_key);
}

TEST_CASE("a generated column in the identity must be published, and a virtual one cannot be") {
  TableFacts table;
  table.schema = "public";
  table.name = "t";
  table.has_primary_key = true;
  table.identity = 'f';
  table.generated_identity = 's';
  CHECK(JudgeTable(table).usable);
  table.publishes_generated = false;
  CHECK(JudgeTable(table).breaks_updates);
  CHECK(JudgeTable(table).remedy == "alter publication … set (publish_generated_columns = stored);");
  table.publishes_generated = true;
  table.generated_identity = 'v';
  CHECK(JudgeTable(table).breaks_updates);
  CHECK(JudgeTable(table).remedy == "alter table \"public\".\"t\" replica identity default;");
  table.has_primary_key = false;
  CHECK(JudgeTable(table).remedy == "alter table \"public\".\"t\" add primary key (…);");
}

TEST_CASE("a partitioned table is followed where it is published as one, and all its rows are logged") {
  TableFacts table;
  table.schema = "public";
  table.name = "t";
  table.has_primary_key = true;
  table.kind = 'p';
  CHECK_FALSE(JudgeTable(table).usable);
  table.via_root = true;
  CHECK(JudgeTable(table).usable);
  table.unlogged_partition = "t_1";
  CHECK(JudgeTable(table).reason.find("\"t_1\"") != std::string::npos);
}

TEST_CASE("publications that would hide rows or columns are refused") {
  Publication publication;
  CHECK(CheckPublication(publication, "varve", "app").front().severity == Severity::kFailed);
  publication.exists = true;
  publication.tables.resize(1);
  publication.tables[0].schema = "public";
  publication.tables[0].name = "t";
  publication.tables[0].can_select = true;
  CHECK(CheckPublication(publication, "varve", "app").size() == 1);
  publication.tables[0].has_row_filter = true;
  CHECK(CheckPublication(publication, "varve", "app").back().message ==
        "public.t is published with a row filter, which is not supported");
  publication.tables[0].has_row_filter = false;
  publication.tables[0].has_column_list = true;
  CHECK(CheckPublication(publication, "varve", "app").back().severity == Severity::kFailed);
  publication.tables[0].has_column_list = false;
  publication.tables[0].has_primary_key = true;
  publication.tables[0].can_select = false;
  CHECK(CheckPublication(publication, "varve", "app").back().message == "role app may not read public.t");
  publication.tables[0].can_select = true;
  publication.all_tables = true;
  CHECK(CheckPublication(publication, "varve", "app").back().severity == Severity::kWarning);
}

TEST_CASE("a slot that is not ours or is lost is refused") {
  SlotState slot;
  CHECK(CheckSlot(slot, "varve", "shop").empty());
  slot = {true, "varve", "logical", "shop", false, 0, "", "reserved", base::Lsn{1}, 0, 0};
  CHECK(CheckSlot(slot, "varve", "shop").front().severity == Severity::kOk);
  CHECK(CheckSlot(slot, "varve", "other").front().severity == Severity::kFailed);
  slot.wal_status = "lost";
  CHECK(CheckSlot(slot, "varve", "shop").front().severity == Severity::kFailed);
  slot.wal_status = "reserved";
  slot.plugin = "pgoutput";
  CHECK(CheckSlot(slot, "varve", "shop").front().severity == Severity::kFailed);
}

}  // namespace
}  // namespace varve::pg
