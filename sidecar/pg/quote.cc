// SPDX-License-Identifier: PostgreSQL
#include "sidecar/pg/connection.h"

namespace varve::pg {

std::string QuoteIdentifier(std::string_view name) {
  std::string quoted = "\"";
  for (const char c : name) {
    if (c == '"') quoted.push_back('"');
    quoted.push_back(c);
  }
  quoted.push_back('"');
  return quoted;
}

std::string QuoteLiteral(std::string_view value) {
  std::string quoted = value.find('\\') == std::string_view::npos ? "'" : " E'";
  for (const char c : value) {
    if (c == '\'' || c == '\\') quoted.push_back(c);
    quoted.push_back(c);
  }
  quoted.push_back('\'');
  return quoted;
}

std::string QuoteQualified(std::string_view schema, std::string_view name) {
  return QuoteIdentifier(schema) + "." + QuoteIdentifier(name);
}

}  // namespace varve::pg
