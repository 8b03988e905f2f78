// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <memory>

#include "sidecar/base/result.h"
#include "sidecar/pg/connection.h"
#include "sidecar/setup/setup.h"

namespace varve::setup {

// An ordinary connection; what cannot be opened is kUnavailable (or what the server says), with the remedy in
// the message.
base::Result<std::unique_ptr<pg::Connection>> Connect(const Options& options);

// A remedy that names where the connection string stands.
std::string NamingSource(std::string remedy, const Options& options);

// The message with the remedy behind it.
std::string WithRemedy(std::string message, const std::string& remedy);

}  // namespace varve::setup
