// SPDX-License-Identifier: PostgreSQL
#include <fmt/format.h>

#include "cli/change_text.h"
#include "cli/reference.h"
#include "cli/table.h"
#include "cli/verbs.h"

namespace varve::cli {
namespace {

std::string PointText(const JsonObject& point) {
  return fmt::format("{}, {}{}", point.Text("position"), TimeText(point.Text("time")),
                     point.Has("xid") ? ", xid:" + point.Text("xid") : "");
}

std::string BytesText(uint64_t bytes) {
  constexpr std::string_view kUnits[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(kUnits); ++unit) value /= 1024;
  return unit == 0 ? fmt::format("{} bytes", bytes) : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string StatesText(const JsonObject& states) {
  std::string text;
  for (const JsonMember& state : states.members()) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", state.value, state.name);
  }
  return text.empty() ? "none" : text;
}

// One a line: what PREPARE TRANSACTION left open.
std::string PreparedText(const JsonObject& status) {
  std::string text;
  for (const std::string_view item : status.Items("prepared")) {
    const base::Result<JsonObject> prepared = JsonObject::Parse(item);
    if (!prepared) continue;
    text += fmt::format("{:<12}{} (xid {}) at {}, {}, {} changes\n", "prepared",
                        DisplayText(prepared->Text("gid")), prepared->Text("xid"), prepared->Text("position"),
                        TimeText(prepared->Text("time")), prepared->Text("changes"));
  }
  return text;
}

std::string TransportText(const JsonObject& status) {
  std::string text = status.Text("transport");
  if (text == "zmq") text += " at " + status.Text("endpoint");
  if (status.Has("transport_reason")) text += ", since " + status.Text("transport_reason");
  if (!text.empty()) text += fmt::format("; {} batches received", status.Text("batches_received"));
  return text;
}

std::string StatusText(const JsonObject& status) {
  std::string text;
  const auto add = [&text](std::string_view name, const std::string& value) {
    if (!value.empty()) text += fmt::format("{:<12}{}\n", name, DisplayText(value));
  };
  add("state", status.Text("ready") == "true"
                   ? status.Text("phase")
                   : status.Text("phase") + ", not ready: " + status.Text("reason"));
  add("trouble", status.Text("last_error"));
  add("remedy", status.Text("remedy"));
  add("database", status.Text("database"));
  add("slot", status.Text("slot"));
  add("publication", status.Text("publication"));
  add("transport", TransportText(status));
  if (status.Text("phase") == "copying") {
    add("first copy",
        fmt::format("{} rows of about {}", status.Text("rows_copied"), status.Text("rows_expected")));
  }
  if (status.Has("published")) {
    add("published", PointText(status.Object("published")));
    add("through", status.Text("published_through"));
    add("first", PointText(status.Object("first")));
    text += PreparedText(status);
  }
  add("server", status.Text("server_position"));
  add("confirmed", status.Text("confirmed_position"));
  if (status.Has("lag_bytes")) {
    add("behind", fmt::format("{}, {} s", BytesText(status.Count("lag_bytes")), status.Text("lag_seconds")));
  }
  if (status.Has("changes_per_second")) {
    add("rate", fmt::format("{} changes/s, {} transactions/s", status.Text("changes_per_second"),
                            status.Text("transactions_per_second")));
    add("store", BytesText(status.Count("store_bytes")));
    add("tables", StatesText(status.Object("tables")));
  }
  add("varved", status.Text("version"));
  return text;
}

}  // namespace

int Run(const StatusVerb&, Session* session) {
  ClientRequest request;
  request.path = {"v1", "status"};
  if (session->format() != Format::kPeople) return session->Copy(std::move(request), Format::kJson);
  return session->Document(std::move(request), [session](const JsonObject& status) {
    session->output()->Write(StatusText(status));
  });
}

int Run(const TablesVerb&, Session* session) {
  ClientRequest request;
  request.path = {"v1", "tables"};
  if (session->format() != Format::kPeople) return session->Copy(std::move(request), session->format());
  TablePrinter table({"table", "state", "key", "first", "changes"},
                     [session](std::string_view text) { session->output()->Write(text); });
  std::string reasons;  // sentences, which would make the table too wide
  const int status = session->List(
      std::move(request), [](const JsonObject&) {},
      [&](std::string_view line) {
        const base::Result<JsonObject> item = JsonObject::Parse(line);
        if (!item) return true;
        std::string key;
        for (const std::string_view column : item->Items("key")) {
          key += (key.empty() ? "" : ", ") + JsonForPeople(column).value_or("");
        }
        if (key.empty() && item->Text("identity") == "full") key = "(the whole row)";
        table.Add(
            {item->Text("table"), item->Text("state"), key, item->Text("first"), item->Text("changes")});
        if (const std::string reason = item->Text("reason"); !reason.empty()) {
          reasons += fmt::format("\n{} is {}: {}\n", DisplayText(item->Text("table")), item->Text("state"),
                                 DisplayText(reason));
        }
        return true;
      });
  if (status == kExitDone) {
    table.Finish();
    session->output()->Write(reasons);
  }
  return status;
}

int Run(const TagCreateVerb& verb, Session* session) {
  ClientRequest request;
  request.method = "POST";
  request.path = {"v1", "tags"};
  AddWait(verb.wait, &request);
  request.body = R"({"name":)";
  AppendJsonString(verb.name, &request.body);
  request.body += R"(,"ref":)";
  AppendJsonString(LocalReference(verb.reference), &request.body);
  request.body += "}";
  if (session->format() != Format::kPeople) return session->Copy(std::move(request), Format::kJson);
  return session->Document(std::move(request), [session](const JsonObject& document) {
    const JsonObject tag = document.Object("tag");
    session->output()->Write(fmt::format("tag:{} is {}\n", tag.Text("name"), PointText(tag)));
  });
}

int Run(const TagListVerb&, Session* session) {
  ClientRequest request;
  request.path = {"v1", "tags"};
  if (session->format() != Format::kPeople) return session->Copy(std::move(request), session->format());
  TablePrinter table({"name", "position", "time", "xid"},
                     [session](std::string_view text) { session->output()->Write(text); });
  const int status = session->List(
      std::move(request), [](const JsonObject&) {},
      [&table](std::string_view line) {
        const base::Result<JsonObject> tag = JsonObject::Parse(line);
        if (tag) {
          table.Add(
              {tag->Text("name"), tag->Text("position"), TimeText(tag->Text("time")), tag->Text("xid")});
        }
        return true;
      });
  if (status == kExitDone) table.Finish();
  return status;
}

int Run(const TagDeleteVerb& verb, Session* session) {
  ClientRequest request;
  request.method = "DELETE";
  request.path = {"v1", "tags"};
  AddText("name", verb.name, &request);
  if (session->format() != Format::kPeople) return session->Copy(std::move(request), Format::kJson);
  return session->Document(std::move(request), [session](const JsonObject& document) {
    session->output()->Write(fmt::format("tag:{} is deleted\n", document.Text("deleted")));
  });
}

}  // namespace varve::cli
