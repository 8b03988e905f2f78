// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

#include "sidecar/history/history.h"
#include "sidecar/http/monitor.h"
#include "sidecar/ingest/status.h"

namespace varve::http {

// Requests answered, by class of status, and connections. Thread-safe.
struct RequestCounters {
  std::array<std::atomic<uint64_t>, 6> answered = {};  // by status / 100
  std::atomic<uint64_t> cut{0};                        // answers that did not reach their end
  std::atomic<uint64_t> connections{0};                // open at this moment
  std::atomic<uint64_t> refused{0};                    // connections above the limit
};

struct MetricsInput {
  std::string version;
  const history::StoreStatus* store = nullptr;  // null while the history is closed
  ingest::IngestStatus ingest;
  Lag lag;
  const RequestCounters* counters = nullptr;
};

// The text exposition format of Prometheus.
std::string MetricsText(const MetricsInput& input);

}  // namespace varve::http
