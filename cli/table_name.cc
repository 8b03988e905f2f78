// SPDX-License-Identifier: PostgreSQL
#include "cli/table_name.h"

#include <fmt/format.h>

namespace varve::cli {

base::Result<std::string> TableName(std::string_view argument) {
  if (argument.empty() || (argument.front() != '"' && argument.find(".\"") == std::string_view::npos)) {
    return std::string(argument);
  }
  const auto bad = [argument] {
    return base::Fail(
        base::ErrorCode::kInvalidArgument,
        fmt::format("{} is no table name: write name, schema.name or \"Schema\".\"Name\", with two quotes "
                    "for one inside",
                    argument));
  };
  std::string name;
  int parts = 0;
  std::string_view rest = argument;
  while (true) {
    std::string part;
    if (!rest.empty() && rest.front() == '"') {
      size_t at = 1;
      for (; at < rest.size(); ++at) {
        if (rest[at] == '"') {
          if (at + 1 >= rest.size() || rest[at + 1] != '"') break;
          ++at;
        }
        part += rest[at];
      }
      if (at >= rest.size()) return bad();
      rest.remove_prefix(at + 1);
    } else {
      const size_t dot = std::min(rest.find('.'), rest.size());
      part = rest.substr(0, dot);
      rest.remove_prefix(dot);
    }
    if (part.empty() || ++parts > 2) return bad();
    name += (parts == 2 ? "." : "") + part;
    if (rest.empty()) break;
    if (rest.front() != '.') return bad();
    rest.remove_prefix(1);
  }
  return parts == 2 ? name : "public." + name;
}

}  // namespace varve::cli
