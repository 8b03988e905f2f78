// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <cstdint>
#include <string>

#include "sidecar/base/ids.h"
#include "sidecar/base/result.h"

namespace varve::ingest {

enum class Phase { kConnecting, kCopying, kStreaming, kWaiting, kStopped };
std::string_view PhaseName(Phase phase);

// What the slot client is doing, for status, readiness and metrics.
struct IngestStatus {
  Phase phase = Phase::kConnecting;
  std::string slot;
  std::string last_error;        // empty when the present session is fine
  std::string remedy;            // what to do about last_error
  uint64_t sessions = 0;         // started since the process began
  std::string transport;         // of the present or last session: "stream" or "zmq"; empty before the first
  std::string endpoint;          // where varved takes changes with transport zmq; empty: it does not
  std::string transport_reason;  // why transport auto uses the stream
  uint64_t batches_received = 0;
  uint64_t bytes_received = 0;
  uint64_t messages_dropped = 0;  // that came to the endpoint and were not of the session
  base::Lsn server_lsn;           // the end of WAL as the server last said it
  base::Timestamp server_time;    // when it said so
  base::Lsn confirmed;            // what the slot was told is durable
  uint64_t rows_copied = 0;       // of a running first copy
  uint64_t rows_expected = 0;     // estimate, 0 when unknown
};

// Where HTTP gets it from; ingest implements it. Thread-safe.
class StatusSource {
 public:
  virtual ~StatusSource() = default;
  virtual IngestStatus GetStatus() const = 0;
  // Asks the server for its current WAL end (the flush position) over an ordinary connection, for `now
  // --wait` and time: references. Errors: kUnavailable.
  virtual base::Result<base::Lsn> CurrentServerLsn() = 0;
};

}  // namespace varve::ingest
