// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <string>

#include "cli/session.h"
#include "sidecar/setup/setup.h"

namespace varve::cli {

// What init, doctor and detach share, which talk to PostgreSQL themselves.

// Says an error of setup and gives its exit status.
int Failed(const base::Error& error, Session* session);

// The file that is meant: `given`, else VARVE_CONFIG, else the default. Errors: kInvalidArgument for a
// VARVE_CONFIG that is set and empty.
base::Result<std::string> ConfigPath(const std::string& given);

struct Source {
  setup::Options options;
  std::string socket;  // http.socket of the config file; empty without one
};
// Where the server is and how varved is set up for it: of the config file, --source in its stead or over it.
base::Result<Source> FindSource(const std::string& source, const std::string& slot,
                                const std::string& config_path);

void PrintCheck(const setup::Check& check, Output* output);
std::string CheckJson(const setup::Check& check);

}  // namespace varve::cli
