// SPDX-License-Identifier: PostgreSQL
#include "sidecar/http/moment.h"

#include <algorithm>

#include <fmt/format.h>

#include "sidecar/http/json_text.h"
#include "sidecar/model/reference.h"

namespace varve::http {

using base::ErrorCode;
using base::Fail;

namespace {

// How often a waiting request looks whether the server is being stopped.
constexpr std::chrono::milliseconds kWaitSlice(200);

base::Position InPresentEra(const history::History& history, base::Lsn lsn) {
  return base::Position::Make(history.GetStatus().published_through.era(), lsn);
}

// Why the stream stands still, as far as the slot client knows.
std::string Hindrance(const ingest::IngestStatus& status) {
  if (status.last_error.empty()) return "ask again, wait longer (timeout) or see /v1/status";
  return status.last_error + (status.remedy.empty() ? "" : "; " + status.remedy);
}

base::Status WaitFor(const Context& context, const history::History& history, base::Position position,
                     std::chrono::milliseconds timeout) {
  const auto deadline = context.clock->Steady() + timeout;
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - context.clock->Steady());
    const auto slice = std::clamp(left, std::chrono::milliseconds(0), kWaitSlice);
    const base::Status reached = history.WaitFor(position, slice);
    if (reached || reached.error().code != ErrorCode::kBehind) return reached;
    if (context.stopping->load()) return Fail(ErrorCode::kUnavailable, "varved is being stopped");
    if (left > kWaitSlice) continue;
    return Fail(ErrorCode::kBehind,
                fmt::format("{} is not applied yet after {:.3g} s: the newest position is {}; {}",
                            base::FormatPosition(position), std::chrono::duration<double>(timeout).count(),
                            base::FormatPosition(history.GetStatus().published_through),
                            Hindrance(context.ingest->GetStatus())));
  }
}

// A commit that did not wait for its WAL is in the file after three times wal_writer_delay, which is 10 s at
// most (the documentation of asynchronous commit).
constexpr std::chrono::seconds kAsynchronousCommit(30);

// Nothing that committed at or before `time` is still to come once the server's WAL end of a later moment is
// published. Such a WAL end may be known already from a keepalive, which knows of what is in the file only.
base::Status WaitForTime(const Context& context, const history::History& history, base::Timestamp time,
                         std::chrono::milliseconds timeout) {
  const history::StoreStatus store = history.GetStatus();
  if (time <= store.published.commit_time) return {};
  // Resolve says in_the_future.
  if (time > context.clock->Now()) return {};
  const ingest::IngestStatus ingest = context.ingest->GetStatus();
  const int64_t margin = std::chrono::microseconds(kAsynchronousCommit).count();
  if (ingest.server_time.micros - margin > time.micros && ingest.server_lsn.value != 0) {
    return WaitFor(context, history, InPresentEra(history, ingest.server_lsn), timeout);
  }
  return WaitForServer(context, history, timeout);
}

base::Status WaitForLsn(const Context& context, const history::History& history,
                        const model::LsnReference& reference, std::chrono::milliseconds timeout) {
  const base::Position present = history.GetStatus().published_through;
  const base::Position wanted = base::Position::Make(reference.era.value_or(present.era()), reference.lsn);
  if (wanted <= present || wanted.era() != present.era()) return {};
  // A position that the server has not reached would be waited for in vain.
  const base::Result<base::Lsn> end = context.ingest->CurrentServerLsn();
  if (end && reference.lsn > *end) {
    return Fail(ErrorCode::kInTheFuture, fmt::format("{} lies ahead of the server: its WAL ends at {}",
                                                     base::FormatLsn(reference.lsn), base::FormatLsn(*end)));
  }
  return WaitFor(context, history, wanted, timeout);
}

}  // namespace

base::Result<std::shared_ptr<history::History>> OpenHistory(const Context& context) {
  std::shared_ptr<history::History> history = context.history();
  if (history) return history;
  const ingest::IngestStatus status = context.ingest->GetStatus();
  std::string message = "the history is closed at this moment";
  if (!status.last_error.empty()) message += ": " + status.last_error;
  if (!status.remedy.empty()) message += "; " + status.remedy;
  return Fail(ErrorCode::kUnavailable, std::move(message));
}

base::Result<WaitOptions> FindWait(const Request& request) {
  WaitOptions wait;
  ASSIGN_OR_RETURN(wait.server, request.FindFlag("wait"));
  ASSIGN_OR_RETURN(wait.timeout, request.FindSeconds("timeout", kWaitDefault, kWaitMost));
  return wait;
}

base::Status WaitForServer(const Context& context, const history::History& history,
                           std::chrono::milliseconds timeout) {
  ASSIGN_OR_RETURN(const base::Lsn end, context.ingest->CurrentServerLsn());
  return WaitFor(context, history, InPresentEra(history, end), timeout);
}

base::Result<Moment> ResolveMoment(const Context& context, const history::History& history,
                                   std::string_view reference, std::optional<base::TableOid> table,
                                   const WaitOptions& wait) {
  ASSIGN_OR_RETURN(const model::Reference parsed, model::ParseReference(reference, context.clock->Now()));
  if (!history.GetStatus().baseline_complete) {
    return Fail(ErrorCode::kUnavailable,
                "the first copy is not complete yet: see `varve status` (/v1/status) for how far it is");
  }
  if (wait.server) {
    RETURN_IF_ERROR(WaitForServer(context, history, wait.timeout));
  }
  if (const auto* time = std::get_if<model::TimeReference>(&parsed.base)) {
    RETURN_IF_ERROR(WaitForTime(context, history, time->time, wait.timeout));
  } else if (const auto* lsn = std::get_if<model::LsnReference>(&parsed.base)) {
    RETURN_IF_ERROR(WaitForLsn(context, history, *lsn, wait.timeout));
  }
  Moment moment;
  ASSIGN_OR_RETURN(moment.point, history.Resolve(parsed, table));
  moment.lag = context.monitor->LagOf(history.GetStatus(), context.ingest->GetStatus());
  return moment;
}

base::Result<Moment> FindMoment(const Context& context, const history::History& history,
                                const Request& request, std::string_view name, std::string_view otherwise,
                                std::optional<base::TableOid> table) {
  ASSIGN_OR_RETURN(const WaitOptions wait, FindWait(request));
  ASSIGN_OR_RETURN(const std::string reference, request.FindOr(name, otherwise));
  return ResolveMoment(context, history, reference, table, wait);
}

std::string PointJson(const history::ReadPoint& point) {
  std::string json = "{";
  AppendPointMembers(point, &json);
  return json + "}";
}

std::string MomentJson(const Moment& moment) {
  std::string json = "{";
  AppendPointMembers(moment.point, &json);
  json += fmt::format(R"(,"lag_bytes":{},"lag_seconds":{:.3f}}})", moment.lag.bytes, moment.lag.seconds);
  return json;
}

std::vector<std::pair<std::string_view, std::string>> MomentHeaders(const Moment& moment) {
  return {{"Varve-Position", base::FormatPosition(moment.point.position)},
          {"Varve-Time", base::FormatTimestamp(moment.point.commit_time)},
          {"Varve-Lag-Bytes", fmt::format("{}", moment.lag.bytes)},
          {"Varve-Lag-Seconds", fmt::format("{:.3f}", moment.lag.seconds)}};
}

}  // namespace varve::http
