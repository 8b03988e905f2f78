// SPDX-License-Identifier: PostgreSQL
#include "sidecar/http/csv.h"

#include <fmt/format.h>

#include "sidecar/types/json.h"

namespace varve::http {

void AppendCsvField(std::string_view text, bool alone, std::string* out) {
  // "\." alone on a line would be read as the end of the data.
  const bool quoted =
      text.empty() || text.find_first_of(",\"\r\n") != std::string_view::npos || (alone && text == "\\.");
  if (!quoted) {
    out->append(text);
    return;
  }
  *out += '"';
  for (const char c : text) {
    if (c == '"') *out += '"';
    *out += c;
  }
  *out += '"';
}

void AppendCsvHeader(const std::vector<const model::Column*>& columns, std::string* out) {
  for (size_t i = 0; i < columns.size(); ++i) {
    if (i > 0) *out += ',';
    AppendCsvField(columns[i]->name, columns.size() == 1, out);
  }
  *out += '\n';
}

base::Status AppendCsvRow(const model::Relation& relation, const std::vector<const model::Column*>& columns,
                          const std::vector<model::Cell>& cells, std::string* out) {
  std::string text;
  for (size_t i = 0; i < columns.size(); ++i) {
    if (i > 0) *out += ',';
    const size_t place = columns[i]->attnum - size_t{1};
    if (place >= cells.size()) continue;
    const model::Cell& cell = cells[place];
    if (cell.kind == model::CellKind::kUnchanged) {
      return base::Fail(base::ErrorCode::kInternal, fmt::format("{}.{}: the value was not resolved",
                                                                relation.QualifiedName(), columns[i]->name));
    }
    if (cell.kind != model::CellKind::kValue) continue;
    text.clear();
    RETURN_IF_ERROR(types::AppendValueText(relation, *columns[i], cell.value, &text));
    AppendCsvField(text, columns.size() == 1, out);
  }
  *out += '\n';
  return {};
}

}  // namespace varve::http
