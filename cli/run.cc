// SPDX-License-Identifier: PostgreSQL
#include "cli/verbs.h"

namespace varve::cli {

int RunCommand(const CommandLine& command, Output* output) {
  Session session(command.common, output);
  return std::visit([&session](const auto& verb) { return Run(verb, &session); }, command.verb);
}

}  // namespace varve::cli
