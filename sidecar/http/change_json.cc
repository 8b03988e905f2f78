// SPDX-License-Identifier: PostgreSQL
#include "sidecar/http/change_json.h"

#include <fmt/format.h>

#include "sidecar/http/json_text.h"
#include "sidecar/types/json.h"
#include "sidecar/types/key.h"

namespace varve::http {
namespace {

void AppendBase64(std::string_view bytes, std::string* out) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t left = std::min<size_t>(bytes.size() - i, 3);
    uint32_t group = 0;
    for (size_t j = 0; j < 3; ++j) {
      group = (group << 8) | (j < left ? static_cast<unsigned char>(bytes[i + j]) : 0U);
    }
    for (size_t j = 0; j < 4; ++j) {
      *out += j <= left ? kDigits[(group >> (18 - 6 * j)) & 63] : '=';
    }
  }
}

const model::Column* ColumnOf(const history::Row* row, uint16_t attnum) {
  return row == nullptr ? nullptr : row->relation->FindAttnum(attnum);
}

// The columns that differ, by their names in `after`; and by those in `before`, null for one that was not
// there, where these are not the same.
void AppendChanged(const history::ChangeView& change, std::string* out) {
  std::string names;
  std::string names_before;
  for (const uint16_t attnum : change.changed) {
    const model::Column* after = ColumnOf(change.after, attnum);
    const model::Column* before = ColumnOf(change.before, attnum);
    const model::Column* any = after != nullptr ? after : before;
    if (!names.empty()) names += ',';
    AppendJsonString(any != nullptr ? any->name : fmt::format("attnum {}", attnum), &names);
    if (!names_before.empty()) names_before += ',';
    if (before == nullptr) {
      names_before += "null";
    } else {
      AppendJsonString(before->name, &names_before);
    }
  }
  *out += R"(,"changed":[)" + names + "]";
  if (change.before != nullptr && names_before != names) {
    *out += R"(,"changed_before":[)" + names_before + "]";
  }
}

base::Status AppendRow(std::string_view name, const history::Row* row, std::string* out) {
  if (row == nullptr) return {};
  *out += ',';
  AppendJsonName(name, out);
  return types::AppendRowJson(*row->relation, *row->cells, out);
}

}  // namespace

base::Result<std::string> KeyJson(const history::Row& row) {
  std::string key;
  RETURN_IF_ERROR(types::AppendKeyJson(*row.relation, *row.cells, &key));
  return key;
}

base::Status AppendChangeJson(const history::ChangeView& change, const ChangeJsonOptions& options,
                              std::string* out) {
  *out += fmt::format(R"({{"op":"{}")", history::ChangeKindName(change.kind));
  if (options.point) {
    *out += ',';
    AppendPointMembers(change.point, out);
  }
  if (options.seq) *out += fmt::format(R"(,"seq":{})", change.seq.value);
  if (change.relation != nullptr) {
    *out += R"(,"table":)";
    AppendJsonString(change.relation->QualifiedName(), out);
  }
  const history::Row* row = change.after != nullptr ? change.after : change.before;
  if (row != nullptr && !row->relation->KeyColumns().empty()) {
    ASSIGN_OR_RETURN(const std::string key, KeyJson(*row));
    *out += R"(,"key":)" + key;
  }
  if (change.kind == history::ChangeKind::kUpdate) AppendChanged(change, out);
  RETURN_IF_ERROR(AppendRow("before", change.before, out));
  RETURN_IF_ERROR(AppendRow("after", change.after, out));
  if (change.kind == history::ChangeKind::kMessage) {
    *out += R"(,"prefix":)";
    AppendJsonString(change.message_prefix, out);
    *out += R"(,"content_base64":")";
    AppendBase64(change.message_content, out);
    *out += '"';
  }
  if (!change.detail.empty()) {
    *out += R"(,"detail":)";
    AppendJsonString(change.detail, out);
  }
  *out += '}';
  return {};
}

}  // namespace varve::http
