// SPDX-License-Identifier: PostgreSQL
#include "sidecar/http/metrics.h"

#include <vector>

#include <fmt/format.h>
#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

namespace varve::http {
namespace {

using Families = std::vector<prometheus::MetricFamily>;

prometheus::MetricFamily* Add(Families* families, const char* name, const char* help,
                              prometheus::MetricType type) {
  prometheus::MetricFamily& family = families->emplace_back();
  family.name = name;
  family.help = help;
  family.type = type;
  return &family;
}

void AddValue(prometheus::MetricFamily* family, double value,
              std::vector<prometheus::ClientMetric::Label> labels = {}) {
  prometheus::ClientMetric& metric = family->metric.emplace_back();
  metric.label = std::move(labels);
  if (family->type == prometheus::MetricType::Counter) {
    metric.counter.value = value;
  } else {
    metric.gauge.value = value;
  }
}

void AddGauge(Families* families, const char* name, const char* help, double value) {
  AddValue(Add(families, name, help, prometheus::MetricType::Gauge), value);
}

void AddCounter(Families* families, const char* name, const char* help, uint64_t value) {
  AddValue(Add(families, name, help, prometheus::MetricType::Counter), static_cast<double>(value));
}

double UnixSeconds(base::Timestamp timestamp) {
  constexpr int64_t kUnixSecondsOfEpoch = 946'684'800;
  return static_cast<double>(timestamp.micros) / 1e6 + static_cast<double>(kUnixSecondsOfEpoch);
}

void AddStore(const history::StoreStatus& store, Families* families) {
  AddGauge(families, "varve_first_copy_complete", "1 when the first copy is complete and tables can be read",
           store.baseline_complete ? 1 : 0);
  AddGauge(families, "varve_published_lsn_bytes", "WAL position up to which readers see everything",
           static_cast<double>(store.published_through.lsn().value));
  AddGauge(families, "varve_published_commit_time_seconds",
           "Commit time of the newest transaction that readers see",
           UnixSeconds(store.published.commit_time));
  AddGauge(families, "varve_store_bytes", "Size of the store on disk",
           static_cast<double>(store.store_bytes));
  AddCounter(families, "varve_changes_applied_total", "Changes applied since the store was opened",
             store.changes_applied);
  AddCounter(families, "varve_transactions_applied_total", "Transactions applied since the store was opened",
             store.transactions_applied);
}

void AddIngest(const ingest::IngestStatus& ingest, Families* families) {
  prometheus::MetricFamily* phase = Add(families, "varve_ingest_phase", "1 for what the slot client is doing",
                                        prometheus::MetricType::Gauge);
  for (const ingest::Phase each :
       {ingest::Phase::kConnecting, ingest::Phase::kCopying, ingest::Phase::kStreaming,
        ingest::Phase::kWaiting, ingest::Phase::kStopped}) {
    AddValue(phase, each == ingest.phase ? 1 : 0, {{"phase", std::string(ingest::PhaseName(each))}});
  }
  AddGauge(families, "varve_server_lsn_bytes", "End of WAL as the server last said it",
           static_cast<double>(ingest.server_lsn.value));
  AddGauge(families, "varve_confirmed_lsn_bytes", "WAL position that the slot was told is durable",
           static_cast<double>(ingest.confirmed.value));
  AddCounter(families, "varve_sessions_total", "Replication sessions started", ingest.sessions);
  AddCounter(families, "varve_batches_received_total", "Messages of the plugin received",
             ingest.batches_received);
  AddCounter(families, "varve_received_bytes_total", "Bytes of the plugin's messages received",
             ingest.bytes_received);
  AddCounter(families, "varve_messages_dropped_total",
             "Messages at the ingest endpoint that were not of the session", ingest.messages_dropped);
  AddGauge(families, "varve_copy_rows", "Rows of the first copy so far",
           static_cast<double>(ingest.rows_copied));
}

void AddRequests(const RequestCounters& counters, Families* families) {
  prometheus::MetricFamily* answered =
      Add(families, "varve_http_requests_total", "HTTP requests answered", prometheus::MetricType::Counter);
  for (size_t i = 2; i < counters.answered.size(); ++i) {
    AddValue(answered, static_cast<double>(counters.answered[i].load()),
             {{"status", fmt::format("{}xx", i)}});
  }
  AddCounter(families, "varve_http_answers_cut_total", "HTTP answers that did not reach their end",
             counters.cut.load());
  AddGauge(families, "varve_http_connections", "HTTP connections open",
           static_cast<double>(counters.connections.load()));
  AddCounter(families, "varve_http_connections_refused_total", "HTTP connections refused above the limit",
             counters.refused.load());
}

}  // namespace

std::string MetricsText(const MetricsInput& input) {
  Families families;
  AddValue(Add(&families, "varve_build_info", "Version of varved", prometheus::MetricType::Gauge), 1,
           {{"version", input.version}});
  AddGauge(&families, "varve_history_open", "1 when the history is open", input.store != nullptr ? 1 : 0);
  if (input.store != nullptr) AddStore(*input.store, &families);
  AddIngest(input.ingest, &families);
  AddGauge(&families, "varve_lag_bytes", "WAL that the server has and readers do not see yet",
           static_cast<double>(input.lag.bytes));
  AddGauge(&families, "varve_lag_seconds", "Age of the last moment at which readers saw everything",
           input.lag.seconds);
  AddRequests(*input.counters, &families);
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace varve::http
