// SPDX-License-Identifier: PostgreSQL
#include "sidecar/pg/error.h"

#include <array>
#include <utility>

#include <fmt/format.h>

namespace varve::pg {
namespace {

using base::ErrorCode;

struct CodeRow {
  std::string_view prefix;
  ErrorCode code;
  bool permanent;
};

// src/backend/utils/errcodes.txt. The first prefix that fits counts.
constexpr std::array kCodes = {
    CodeRow{"28", ErrorCode::kUnauthorized, true},     // invalid authorization
    CodeRow{"3D000", ErrorCode::kNotFound, true},      // database does not exist
    CodeRow{"42501", ErrorCode::kForbidden, true},     // insufficient privilege
    CodeRow{"42P01", ErrorCode::kNotFound, true},      // undefined table
    CodeRow{"42704", ErrorCode::kNotFound, true},      // undefined object: slot, publication
    CodeRow{"42710", ErrorCode::kExists, true},        // duplicate object
    CodeRow{"42", ErrorCode::kInvalidArgument, true},  // syntax and the like
    CodeRow{"22", ErrorCode::kInvalidArgument, true},  // data exception: bad plugin options
    CodeRow{"0A000", ErrorCode::kInvalidArgument, true},
    CodeRow{"55000", ErrorCode::kUnavailable, true},   // not in prerequisite state: wal_level, lost slot
    CodeRow{"55006", ErrorCode::kConflict, false},     // object in use: slot active elsewhere
    CodeRow{"55P03", ErrorCode::kUnavailable, false},  // lock not available
    CodeRow{"58P01", ErrorCode::kUnavailable, true},   // undefined file: the plugin's library
    CodeRow{"53400", ErrorCode::kUnavailable, true},   // configuration limit: all slots in use
    CodeRow{"40", ErrorCode::kConflict, false},
};

const CodeRow* FindRow(std::string_view sqlstate) {
  for (const CodeRow& row : kCodes) {
    if (sqlstate.substr(0, row.prefix.size()) == row.prefix) return &row;
  }
  return nullptr;
}

constexpr std::array<std::pair<std::string_view, std::string_view>, 12> kConnectTexts = {{
    {"no pg_hba.conf entry", "28000"},
    {"authentication failed", "28P01"},
    {"no password supplied", "28P01"},
    {"role \"", "28000"},  // role "x" does not exist, is not permitted to log in
    {"must be superuser or replication role", "42501"},
    {"permission denied", "42501"},
    {"number of requested standby connections exceeds", "53300"},
    {"too many clients", "53300"},
    {"remaining connection slots are reserved", "53300"},
    {"too many connections", "53300"},
    {"the database system is", "57P03"},  // starting up, shutting down, in recovery mode
    {"database \"", "3D000"},
}};

}  // namespace

ErrorCode CodeOfSqlstate(std::string_view sqlstate) {
  const CodeRow* row = FindRow(sqlstate);
  return row != nullptr ? row->code : ErrorCode::kUnavailable;
}

bool IsPermanent(std::string_view sqlstate) {
  const CodeRow* row = FindRow(sqlstate);
  return row != nullptr && row->permanent;
}

std::string Describe(const ServerError& error) {
  std::string text = error.message;
  if (!error.detail.empty()) text += "; " + error.detail;
  if (!error.sqlstate.empty()) text += fmt::format(" (SQLSTATE {})", error.sqlstate);
  return text;
}

std::string_view SqlstateOfConnectText(std::string_view text) {
  for (const auto& [part, sqlstate] : kConnectTexts) {
    if (text.find(part) != std::string_view::npos) return sqlstate;
  }
  return {};
}

}  // namespace varve::pg
