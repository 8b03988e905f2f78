// SPDX-License-Identifier: PostgreSQL
#include "sidecar/ingest/status.h"

namespace varve::ingest {

std::string_view PhaseName(Phase phase) {
  switch (phase) {
    case Phase::kConnecting: return "connecting";
    case Phase::kCopying: return "copying";
    case Phase::kStreaming: return "streaming";
    case Phase::kWaiting: return "waiting";
    case Phase::kStopped: return "stopped";
  }
  return "unknown";
}

}  // namespace varve::ingest
