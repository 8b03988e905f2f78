// SPDX-License-Identifier: PostgreSQL
// Random rows of random tables on their whole way: through the plugin, the decoder and our printing, and
// through format=json, against what to_jsonb said of each row in the transaction that wrote it.
#include <chrono>
#include <cstdlib>
#include <map>

#include <fmt/format.h>

#include "sidecar/types/json.h"
#include "sidecar/wire/decoder.h"
#include "tests/oracle/oracle.h"
#include "tests/oracle/random_table.h"
#include "tests/support/catch.h"

namespace varve::oracle {
namespace {

constexpr std::string_view kOptions = "'roundtrip', null, null, 'publication_names', 'roundtrip'";

// Settings that text may depend on, none of them as text is sent.
constexpr std::string_view kOtherSettings[] = {
    "timezone = 'Asia/Kolkata'",    "datestyle = 'SQL, DMY'",    "intervalstyle = 'iso_8601'",
    "bytea_output = 'escape'",      "extra_float_digits = -5",   "xmlbinary = 'hex'",
    "quote_all_identifiers = 'on'", "search_path = 'roundtrip'", "standard_conforming_strings = 'off'",
    "xmloption = 'document'",       "array_nulls = 'off'",       "backslash_quote = 'off'"};

// A change as a reader tells it.
struct Told {
  std::string op;
  std::string before;  // empty where not all of the row is sent
  std::string after;
};

// Keeps the rows that the changes make, as a reader must: an unchanged cell is what the row had before.
class Reader {
 public:
  // `change` and what it borrows live as long as this.
  Told Apply(const model::Change& change) {
    Told told{std::string(model::OpName(change.op)), "", ""};
    const model::Relation& relation = *change.relation;
    const size_t id_at = relation.FindColumn("id")->attnum - 1U;
    std::string id;
    if (!change.old_image.empty()) {
      const std::vector<model::Cell> cells = Decode(relation, change.old_image);
      id = cells[id_at].value;
      if (change.old_is_full) told.before = Print(relation, cells);
    }
    if (change.new_image.empty()) {
      CHECK(rows_.erase(id) == 1);
      return told;
    }
    std::vector<model::Cell> cells = Decode(relation, change.new_image);
    if (id.empty()) id = cells[id_at].value;
    const Known old = std::move(rows_[id]);
    rows_.erase(id);
    CHECK((old.relation != nullptr) == (change.op == model::Op::kUpdate));
    if (old.relation != nullptr) TakeUnchanged(old, &cells);
    told.after = Print(relation, cells);
    Known& row = rows_[std::string(cells[id_at].value)];
    row.relation = &relation;
    model::EncodeImage(relation, cells, &row.image);
    return told;
  }

 private:
  struct Known {
    const model::Relation* relation = nullptr;
    std::string image;
  };

  static std::vector<model::Cell> Decode(const model::Relation& relation, std::string_view image) {
    auto cells = model::DecodeImage(relation, image);
    REQUIRE(cells.has_value());
    return *std::move(cells);
  }

  static void TakeUnchanged(const Known& old, std::vector<model::Cell>* cells) {
    const std::vector<model::Cell> before = Decode(*old.relation, old.image);
    for (size_t i = 0; i < cells->size(); ++i) {
      if ((*cells)[i].kind == model::CellKind::kUnchanged) (*cells)[i] = before.at(i);
    }
  }

  static std::string Print(const model::Relation& relation, const std::vector<model::Cell>& cells) {
    std::string json;
    const base::Status status = types::AppendRowJson(relation, cells, &json);
    return status ? json : "error: " + status.error().message;
  }

  std::map<std::string, Known> rows_;
};

// All messages, read as the sidecar reads them.
std::vector<model::Batch> Messages() {
  std::vector<model::Batch> batches;
  wire::Decoder decoder(wire::SessionId{});
  for (const Row& row : Server::Get().Query(
           fmt::format("select data from pg_logical_slot_peek_binary_changes({})", kOptions))) {
    auto batch = decoder.Decode(*row[0]);
    if (!batch) FAIL(batch.error().message);
    batches.push_back(*std::move(batch));
  }
  return batches;
}

size_t CompareMessages() {
  const std::vector<Row> written =
      Server::Get().Query("select op, before, after from roundtrip.written order by n");
  const std::vector<model::Batch> batches = Messages();
  Reader reader;
  size_t place = 0;
  for (const model::Batch& batch : batches) {
    for (const model::Change& change : batch.changes) {
      if (change.op > model::Op::kDelete) continue;
      REQUIRE(place < written.size());
      const Row& row = written[place++];
      INFO("change " << place);
      const Told told = reader.Apply(change);
      CHECK(told.op == *row[0]);
      CHECK(told.after == row[2].value_or(""));
      if (!told.before.empty()) CHECK(told.before == row[1].value_or(""));
      CHECK(told.before.empty() == (change.relation->identity != 'f' || !row[1].has_value()));
    }
  }
  CHECK(place == written.size());
  return place;
}

// Names of the columns that it leaves out are those whose value is the same before and after.
constexpr std::string_view kLinesThatDiffer = R"(
with sent as (
  select row_number() over (order by n) as place, data::jsonb as line
  from pg_logical_slot_peek_changes({}, 'format', 'json') with ordinality as s (lsn, xid, data, n)
  where data::jsonb->>'kind' in ('insert', 'update', 'delete')),
noted as (
  select row_number() over (order by n) as place, op, before::jsonb as before, after::jsonb as after
  from roundtrip.written),
pairs as (
  select *, array(select jsonb_array_elements_text(line->'unchanged')) as unchanged
  from sent full join noted using (place))
select left(line::text, 1000), op, left(before::text, 1000), left(after::text, 1000) from pairs
where line->>'kind' is distinct from op
  or (line->'new')::text is distinct from (after - unchanged)::text
  or exists (select from unnest(unchanged) u where (before->u)::text is distinct from (after->u)::text)
  or (line->'old')::text is distinct from (case when line->>'identity' = 'full' then before end)::text
  or line->'key' is distinct from case when line->>'identity' <> 'full'
    and (op = 'delete' or before->'id' <> after->'id') then jsonb_build_object('id', before->'id') end)";

void CompareLines() {
  for (const Row& row : Server::Get().Query(fmt::format(kLinesThatDiffer, kOptions))) {
    FAIL_CHECK(row[0].value_or("no line")
               << "\nwhere there was " << row[1].value_or("nothing") << " of " << row[2].value_or("nothing")
               << " to " << row[3].value_or("nothing"));
  }
}

double SecondsToRun() {
  const char* given = std::getenv("VARVE_ORACLE_SECONDS");
  return given != nullptr ? std::strtod(given, nullptr) : 12;
}

TEST_CASE("random changes of random tables arrive as what PostgreSQL makes of the rows") {
  RandomTable::Prepare();
  const auto start = std::chrono::steady_clock::now();
  size_t changes = 0;
  uint64_t tables = 0;
  for (; std::chrono::steady_clock::now() - start < std::chrono::duration<double>(SecondsToRun()); ++tables) {
    RandomTable table(Seed() + tables);
    table.Create();
    table.Change();
    INFO("VARVE_TEST_SEED=" << Seed() + tables << "\n" << table.history());
    Server::Get().Execute("begin");
    if (tables % 2 == 1) {
      for (const std::string_view setting : kOtherSettings) {
        Server::Get().Execute("set local " + std::string(setting));
      }
    }
    changes += CompareMessages();
    CompareLines();
    Server::Get().Execute("rollback");
    Server::Get().Execute("select pg_replication_slot_advance('roundtrip', pg_current_wal_lsn())");
    table.Drop();
  }
  std::printf("%zu changes of %llu tables\n", changes, static_cast<unsigned long long>(tables));
  CHECK(changes > tables);
}

}  // namespace
}  // namespace varve::oracle
