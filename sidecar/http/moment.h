// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sidecar/http/context.h"

namespace varve::http {

inline constexpr std::chrono::seconds kWaitDefault(10);
inline constexpr std::chrono::seconds kWaitMost(300);

// The moment that an answer is of, and how far the sidecar was behind when it answered.
struct Moment {
  history::ReadPoint point;
  Lag lag;
};

// The parameters `wait` and `timeout` of a read.
struct WaitOptions {
  bool server = false;  // first everything that the server has at this moment
  std::chrono::milliseconds timeout = kWaitDefault;
};
base::Result<WaitOptions> FindWait(const Request& request);

// Resolves what a person wrote. Waits, at most the timeout, where the answer is not known yet: with
// `wait.server`, for everything that the server had committed when asked; for an LSN that is not applied yet;
// for a time after the last commit, until it is certain that nothing up to then is still to come. Errors:
// those of ParseReference and History::Resolve, kInTheFuture, kBehind after the timeout, kUnavailable when
// the server has to be asked and cannot be reached.
base::Result<Moment> ResolveMoment(const Context& context, const history::History& history,
                                   std::string_view reference, std::optional<base::TableOid> table,
                                   const WaitOptions& wait);

// The moment of the parameter `name` of the request.
base::Result<Moment> FindMoment(const Context& context, const history::History& history,
                                const Request& request, std::string_view name, std::string_view otherwise,
                                std::optional<base::TableOid> table);

// Waits until all that the server has at this moment is published.
base::Status WaitForServer(const Context& context, const history::History& history,
                           std::chrono::milliseconds timeout);

// {"position":…,"time":…,"xid":…,"lag_bytes":…,"lag_seconds":…}
std::string MomentJson(const Moment& moment);
// {"position":…,"time":…,"xid":…}
std::string PointJson(const history::ReadPoint& point);
// Varve-Position, Varve-Time, Varve-Lag-Bytes, Varve-Lag-Seconds.
std::vector<std::pair<std::string_view, std::string>> MomentHeaders(const Moment& moment);

}  // namespace varve::http
