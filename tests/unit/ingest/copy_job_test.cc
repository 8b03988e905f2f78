// SPDX-License-Identifier: PostgreSQL
#include "sidecar/ingest/copy_job.h"

#include "tests/support/catch.h"

namespace varve::ingest {
namespace {

CatalogTable Table(uint64_t pages) {
  CatalogTable table;
  table.relation.schema = "public";
  table.relation.name = "odd\"name";
  table.sources = {{"public", "odd\"name", pages}};
  return table;
}

TEST_CASE("tables are cut into ranges that leave no page out and none twice") {
  const std::vector<CatalogTable> tables = {Table(0), Table(250), Table(100), Table(101)};
  const auto chunks = PlanChunks(tables, 100);
  std::vector<uint64_t> next(tables.size(), 0);
  std::vector<bool> open(tables.size(), false);
  for (const CopyChunk& chunk : chunks) {
    CHECK(chunk.first_page == next[chunk.table]);
    CHECK_FALSE(open[chunk.table]);
    if (chunk.end_page) {
      next[chunk.table] = *chunk.end_page;
    } else {
      open[chunk.table] = true;
    }
  }
  CHECK(open == std::vector<bool>(tables.size(), true));
  CHECK(chunks.size() == 1 + 3 + 1 + 2);
  CHECK(chunks.front().table == 1);
}

TEST_CASE("of a partitioned table each partition is copied, under the names of the root's columns") {
  CatalogTable table;
  table.relation.name = "root";
  model::Column id;
  id.name = "id";
  id.form = model::Form::kBinary;
  table.relation.columns = {id};
  CHECK(PlanChunks({table}, 100).empty());
  table.sources = {{"a", "one", 10}, {"b", "two", 150}};
  const auto chunks = PlanChunks({table}, 100);
  REQUIRE(chunks.size() == 3);
  CHECK(CopyStatement(table, chunks[0]) ==
        "copy (select \"id\" from only \"b\".\"two\" where ctid < '(100,0)'::tid) to stdout (format binary)");
  CHECK(
      CopyStatement(table, chunks[1]) ==
      "copy (select \"id\" from only \"b\".\"two\" where ctid >= '(100,0)'::tid) to stdout (format binary)");
  CHECK(CopyStatement(table, chunks[2]) ==
        "copy (select \"id\" from only \"a\".\"one\") to stdout (format binary)");
}

TEST_CASE("a copy selects each column in its form and leaves virtual columns out") {
  CatalogTable table = Table(1);
  model::Column id;
  id.name = "id";
  id.form = model::Form::kBinary;
  model::Column mood;
  mood.name = "mo\"od";
  mood.form = model::Form::kText;
  model::Column computed;
  computed.name = "v";
  computed.generated = 'v';
  table.relation.columns = {id, mood, computed};
  CHECK(CopyStatement(table, {0, 0, 0, std::nullopt}) ==
        "copy (select \"id\", case when \"mo\"\"od\" is not distinct from null then null "
        "else pg_catalog.format('%s', \"mo\"\"od\") end from only \"public\".\"odd\"\"name\")"
        " to stdout (format binary)");
  table.relation.columns = {id};
  CHECK(CopyStatement(table, {0, 0, 5, 9}) ==
        "copy (select \"id\" from only \"public\".\"odd\"\"name\" where ctid >= '(5,0)'::tid"
        " and ctid < '(9,0)'::tid) to stdout (format binary)");
  CHECK(CopyStatement(table, {0, 0, 0, 9}) ==
        "copy (select \"id\" from only \"public\".\"odd\"\"name\" where ctid < '(9,0)'::tid)"
        " to stdout (format binary)");
}

}  // namespace
}  // namespace varve::ingest
