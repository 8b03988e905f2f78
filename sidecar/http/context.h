// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "sidecar/base/clock.h"
#include "sidecar/history/history.h"
#include "sidecar/http/metrics.h"
#include "sidecar/http/monitor.h"
#include "sidecar/http/request.h"
#include "sidecar/http/response.h"
#include "sidecar/ingest/status.h"

namespace varve::http {

// What handlers work with; all of it outlives the server's threads and is thread-safe.
struct Context {
  // Null while the history is closed (it is opened again after a store error).
  std::function<std::shared_ptr<history::History>()> history;
  ingest::StatusSource* ingest = nullptr;
  const base::Clock* clock = nullptr;
  Monitor* monitor = nullptr;
  RequestCounters* counters = nullptr;
  const std::atomic<bool>* stopping = nullptr;
  std::string token;  // TCP requests carry it; empty: none needed
};

// Answers a request. An error that it returns has not been answered yet.
using Handler = base::Status (*)(const Context& context, const Request& request, ResponseWriter* writer);

// The open history. Errors: kUnavailable.
base::Result<std::shared_ptr<history::History>> OpenHistory(const Context& context);

}  // namespace varve::http
