// SPDX-License-Identifier: PostgreSQL
#include "cli/setup_common.h"

#include <cstdlib>

#include <fmt/format.h>

#include "cli/json_writer.h"
#include "cli/table.h"
#include "sidecar/config/config.h"

namespace varve::cli {
namespace {

Color ColorOf(setup::CheckResult result) {
  switch (result) {
    case setup::CheckResult::kOk: return Color::kGreen;
    case setup::CheckResult::kWarning: return Color::kYellow;
    case setup::CheckResult::kUnknown: return Color::kYellow;
    case setup::CheckResult::kFailed: return Color::kRed;
  }
  return Color::kNone;
}

}  // namespace

int Failed(const base::Error& error, Session* session) {
  if (error.code == base::ErrorCode::kUnavailable) return session->Fail(kExitUnreachable, error.message);
  return session->Refuse(Refusal{std::string(base::ErrorCodeName(error.code)), error.message});
}

base::Result<std::string> ConfigPath(const std::string& given) {
  if (!given.empty()) return given;
  const char* variable = std::getenv("VARVE_CONFIG");
  if (variable == nullptr) return std::string(config::kDefaultPath);
  if (*variable != '\0') return std::string(variable);
  return base::Fail(base::ErrorCode::kInvalidArgument,
                    "VARVE_CONFIG is set and empty: unset it, or name varved's config file");
}

base::Result<Source> FindSource(const std::string& source, const std::string& slot,
                                const std::string& config_path) {
  Source found;
  setup::Options& options = found.options;
  const base::Result<config::Config> config = config::Load(config_path, config::ProcessEnvironment());
  if (config) {
    options.dsn = config->ingest.dsn;
    options.publication = config->ingest.publication;
    options.slot = config->ingest.slot;
    options.data_dir = config->history.data_dir;
    options.allow_synchronous = config->ingest.allow_synchronous;
    found.socket = options.socket = config->http.socket;
    if (config->ingest.transport != ingest::TransportChoice::kStream) {
      options.endpoint = config->ingest.endpoint;
    }
  } else if (source.empty() || !config_path.empty()) {
    return base::Fail(config.error());
  }
  if (!source.empty()) options.dsn = source;
  options.dsn_is_option = !source.empty();
  if (!slot.empty()) options.slot = slot;
  return found;
}

void PrintCheck(const setup::Check& check, Output* output) {
  const std::string_view result = setup::CheckResultName(check.result);
  output->Write(fmt::format("{}{} {}: {}\n", output->Colored(ColorOf(check.result), result),
                            std::string(result.size() < 8 ? 8 - result.size() : 0, ' '),
                            DisplayText(check.name), DisplayText(check.message)));
  if (!check.remedy.empty()) output->Write(fmt::format("         -> {}\n", check.remedy));
}

std::string CheckJson(const setup::Check& check) {
  JsonWriter json;
  json.Text("name", check.name);
  json.Text("result", setup::CheckResultName(check.result));
  json.Text("message", check.message);
  if (!check.remedy.empty()) json.Text("remedy", check.remedy);
  return json.Finish();
}

}  // namespace varve::cli
