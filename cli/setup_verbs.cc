// SPDX-License-Identifier: PostgreSQL
#include <cstdlib>

#include <fmt/format.h>

#include "cli/table.h"
#include "cli/verbs.h"
#include "sidecar/config/config.h"
#include "sidecar/setup/setup.h"

namespace varve::cli {
namespace {

// Exit status of an error of setup, which talks to PostgreSQL and not to varved.
int Failed(const base::Error& error, Session* session) {
  if (error.code == base::ErrorCode::kUnavailable) return session->Fail(kExitUnreachable, error.message);
  return session->Refuse(Refusal{std::string(base::ErrorCodeName(error.code)), error.message});
}

std::string ConfigPath(const std::string& given) {
  if (!given.empty()) return given;
  const char* variable = std::getenv("VARVE_CONFIG");
  return variable != nullptr ? std::string(variable) : std::string(config::kDefaultPath);
}

// Where the server is and how varved is set up for it: of the config file, --source in its stead or over it.
base::Result<setup::Options> SourceOptions(const std::string& source, const std::string& slot,
                                           const std::string& config_path) {
  setup::Options options;
  const base::Result<config::Config> config = config::Load(config_path, config::ProcessEnvironment());
  if (config) {
    options.dsn = config->ingest.dsn;
    options.publication = config->ingest.publication;
    options.slot = config->ingest.slot;
    options.data_dir = config->history.data_dir;
    options.allow_synchronous = config->ingest.allow_synchronous;
  } else if (source.empty() || !config_path.empty()) {
    return base::Fail(config.error());
  }
  if (!source.empty()) options.dsn = source;
  if (!slot.empty()) options.slot = slot;
  return options;
}

Color ColorOf(setup::CheckResult result) {
  switch (result) {
    case setup::CheckResult::kOk: return Color::kGreen;
    case setup::CheckResult::kWarning: return Color::kYellow;
    case setup::CheckResult::kUnknown: return Color::kYellow;
    case setup::CheckResult::kFailed: return Color::kRed;
  }
  return Color::kNone;
}

void PrintCheck(const setup::Check& check, Output* output) {
  const std::string_view result = setup::CheckResultName(check.result);
  output->Write(fmt::format("{}{} {}: {}\n", output->Colored(ColorOf(check.result), result),
                            std::string(result.size() < 8 ? 8 - result.size() : 0, ' '),
                            DisplayText(check.name), DisplayText(check.message)));
  if (!check.remedy.empty()) output->Write(fmt::format("         -> {}\n", check.remedy));
}

// An object with texts, put together member by member.
class JsonWriter {
 public:
  void Raw(std::string_view name, std::string_view json) {
    if (text_.size() > 1) text_ += ',';
    AppendJsonString(name, &text_);
    text_ += ':';
    text_ += json;
  }
  void Text(std::string_view name, std::string_view value) {
    std::string json;
    AppendJsonString(value, &json);
    Raw(name, json);
  }
  void Flag(std::string_view name, bool value) { Raw(name, value ? "true" : "false"); }
  std::string Finish() { return text_ + "}"; }

 private:
  std::string text_ = "{";
};

template <typename Items, typename ToJson>
std::string ArrayJson(const Items& items, ToJson to_json) {
  std::string json = "[";
  for (const auto& item : items) {
    if (json.size() > 1) json += ',';
    json += to_json(item);
  }
  return json + "]";
}

std::string TextJson(const std::string& text) {
  std::string json;
  AppendJsonString(text, &json);
  return json;
}

std::string CheckJson(const setup::Check& check) {
  JsonWriter json;
  json.Text("name", check.name);
  json.Text("result", setup::CheckResultName(check.result));
  json.Text("message", check.message);
  if (!check.remedy.empty()) json.Text("remedy", check.remedy);
  return json.Finish();
}

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
  json.Text("hba_line", report.hba_line);
  json.Text("config_path", report.config_path);
  json.Flag("config_written", report.config_written);
  json.Text("config_text", report.config_text);
  json.Text("next_step", report.next_step);
  return json.Finish();
}

void PrintInit(const setup::InitReport& report, Output* output) {
  for (const setup::Check& check : report.checks) PrintCheck(check, output);
  if (!report.ready) {
    output->Write("\nNothing was changed. Put right what failed, and run varve init again.\n");
    if (!report.grants.empty()) output->Write("\nA role of its own for varved needs:\n");
    for (const std::string& grant : report.grants) output->Write("  " + grant + "\n");
    if (!report.hba_line.empty()) output->Write("and in pg_hba.conf:\n  " + report.hba_line + "\n");
    return;
  }
  output->Write(fmt::format("\n{} table{} in the publication, {} added now{}.\n", report.tables.size(),
                            report.tables.size() == 1 ? "" : "s", report.added.size(),
                            report.publication_created ? " (the publication is new)" : ""));
  for (const std::string& table : report.added) output->Write("  + " + DisplayText(table) + "\n");
  if (!report.left_out.empty()) output->Write("Left out:\n");
  for (const setup::LeftOutTable& table : report.left_out) {
    output->Write(fmt::format("  {}: {}\n    -> {}\n", DisplayText(table.table), table.reason, table.remedy));
  }
  if (report.config_written) {
    output->Write(fmt::format("Config file written: {}\n", report.config_path));
  } else {
    output->Write(report.config_text);
  }
  if (!report.next_step.empty()) output->Write("Next: " + report.next_step + "\n");
}

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

// What varved itself says, where it runs: how far it is behind, and tables that cannot be read with the
// reason.
int PrintVarved(Session* session, std::vector<std::string>* troubles) {
  ClientRequest request;
  request.path = {"v1", "status"};
  Output* output = session->output();
  const int status = session->Document(std::move(request), [&](const JsonObject& answer) {
    output->Write(fmt::format(
        "varved   {}{}\n", answer.Text("phase"),
        answer.Has("lag_bytes")
            ? fmt::format(", {} bytes, {} s behind", answer.Text("lag_bytes"), answer.Text("lag_seconds"))
            : ""));
    if (answer.Text("ready") != "true") troubles->push_back("varved is not ready: " + answer.Text("reason"));
    if (answer.Has("last_error")) {
      troubles->push_back(answer.Text("last_error") + "; " + answer.Text("remedy"));
    }
  });
  if (status != kExitDone || !troubles->empty()) return status;
  ClientRequest tables;
  tables.path = {"v1", "tables"};
  return session->List(
      std::move(tables), [](const JsonObject&) {},
      [&](std::string_view line) {
        const base::Result<JsonObject> table = JsonObject::Parse(line);
        if (table && table->Text("state") != "tracked") {
          troubles->push_back(fmt::format("table {} is {}: {}", table->Text("table"), table->Text("state"),
                                          table->Text("reason")));
        }
        return true;
      });
}

}  // namespace

int Run(const InitVerb& verb, Session* session) {
  setup::InitOptions options;
  options.server.dsn = verb.source;
  options.server.publication = verb.publication;
  options.server.slot = verb.slot;
  options.server.data_dir = verb.data_dir.empty() ? "/var/lib/varve/main" : verb.data_dir;
  options.server.allow_synchronous = verb.allow_synchronous;
  options.tables = verb.tables;
  options.config_path = ConfigPath(verb.config_path);
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

int Run(const DoctorVerb& verb, Session* session) {
  const base::Result<setup::Options> options = SourceOptions(verb.source, "", verb.config_path);
  if (!options) return Failed(options.error(), session);
  const base::Result<setup::DoctorReport> report = setup::Doctor(*options);
  if (!report) return Failed(report.error(), session);
  const bool passed = setup::Passed(report->checks);
  if (session->format() != Format::kPeople) {
    JsonWriter json;
    json.Flag("passed", passed);
    json.Raw("checks", ArrayJson(report->checks, CheckJson));
    json.Raw("slot", SlotJson(report->slot));
    session->output()->Write(json.Finish() + "\n");
    return passed ? kExitDone : kExitRefused;
  }
  Output* output = session->output();
  for (const setup::Check& check : report->checks) PrintCheck(check, output);
  PrintSlot(report->slot, output);
  std::vector<std::string> troubles;
  const int asked = PrintVarved(session, &troubles);
  for (const std::string& trouble : troubles) {
    output->Write(fmt::format("{}  {}\n", output->Colored(Color::kRed, "trouble"), DisplayText(trouble)));
  }
  return passed && troubles.empty() && asked == kExitDone ? kExitDone : kExitRefused;
}

int Run(const DetachVerb& verb, Session* session) {
  const base::Result<setup::Options> options = SourceOptions(verb.source, verb.slot, verb.config_path);
  if (!options) return Failed(options.error(), session);
  const base::Result<setup::DetachReport> report = setup::Detach(*options, ConfigPath(verb.config_path));
  if (!report) return Failed(report.error(), session);
  if (session->format() != Format::kPeople) {
    JsonWriter json;
    json.Flag("slot_dropped", report->slot_dropped);
    json.Raw("freed_wal_bytes", fmt::format("{}", report->freed_wal_bytes));
    json.Raw("remains", ArrayJson(report->remains, TextJson));
    session->output()->Write(json.Finish() + "\n");
    return kExitDone;
  }
  Output* output = session->output();
  output->Write(
      report->slot_dropped
          ? fmt::format("The slot {} is dropped; the server no longer keeps WAL for it ({} bytes so far).\n",
                        options->slot, report->freed_wal_bytes)
          : fmt::format("There was no slot {}.\n", options->slot));
  for (const std::string& sentence : report->remains) output->Write(sentence + "\n");
  return kExitDone;
}

}  // namespace varve::cli
