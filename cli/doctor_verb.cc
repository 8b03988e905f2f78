// SPDX-License-Identifier: PostgreSQL
#include <fmt/format.h>

#include "cli/json_writer.h"
#include "cli/setup_common.h"
#include "cli/table.h"
#include "cli/verbs.h"

namespace varve::cli {
namespace {

std::string SlotJson(const setup::SlotReport& slot) {
  JsonWriter json;
  json.Flag("exists", slot.exists);
  json.Flag("active", slot.active);
  if (slot.active) json.Raw("active_pid", fmt::format("{}", slot.active_pid));
  json.Text("wal_status", slot.wal_status);
  json.Text("confirmed_flush", slot.confirmed_flush);
  json.Raw("lag_bytes", fmt::format("{}", slot.lag_bytes));
  json.Raw("retained_wal_bytes", fmt::format("{}", slot.retained_wal_bytes));
  return json.Finish();
}

void PrintSlot(const setup::SlotReport& slot, Output* output) {
  if (!slot.exists) {
    output->Write("slot     does not exist: varved makes it at its first start\n");
    return;
  }
  output->Write(
      fmt::format("slot     {}, WAL {}; confirmed {}, {} bytes behind, {} bytes of WAL kept for it\n",
                  slot.active ? fmt::format("in use by process {}", slot.active_pid) : "not in use",
                  slot.wal_status, slot.confirmed_flush, slot.lag_bytes, slot.retained_wal_bytes));
}

// What varved itself says, where it runs.
struct VarvedReport {
  std::string server;
  bool reachable = false;
  std::string phase, transport, transport_reason, lag_bytes, lag_seconds;
};

// The whole body of an answer; what goes wrong becomes a trouble.
std::optional<std::string> Fetch(const Session& session, const std::string& server, std::string_view path,
                                 std::vector<std::string>* troubles) {
  ClientRequest request;
  request.path = {"v1", std::string(path)};
  std::string body;
  const base::Result<ClientAnswer> answer = session.Ask(server, request, [&body](std::string_view part) {
    body.append(part);
    return true;
  });
  if (answer && !answer->refusal) return body;
  troubles->push_back(answer ? answer->refusal->code + ": " + answer->refusal->message
                             : answer.error().message);
  return std::nullopt;
}

void AddBrokenTables(const std::string& body, std::vector<std::string>* troubles) {
  const base::Result<JsonObject> document = JsonObject::Parse(body);
  if (!document) return;
  for (const std::string_view item : document->Items("tables")) {
    const base::Result<JsonObject> table = JsonObject::Parse(item);
    if (!table || table->Text("state") == "tracked") continue;
    const bool broken = table->Text("state") == "broken";
    troubles->push_back(
        fmt::format("table {} is {}: {}{}", table->Text("table"), table->Text("state"), table->Text("reason"),
                    broken ? "; the whole cure is in docs/operations.md, \"A new first copy\"" : ""));
  }
}

VarvedReport AskVarved(const Session& session, const std::string& server,
                       std::vector<std::string>* troubles) {
  VarvedReport report;
  report.server = server;
  const auto body = Fetch(session, server, "status", troubles);
  if (!body) return report;
  const base::Result<JsonObject> status = JsonObject::Parse(*body);
  if (!status) {
    troubles->push_back(fmt::format("what answers at {} is no varved", server));
    return report;
  }
  report.reachable = true;
  report.phase = status->Text("phase");
  report.transport = status->Text("transport");
  report.transport_reason = status->Text("transport_reason");
  report.lag_bytes = status->Text("lag_bytes");
  report.lag_seconds = status->Text("lag_seconds");
  if (status->Text("ready") != "true") troubles->push_back("varved is not ready: " + status->Text("reason"));
  if (status->Has("last_error")) {
    troubles->push_back(status->Text("last_error") + "; " + status->Text("remedy"));
  }
  if (const auto tables = Fetch(session, server, "tables", troubles)) AddBrokenTables(*tables, troubles);
  return report;
}

std::string VarvedJson(const VarvedReport& report) {
  JsonWriter json;
  json.Text("server", report.server);
  json.Flag("reachable", report.reachable);
  if (report.reachable) json.Text("phase", report.phase);
  if (!report.transport.empty()) json.Text("transport", report.transport);
  if (!report.transport_reason.empty()) json.Text("transport_reason", report.transport_reason);
  if (!report.lag_bytes.empty()) {
    json.Raw("lag_bytes", report.lag_bytes);
    json.Raw("lag_seconds", report.lag_seconds);
  }
  return json.Finish();
}

void PrintVarved(const VarvedReport& report, Output* output) {
  std::string text = report.reachable ? report.phase : "does not answer";
  if (!report.lag_bytes.empty()) {
    text += fmt::format(", {} bytes, {} s behind", report.lag_bytes, report.lag_seconds);
  }
  if (!report.transport.empty()) text += ", transport " + report.transport;
  if (!report.transport_reason.empty()) text += " since " + report.transport_reason;
  output->Write(fmt::format("varved   at {}: {}\n", report.server, text));
}

// The one that was named, by --server or by its config file, before the one of the environment.
std::string ServerFor(const DoctorVerb& verb, const Source& source, const CommonOptions& common) {
  const bool of_config = !verb.config_path.empty() || common.server_is_default;
  return !common.server_given && of_config && !source.socket.empty() ? source.socket : common.server;
}

}  // namespace

int Run(const DoctorVerb& verb, Session* session) {
  const base::Result<Source> source = FindSource(verb.source, "", verb.config_path);
  if (!source) return Failed(source.error(), session);
  const base::Result<setup::DoctorReport> report = setup::Doctor(source->options);
  if (!report) return Failed(report.error(), session);
  std::vector<std::string> troubles;
  const VarvedReport varved = AskVarved(*session, ServerFor(verb, *source, session->common()), &troubles);
  const bool passed = setup::Passed(report->checks) && troubles.empty();
  const int status = passed ? kExitDone : kExitRefused;
  Output* output = session->output();
  if (session->format() != Format::kPeople) {
    JsonWriter json;
    json.Flag("passed", passed);
    json.Raw("checks", ArrayJson(report->checks, CheckJson));
    json.Raw("slot", SlotJson(report->slot));
    json.Raw("varved", VarvedJson(varved));
    json.Raw("troubles", ArrayJson(troubles, TextJson));
    output->Write(json.Finish() + "\n");
    return status;
  }
  for (const setup::Check& check : report->checks) PrintCheck(check, output);
  PrintSlot(report->slot, output);
  PrintVarved(varved, output);
  for (const std::string& trouble : troubles) {
    output->Write(fmt::format("{}  {}\n", output->Colored(Color::kRed, "trouble"), DisplayText(trouble)));
  }
  return status;
}

}  // namespace varve::cli
