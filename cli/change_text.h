// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <string>
#include <string_view>

#include "cli/json.h"
#include "cli/output.h"

namespace varve::cli {

// "accounts" for "public.accounts", anything else as it is.
std::string ShortTable(const std::string& table);

// A change as a diff shows it: a line that says which row, then - and + by cell (update) or by row.
std::string ChangeText(const JsonObject& change, const Output& output);

// One line a changed cell, "balance: 100 -> 150", or the row for an insert.
std::string VersionText(const JsonObject& version);

// "+1 ~2 -3", "truncated": what happened to a table, in a transaction or a diff.
std::string CountsText(const JsonObject& counts);

// "2026-11-30 12:00:00.5Z" for "2026-11-30T12:00:00.5Z".
std::string TimeText(const std::string& time);

}  // namespace varve::cli
