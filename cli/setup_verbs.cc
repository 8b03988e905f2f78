// SPDX-License-Identifier: PostgreSQL
#include <fmt/format.h>

#include "cli/json_writer.h"
#include "cli/setup_common.h"
#include "cli/table.h"
#include "cli/verbs.h"

namespace varve::cli {
namespace {

std::string InitJson(const setup::InitReport& report) {
  JsonWriter json;
  json.Flag("ready", report.ready);
  json.Raw("checks", ArrayJson(report.checks, CheckJson));
  json.Flag("publication_created", report.publication_created);
  json.Raw("tables", ArrayJson(report.tables, TextJson));
  json.Raw("added", ArrayJson(report.added, TextJson));
  json.Raw("left_out", ArrayJson(report.left_out, [](const setup::LeftOutTable& table) {
             JsonWriter item;
             item.Text("table", table.table);
             item.Text("reason", table.reason);
             item.Text("remedy", table.remedy);
             return item.Finish();
           }));
  json.Raw("grants", ArrayJson(report.grants, TextJson));
  json.Text("config_path", report.config_path);
  json.Flag("config_written", report.config_written);
  json.Text("config_text", report.config_text);
  json.Flag("endpoint_set", report.endpoint_set);
  if (!report.endpoint_line.empty()) json.Text("endpoint_line", report.endpoint_line);
  json.Text("next_step", report.next_step);
  return json.Finish();
}

void PrintInit(const setup::InitReport& report, Output* output) {
  for (const setup::Check& check : report.checks) PrintCheck(check, output);
  if (!report.ready) {
    output->Write("\nNothing was changed. Put right what failed, and run varve init again.\n");
    if (!report.grants.empty()) output->Write("\nThis role needs, as far as it lacks it:\n");
    for (const std::string& grant : report.grants) output->Write("  " + grant + "\n");
    return;
  }
  output->Write(fmt::format("\n{} table{} in the publication, {} added now{}.\n", report.tables.size(),
                            report.tables.size() == 1 ? "" : "s", report.added.size(),
                            report.publication_created ? " (the publication is new)" : ""));
  for (const std::string& table : report.added) output->Write("  + " + DisplayText(table) + "\n");
  if (!report.left_out.empty()) output->Write("Left out:\n");
  for (const setup::LeftOutTable& table : report.left_out) {
    output->Write(fmt::format("  {}: {}\n", DisplayText(table.table), table.reason));
    if (!table.remedy.empty()) output->Write(fmt::format("    -> {}\n", table.remedy));
  }
  if (report.config_written) {
    output->Write(fmt::format("Config file written: {}\n", report.config_path));
  } else if (report.config_present) {
    output->Write(fmt::format("Config file {} says the same already.\n", report.config_path));
  } else {
    output->Write(report.config_text);
  }
  if (report.endpoint_set) {
    output->Write("The server is told where to send changes (varve.ingest_endpoint, by ALTER SYSTEM).\n");
  } else if (!report.endpoint_line.empty()) {
    output->Write(fmt::format(
        "Changes come over the replication connection. With this in postgresql.conf and a reload they come "
        "a way that costs the server less:\n  {}\n",
        report.endpoint_line));
  }
  if (!report.next_step.empty()) output->Write("Next: " + report.next_step + "\n");
}

}  // namespace

int Run(const InitVerb& verb, Session* session) {
  setup::InitOptions options;
  options.server.dsn = verb.source;
  options.server.dsn_is_option = true;
  options.server.publication = verb.publication;
  options.server.slot = verb.slot;
  options.server.data_dir = verb.data_dir.empty() ? "/var/lib/varve/main" : verb.data_dir;
  options.server.allow_synchronous = verb.allow_synchronous;
  options.tables = verb.tables;
  base::Result<std::string> config_path = ConfigPath(verb.config_path);
  if (!config_path) return session->Fail(kExitUsage, config_path.error().message);
  options.config_path = *std::move(config_path);
  options.http_socket = verb.socket;
  options.write_config = !verb.no_config;
  options.overwrite_config = verb.overwrite;
  const base::Result<setup::InitReport> report = setup::Init(options);
  if (!report) return Failed(report.error(), session);
  if (session->format() == Format::kPeople) {
    PrintInit(*report, session->output());
  } else {
    session->output()->Write(InitJson(*report) + "\n");
  }
  return report->ready ? kExitDone : kExitRefused;
}

int Run(const DetachVerb& verb, Session* session) {
  const base::Result<std::string> config_path = ConfigPath(verb.config_path);
  if (!config_path) return session->Fail(kExitUsage, config_path.error().message);
  const base::Result<Source> source = FindSource(verb.source, verb.slot, verb.config_path);
  if (!source) return Failed(source.error(), session);
  const setup::Options& options = source->options;
  const base::Result<setup::DetachReport> report = setup::Detach(options, *config_path);
  if (!report) return Failed(report.error(), session);
  if (session->format() != Format::kPeople) {
    JsonWriter json;
    json.Flag("slot_dropped", report->slot_dropped);
    json.Raw("freed_wal_bytes", fmt::format("{}", report->freed_wal_bytes));
    json.Flag("endpoint_reset", report->endpoint_reset);
    json.Raw("remains", ArrayJson(report->remains, TextJson));
    session->output()->Write(json.Finish() + "\n");
    return kExitDone;
  }
  Output* output = session->output();
  output->Write(
      report->slot_dropped
          ? fmt::format("The slot {} is dropped; the server no longer keeps WAL for it ({} bytes so far).\n",
                        options.slot, report->freed_wal_bytes)
          : fmt::format("There was no slot {}.\n", options.slot));
  if (report->endpoint_reset) output->Write("The server's varve.ingest_endpoint is reset.\n");
  for (const std::string& sentence : report->remains) output->Write(sentence + "\n");
  return kExitDone;
}

}  // namespace varve::cli
