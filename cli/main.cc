// SPDX-License-Identifier: PostgreSQL
#include <csignal>
#include <cstdlib>

#include "cli/verbs.h"

int main(int argc, char** argv) {
  using varve::cli::Output;
  // A closed stdout is seen by its failing writes; a closed connection by the client.
  std::signal(SIGPIPE, SIG_IGN);
  const char* server = std::getenv("VARVE_SERVER");
  const auto parsed =
      varve::cli::ParseCommandLine(std::vector<std::string>(argv + 1, argv + argc),
                                   server != nullptr ? std::optional<std::string>(server) : std::nullopt);
  Output output = Output::Process();
  if (!parsed.command) {
    output.Write(parsed.output);
    output.WriteError(parsed.error);
    output.Flush();
    return parsed.exit_status;
  }
  const int status = varve::cli::RunCommand(*parsed.command, &output);
  output.Flush();
  return status;
}
