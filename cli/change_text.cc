// SPDX-License-Identifier: PostgreSQL
#include "cli/change_text.h"

#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/table.h"

namespace varve::cli {
namespace {

// A cell's text in one line; what is not there is null, as in JSON.
std::string CellText(const JsonObject& row, const std::string& column) {
  const std::string_view value = row.Raw(column);
  return DisplayText(value.empty() ? "null" : value);
}

std::string Line(const Output& output, char sign, const std::string& text) {
  const Color color = sign == '+' ? Color::kGreen : Color::kRed;
  return output.Colored(color, fmt::format("{} {}", sign, text)) + "\n";
}

std::string DecodeBase64(std::string_view text) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos) break;
    bits = (bits << 6) | static_cast<uint32_t>(digit);
    count += 6;
    if (count >= 8) {
      count -= 8;
      bytes += static_cast<char>((bits >> count) & 0xFF);
    }
  }
  return bytes;
}

// One column that differs: its name then, nothing when it was not there, and its name now.
struct ChangedColumn {
  std::optional<std::string> before;
  std::string after;
};

std::vector<ChangedColumn> ChangedColumns(const JsonObject& change) {
  std::vector<ChangedColumn> columns;
  for (const std::string_view item : change.Items("changed")) {
    const std::string name = JsonForPeople(item).value_or("");
    columns.push_back({change.Has("before") ? std::optional(name) : std::nullopt, name});
  }
  size_t place = 0;
  for (const std::string_view item : change.Items("changed_before")) {
    if (place == columns.size()) break;
    columns[place++].before = item == "null" ? std::nullopt : JsonForPeople(item);
  }
  return columns;
}

std::string Columns(const JsonObject& change, const Output& output) {
  const JsonObject before = change.Object("before");
  const JsonObject after = change.Object("after");
  std::string text;
  for (const auto& [then, now] : ChangedColumns(change)) {
    if (then) text += Line(output, '-', DisplayText(*then) + ": " + CellText(before, *then));
    text += Line(output, '+', DisplayText(now) + ": " + CellText(after, now));
  }
  return text;
}

}  // namespace

std::string ShortTable(const std::string& table) {
  constexpr std::string_view kPublic = "public.";
  return table.substr(0, kPublic.size()) == kPublic ? table.substr(kPublic.size()) : table;
}

std::string TimeText(const std::string& time) {
  std::string text = time;
  if (text.size() > 10 && text[10] == 'T') text[10] = ' ';
  return text;
}

std::string ChangeText(const JsonObject& change, const Output& output) {
  const std::string op = change.Text("op");
  std::string head = "@@";
  if (change.Has("position")) {
    head += fmt::format(" xid:{} {}", change.Text("xid"), change.Text("position"));
  }
  if (change.Has("table")) head += " " + DisplayText(ShortTable(change.Text("table")));
  if (change.Has("key")) head += " " + DisplayText(change.Raw("key"));
  if (op == "message") head += " " + DisplayText(change.Text("prefix"));
  head = output.Colored(Color::kCyan, fmt::format("{} {} @@", head, op)) + "\n";
  // Without a key only the whole rows say which one it is.
  if (op == "update" && !change.Has("key")) {
    return head + Line(output, '-', DisplayText(change.Raw("before"))) +
           Line(output, '+', DisplayText(change.Raw("after")));
  }
  if (op == "update") return head + Columns(change, output);
  if (op == "insert") return head + Line(output, '+', DisplayText(change.Raw("after")));
  if (op == "delete") {
    return head + (change.Has("before") ? Line(output, '-', DisplayText(change.Raw("before"))) : "");
  }
  if (op == "message") return head + DisplayText(DecodeBase64(change.Text("content_base64"))) + "\n";
  const std::string detail = change.Text("detail");
  return detail.empty() ? head : head + DisplayText(detail) + "\n";
}

std::string VersionText(const JsonObject& version) {
  if (version.Text("op") != "update") {
    const std::string_view row = version.Raw("after");
    return row.empty() ? version.Text("detail") : std::string(row);
  }
  const JsonObject before = version.Object("before");
  const JsonObject after = version.Object("after");
  std::string text;
  for (const auto& [then, now] : ChangedColumns(version)) {
    if (!text.empty()) text += '\n';
    text += now + ": ";
    if (then) text += CellText(before, *then) + " -> ";
    text += CellText(after, now);
  }
  return text;
}

std::string CountsText(const JsonObject& counts) {
  std::string text;
  for (const auto& [name, sign] :
       {std::pair("inserts", "+"), std::pair("updates", "~"), std::pair("deletes", "-")}) {
    const uint64_t count = counts.Count(name);
    if (count != 0) text += fmt::format("{}{}{}", text.empty() ? "" : " ", sign, count);
  }
  if (counts.Count("truncates") != 0) text += text.empty() ? "truncated" : " truncated";
  if (counts.Count("definitions") != 0) text += text.empty() ? "redefined" : " redefined";
  return text;
}

}  // namespace varve::cli
