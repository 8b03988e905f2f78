// SPDX-License-Identifier: PostgreSQL
#include <fmt/format.h>

#include "sidecar/http/handlers.h"
#include "sidecar/http/json_text.h"
#include "sidecar/http/list_answer.h"
#include "sidecar/http/moment.h"
#include "sidecar/http/openapi.h"

namespace varve::http {

using base::ErrorCode;
using base::Fail;
using history::History;

namespace {

base::Status SendJson(const std::string& json, ResponseWriter* writer) {
  return writer->Send(ResponseHead{}, json + "\n");
}

// Why tables cannot be read at this moment, empty when they can.
std::string NotReadyReason(const Context& context, const std::shared_ptr<History>& history) {
  if (!history) return OpenHistory(context).error().message;
  if (history->GetStatus().baseline_complete) return {};
  const ingest::IngestStatus ingest = context.ingest->GetStatus();
  std::string reason = "the first copy is not complete yet";
  if (ingest.phase == ingest::Phase::kCopying) {
    reason = fmt::format("the first copy is running: {} rows so far", ingest.rows_copied);
    if (ingest.rows_expected != 0) reason += fmt::format(" of about {}", ingest.rows_expected);
  }
  if (!ingest.last_error.empty()) reason += ": " + ingest.last_error;
  if (!ingest.remedy.empty()) reason += "; " + ingest.remedy;
  return reason;
}

void AppendText(std::string_view name, std::string_view value, std::string* out) {
  if (out->back() != '{') *out += ',';
  AppendJsonName(name, out);
  AppendJsonString(value, out);
}

template <typename Number>
void AppendNumber(std::string_view name, Number value, std::string* out) {
  if (out->back() != '{') *out += ',';
  AppendJsonName(name, out);
  *out += fmt::format("{}", value);
}

void AppendIngest(const ingest::IngestStatus& ingest, std::string* out) {
  AppendText("phase", ingest::PhaseName(ingest.phase), out);
  AppendText("slot", ingest.slot, out);
  if (!ingest.last_error.empty()) AppendText("last_error", ingest.last_error, out);
  if (!ingest.remedy.empty()) AppendText("remedy", ingest.remedy, out);
  AppendNumber("sessions", ingest.sessions, out);
  if (!ingest.transport.empty()) AppendText("transport", ingest.transport, out);
  if (!ingest.transport_reason.empty()) AppendText("transport_reason", ingest.transport_reason, out);
  if (!ingest.endpoint.empty()) AppendText("endpoint", ingest.endpoint, out);
  AppendNumber("batches_received", ingest.batches_received, out);
  AppendNumber("bytes_received", ingest.bytes_received, out);
  AppendNumber("messages_dropped", ingest.messages_dropped, out);
  if (ingest.server_lsn.value != 0) {
    AppendText("server_position", base::FormatLsn(ingest.server_lsn), out);
    AppendText("server_time", base::FormatTimestamp(ingest.server_time), out);
  }
  AppendText("confirmed_position", base::FormatLsn(ingest.confirmed), out);
  if (ingest.phase == ingest::Phase::kCopying) {
    AppendNumber("rows_copied", ingest.rows_copied, out);
    AppendNumber("rows_expected", ingest.rows_expected, out);
  }
}

void AppendIdentity(const history::Identity& identity, std::string* out) {
  // A 64-bit number would lose digits in readers that keep numbers as doubles.
  AppendText("system_identifier", fmt::format("{}", identity.system_identifier), out);
  AppendNumber("timeline", identity.timeline, out);
  AppendText("database", identity.database, out);
  AppendText("publication", identity.publication, out);
  AppendText("encoding", identity.encoding, out);
}

// By position, the oldest first: each holds back the server's WAL, and vacuum.
void AppendPrepared(const std::vector<history::PreparedTransaction>& prepared, std::string* out) {
  *out += R"(,"prepared":[)";
  for (const history::PreparedTransaction& transaction : prepared) {
    *out += out->back() == '[' ? "{" : ",{";
    AppendText("gid", transaction.gid, out);
    AppendNumber("xid", transaction.xid.xid(), out);
    AppendText("position", base::FormatPosition(transaction.position), out);
    AppendText("time", base::FormatTimestamp(transaction.time), out);
    AppendNumber("changes", transaction.changes, out);
    *out += '}';
  }
  *out += ']';
}

void AppendStore(const Context& context, const History& history, std::string* out) {
  const history::StoreStatus store = history.GetStatus();
  AppendNumber("first_copy_complete", store.baseline_complete, out);
  if (store.baseline_complete) {
    *out += R"(,"first":)" + PointJson(store.first);
    *out += R"(,"published":)" + PointJson(store.published);
    AppendText("published_through", base::FormatPosition(store.published_through), out);
    AppendPrepared(store.prepared, out);
  }
  AppendNumber("store_bytes", store.store_bytes, out);
  AppendNumber("changes_applied", store.changes_applied, out);
  AppendNumber("transactions_applied", store.transactions_applied, out);
  const Rates rates = context.monitor->GetRates();
  *out += fmt::format(R"(,"changes_per_second":{:.1f},"transactions_per_second":{:.1f})",
                      rates.changes_per_second, rates.transactions_per_second);
  std::map<history::TableState, uint64_t> states;
  for (const history::TableInfo& table : history.Tables()) ++states[table.state];
  *out += R"(,"tables":{)";
  for (const auto& [state, count] : states) AppendNumber(history::TableStateName(state), count, out);
  *out += '}';
}

std::string_view IdentityName(char identity) {
  switch (identity) {
    case 'd': return "default";
    case 'i': return "index";
    case 'f': return "full";
    default: return "nothing";
  }
}

void AppendColumns(const model::Relation& relation, std::string* out) {
  *out += R"(,"key":[)";
  bool first = true;
  for (const model::Column* column : relation.KeyColumns()) {
    if (!first) *out += ',';
    first = false;
    AppendJsonString(column->name, out);
  }
  *out += R"(],"columns":[)";
  first = true;
  for (const model::Column& column : relation.columns) {
    *out += first ? "{" : ",{";
    first = false;
    AppendText("name", column.name, out);
    const model::Type* type = relation.FindType(column.type_oid);
    AppendText("type", type != nullptr ? type->name : fmt::format("oid {}", column.type_oid), out);
    *out += '}';
  }
  *out += ']';
}

void AppendTable(const history::TableInfo& table, std::string* out) {
  *out += '{';
  AppendText("table", table.relation->QualifiedName(), out);
  AppendText("schema", table.relation->schema, out);
  AppendText("name", table.relation->name, out);
  AppendNumber("oid", table.relation->oid.value, out);
  AppendText("state", history::TableStateName(table.state), out);
  if (!table.reason.empty()) AppendText("reason", table.reason, out);
  if (table.since) AppendText("since", base::FormatPosition(*table.since), out);
  AppendText("first", base::FormatPosition(table.complete_from), out);
  AppendNumber("changes", table.changes, out);
  AppendText("identity", IdentityName(table.relation->identity), out);
  AppendColumns(*table.relation, out);
  *out += '}';
}

}  // namespace

base::Status GetHealth(const Context&, const Request&, ResponseWriter* writer) {
  return SendJson(R"({"healthy":true})", writer);
}

base::Status GetReady(const Context& context, const Request&, ResponseWriter* writer) {
  const std::string reason = NotReadyReason(context, context.history());
  if (!reason.empty()) return Fail(ErrorCode::kUnavailable, reason);
  return SendJson(R"({"ready":true})", writer);
}

base::Status GetMetrics(const Context& context, const Request&, ResponseWriter* writer) {
  const std::shared_ptr<History> history = context.history();
  MetricsInput input;
  input.version = VARVE_VERSION;
  input.ingest = context.ingest->GetStatus();
  input.counters = context.counters;
  history::StoreStatus store;
  if (history) {
    store = history->GetStatus();
    input.store = &store;
    input.lag = context.monitor->LagOf(store, input.ingest);
  }
  ResponseHead head;
  head.content_type = "text/plain; version=0.0.4; charset=utf-8";
  return writer->Send(head, MetricsText(input));
}

base::Status GetOpenApi(const Context&, const Request&, ResponseWriter* writer) {
  return writer->Send(ResponseHead{}, OpenApiDocument());
}

base::Status GetServerStatus(const Context& context, const Request&, ResponseWriter* writer) {
  const std::shared_ptr<History> history = context.history();
  const ingest::IngestStatus ingest = context.ingest->GetStatus();
  const std::string reason = NotReadyReason(context, history);
  std::string json = "{";
  AppendText("version", VARVE_VERSION, &json);
  AppendNumber("ready", reason.empty(), &json);
  if (!reason.empty()) AppendText("reason", reason, &json);
  AppendIngest(ingest, &json);
  if (history) {
    if (const std::optional<history::Identity> identity = history->GetIdentity())
      AppendIdentity(*identity, &json);
    const Lag lag = context.monitor->LagOf(history->GetStatus(), ingest);
    json += fmt::format(R"(,"lag_bytes":{},"lag_seconds":{:.3f})", lag.bytes, lag.seconds);
    AppendStore(context, *history, &json);
  }
  return SendJson(json + "}", writer);
}

base::Status GetTables(const Context& context, const Request& request, ResponseWriter* writer) {
  ASSIGN_OR_RETURN(const std::shared_ptr<History> history, OpenHistory(context));
  const history::StoreStatus store = history->GetStatus();
  const Moment moment{store.published, context.monitor->LagOf(store, context.ingest->GetStatus())};
  const Format format = FormatOf(request.accept) == Format::kNdjson ? Format::kNdjson : Format::kJson;
  ListAnswer answer(writer, format, moment, "tables");
  for (const history::TableInfo& table : history->Tables()) {
    AppendTable(table, answer.BeginItem());
    if (!answer.EndItem()) break;
  }
  return answer.Finish({});
}

base::Status GetWait(const Context& context, const Request& request, ResponseWriter* writer) {
  ASSIGN_OR_RETURN(const std::shared_ptr<History> history, OpenHistory(context));
  ASSIGN_OR_RETURN(const std::string reference, request.FindOr("ref", "now"));
  ASSIGN_OR_RETURN(WaitOptions wait, FindWait(request));
  ASSIGN_OR_RETURN(const model::Reference parsed, model::ParseReference(reference, context.clock->Now()));
  // An LSN or a time is waited for by itself; for anything else to be there, all that the server has must be.
  wait.server = !std::holds_alternative<model::LsnReference>(parsed.base) &&
                !std::holds_alternative<model::TimeReference>(parsed.base);
  ASSIGN_OR_RETURN(const Moment moment, ResolveMoment(context, *history, reference, std::nullopt, wait));
  ResponseHead head;
  head.headers = MomentHeaders(moment);
  return writer->Send(head, fmt::format("{{\"at\":{}}}\n", MomentJson(moment)));
}

}  // namespace varve::http
