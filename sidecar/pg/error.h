// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <string>
#include <string_view>

#include "sidecar/base/result.h"

namespace varve::pg {

// An ErrorResponse of the server, in its own words.
struct ServerError {
  std::string sqlstate;  // five characters; empty when libpq itself failed
  std::string message;
  std::string detail;
  std::string hint;
};

// The code of the one enumeration for a SQLSTATE; kUnavailable where nothing fits better.
base::ErrorCode CodeOfSqlstate(std::string_view sqlstate);

// True when trying again without a change by a person is pointless: rights, missing or wrong objects,
// syntax. False for what passes by itself: connections, shutdown, resources, locks.
bool IsPermanent(std::string_view sqlstate);

// "message; detail (SQLSTATE 42704)".
std::string Describe(const ServerError& error);

// The SQLSTATE behind a text that libpq gives for a failed connection, which has none of its own: 28000,
// 28P01, 3D000, 42501, 53300, 57P03; empty when the text is of no known kind.
std::string_view SqlstateOfConnectText(std::string_view text);

}  // namespace varve::pg
