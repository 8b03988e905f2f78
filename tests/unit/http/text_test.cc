// SPDX-License-Identifier: PostgreSQL
// The texts that answers are made of: JSON strings, points, CSV, metrics.
#include <boost/json/parse.hpp>

#include "sidecar/http/csv.h"
#include "sidecar/http/json_text.h"
#include "sidecar/http/metrics.h"
#include "sidecar/http/monitor.h"
#include "tests/support/catch.h"
#include "tests/support/fake_history.h"

namespace varve::http {
namespace {

std::string Quoted(std::string_view text) {
  std::string out;
  AppendJsonString(text, &out);
  return out;
}

TEST_CASE("JSON strings are escaped and read back") {
  CHECK(Quoted("a\"b\\c\n\t\x01") == R"("a\"b\\c\n\t\u0001")");
  CHECK(Quoted("Zürich €𝄞") == "\"Zürich €𝄞\"");
  std::string all;
  for (int i = 0; i < 128; ++i) all += static_cast<char>(i);
  CHECK(boost::json::parse(Quoted(all)).as_string() == boost::json::string_view(all));
}

TEST_CASE("bytes that are no UTF-8 become the replacement character") {
  CHECK(Quoted("a\xFF") == "\"a\xEF\xBF\xBD\"");
  CHECK(Quoted("\xC3") == "\"\xEF\xBF\xBD\"");
  CHECK(Quoted("\xED\xA0\x80") == "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"");  // a surrogate
  CHECK(Quoted("\xC0\x80") == "\"\xEF\xBF\xBD\xEF\xBF\xBD\"");                  // overlong
}

TEST_CASE("a point has its epoch only after a wraparound") {
  history::ReadPoint point{base::Position{0x1234}, base::Timestamp{0}, base::FullXid{77}};
  std::string out;
  AppendPointMembers(point, &out);
  CHECK(out == R"("position":"0/1234","time":"2000-01-01T00:00:00Z","xid":77)");
  point.xid = base::FullXid{(uint64_t{2} << 32) | 77};
  out.clear();
  AppendPointMembers(point, &out);
  CHECK(out == R"("position":"0/1234","time":"2000-01-01T00:00:00Z","xid":77,"epoch":2)");
}

std::string Field(std::string_view text, bool alone = false) {
  std::string out;
  AppendCsvField(text, alone, &out);
  return out;
}

TEST_CASE("CSV fields are quoted as COPY quotes them") {
  CHECK(Field("a b") == "a b");
  CHECK(Field("") == "\"\"");
  CHECK(Field("a,b") == "\"a,b\"");
  CHECK(Field("a\"b") == "\"a\"\"b\"");
  CHECK(Field("a\nb") == "\"a\nb\"");
  CHECK(Field("a\rb") == "\"a\rb\"");
  CHECK(Field("\\.") == "\\.");
  CHECK(Field("\\.", true) == "\"\\.\"");
}

TEST_CASE("a CSV row has nothing for null and quotes for the empty string") {
  const auto relation = tests::AccountsRelation();
  std::vector<const model::Column*> columns;
  for (const model::Column& column : relation->columns) columns.push_back(&column);
  const std::string id = tests::Int4(7);
  const std::string balance = tests::Int8(-5);
  std::vector<model::Cell> cells = {
      {model::CellKind::kValue, id}, {model::CellKind::kNull, {}}, {model::CellKind::kValue, balance}};
  std::string out;
  AppendCsvHeader(columns, &out);
  REQUIRE(AppendCsvRow(*relation, columns, cells, &out));
  cells[1] = {model::CellKind::kValue, ""};
  REQUIRE(AppendCsvRow(*relation, columns, cells, &out));
  CHECK(out == "id,email,balance\n7,,-5\n7,\"\",-5\n");
  cells[1] = {model::CellKind::kUnchanged, {}};
  CHECK(AppendCsvRow(*relation, columns, cells, &out).error().code == base::ErrorCode::kInternal);
}

// A clock that a test moves.
class ManualClock : public base::Clock {
 public:
  base::Timestamp Now() const override { return now; }
  std::chrono::steady_clock::time_point Steady() const override { return steady; }
  base::Timestamp now{1'000'000'000};
  std::chrono::steady_clock::time_point steady;
};

TEST_CASE("lag is nothing on an idle server, and the age of the last complete moment when behind") {
  ManualClock clock;
  Monitor monitor(&clock);
  history::StoreStatus store;
  store.published_through = base::Position{0x100};
  store.published.commit_time = base::Timestamp{0};
  ingest::IngestStatus ingest;
  ingest.phase = ingest::Phase::kStreaming;
  ingest.server_lsn = base::Lsn{0x100};
  ingest.server_time = clock.now;
  CHECK(monitor.LagOf(store, ingest).bytes == 0);
  CHECK(monitor.LagOf(store, ingest).seconds == 0);
  clock.now.micros += 3'000'000;
  ingest.server_lsn = base::Lsn{0x180};
  ingest.server_time = clock.now;
  CHECK(monitor.LagOf(store, ingest).bytes == 0x80);
  CHECK(monitor.LagOf(store, ingest).seconds == Approx(3));
  // Cut off: what the server has since then is not known.
  store.published_through = base::Position{0x180};
  ingest.phase = ingest::Phase::kWaiting;
  clock.now.micros += 2'000'000;
  CHECK(monitor.LagOf(store, ingest).bytes == 0);
  CHECK(monitor.LagOf(store, ingest).seconds == Approx(2));
}

TEST_CASE("rates are those of the last ten seconds") {
  ManualClock clock;
  Monitor monitor(&clock);
  history::StoreStatus store;
  for (int i = 0; i < 60; ++i) {
    store.changes_applied += i < 30 ? 1000 : 10;
    store.transactions_applied += 1;
    monitor.Sample(store, {});
    clock.steady += std::chrono::milliseconds(500);
  }
  CHECK(monitor.GetRates().changes_per_second == Approx(20));
  CHECK(monitor.GetRates().transactions_per_second == Approx(2));
  // The store was opened again: counts begin anew.
  store.changes_applied = 0;
  monitor.Sample(store, {});
  CHECK(monitor.GetRates().changes_per_second == 0);
}

TEST_CASE("metrics are Prometheus text") {
  RequestCounters counters;
  counters.answered[2] = 3;
  history::StoreStatus store;
  store.changes_applied = 12;
  MetricsInput input;
  input.version = "1.2";
  input.store = &store;
  input.counters = &counters;
  input.ingest.phase = ingest::Phase::kStreaming;
  const std::string text = MetricsText(input);
  CHECK(text.find("# TYPE varve_changes_applied_total counter\nvarve_changes_applied_total 12\n") !=
        std::string::npos);
  CHECK(text.find("varve_ingest_phase{phase=\"streaming\"} 1\n") != std::string::npos);
  CHECK(text.find("varve_ingest_phase{phase=\"stopped\"} 0\n") != std::string::npos);
  CHECK(text.find("varve_http_requests_total{status=\"2xx\"} 3\n") != std::string::npos);
  CHECK(text.find("varve_history_open 1\n") != std::string::npos);
  input.store = nullptr;
  const std::string closed = MetricsText(input);
  CHECK(closed.find("varve_history_open 0\n") != std::string::npos);
  CHECK(closed.find("varve_store_bytes") == std::string::npos);
}

}  // namespace
}  // namespace varve::http
