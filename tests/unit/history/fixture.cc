// SPDX-License-Identifier: PostgreSQL
#include "tests/unit/history/fixture.h"

#include "sidecar/model/reference.h"

namespace varve::test {

using base::Position;

void HistoryFixture::Start(const std::vector<Cells>& rows) {
  const base::Status status = CopyTables(history.get(), {{accounts, rows}});
  if (!status) FAIL(status.error().message);
  REQUIRE(history->BeginSession(kXidNear));
}

void HistoryFixture::Apply(const TestTransaction& transaction) {
  const base::Status status = AppendWhole(history.get(), transaction);
  if (!status) FAIL(status.error().message);
  REQUIRE(history->Publish());
}

void HistoryFixture::Reopen() {
  history.reset();
  history = OpenHistory(directory.path(), &clock);
  REQUIRE(history->BeginSession(kXidNear));
}

std::optional<Cells> HistoryFixture::Get(int32_t id, uint64_t lsn) const {
  const auto row = history->Get(accounts->oid, KeyOf(*accounts, {{1, Int4(id)}}), Position{lsn});
  if (!row) FAIL(row.error().message);
  if (!*row) return std::nullopt;
  return CellsOf(*(*row)->relation, (*row)->cells);
}

std::vector<Cells> HistoryFixture::Scan(uint64_t lsn, const history::ScanOptions& options) const {
  std::vector<Cells> rows;
  const auto status = history->Scan(accounts->oid, Position{lsn}, options,
                                    [&](const history::Row& row) -> base::Result<bool> {
                                      rows.push_back(CellsOf(row));
                                      return true;
                                    });
  if (!status) FAIL(status.error().message);
  return rows;
}

history::TableInfo HistoryFixture::TableNamed(const std::string& name) const {
  for (const history::TableInfo& info : history->Tables()) {
    if (info.relation->name == name) return info;
  }
  FAIL("no table " << name);
  return {};
}

base::Result<history::ReadPoint> HistoryFixture::Resolve(const std::string& reference) const {
  const auto parsed = model::ParseReference(reference, clock.Now());
  if (!parsed) FAIL(parsed.error().message);
  return history->Resolve(*parsed, std::nullopt);
}

}  // namespace varve::test
