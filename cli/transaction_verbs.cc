// SPDX-License-Identifier: PostgreSQL
#include <fmt/format.h>

#include "cli/change_text.h"
#include "cli/reference.h"
#include "cli/table.h"
#include "cli/verbs.h"

namespace varve::cli {
namespace {

constexpr uint64_t kLogLimitForPeople = 50;

// Of the replication origin that brought it in.
std::string OriginName(const JsonObject& transaction) {
  const JsonObject origin = transaction.Object("origin");
  return origin.Has("name") ? DisplayText(origin.Text("name"))
                            : fmt::format("the dropped origin {}", origin.Text("id"));
}

// "accounts +1 ~2, orders +3, 1 message, from the_other_server"
std::string TablesText(const JsonObject& transaction) {
  std::string text;
  for (const std::string_view item : transaction.Items("tables")) {
    const base::Result<JsonObject> counts = JsonObject::Parse(item);
    if (!counts) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", DisplayText(ShortTable(counts->Text("table"))),
                        CountsText(*counts));
  }
  if (const uint64_t messages = transaction.Count("messages"); messages != 0) {
    text += fmt::format("{}{} message{}", text.empty() ? "" : ", ", messages, messages == 1 ? "" : "s");
  }
  if (transaction.Has("origin")) text += fmt::format(", from {}", OriginName(transaction));
  return text;
}

std::string XidText(const JsonObject& point) {
  if (!point.Has("xid")) return "first copy";
  if (point.Has("epoch")) return fmt::format("xid:{}:{}", point.Text("epoch"), point.Text("xid"));
  return "xid:" + point.Text("xid");
}

std::string LogLine(const JsonObject& transaction, const Output& output) {
  // Widths that keep the columns straight without knowing all lines; colours must not count.
  const std::string xid = XidText(transaction);
  return fmt::format("{}{}  {:<12}  {:<27}  {}\n", output.Colored(Color::kYellow, xid),
                     std::string(xid.size() < 12 ? 12 - xid.size() : 0, ' '), transaction.Text("position"),
                     TimeText(transaction.Text("time")), TablesText(transaction));
}

int PrintStat(ClientRequest request, Session* session, uint64_t* items) {
  TablePrinter table({"table", "inserted", "updated", "deleted", "truncated", "redefined"},
                     [session](std::string_view text) { session->output()->Write(text); });
  const int status = session->List(
      std::move(request), [](const JsonObject&) {},
      [&](std::string_view line) {
        ++*items;
        const base::Result<JsonObject> counts = JsonObject::Parse(line);
        if (!counts) return true;
        std::vector<std::optional<std::string>> cells = {ShortTable(counts->Text("table"))};
        // Rows that could not be compared are not counted.
        for (const char* name : {"inserts", "updates", "deletes", "truncates", "definitions"}) {
          cells.push_back(counts->Has(name) ? counts->Text(name) : "?");
        }
        table.Add(std::move(cells));
        return session->output()->alive();
      });
  if (status == kExitDone) table.Finish();
  return status;
}

std::string EndText(char sign, const JsonObject& point) {
  const std::string text(3, sign);
  return fmt::format("{} {} {} {}\n", text, point.Text("position"), XidText(point),
                     TimeText(point.Text("time")));
}

// What the end of the answer says of tables that could not be compared.
void WriteUnreadable(Session* session) {
  const base::Result<JsonObject> last = JsonObject::Parse(session->end_line());
  if (!last) return;
  const JsonObject end = last->Object("end");
  for (const std::string_view item : end.Items("unreadable")) {
    const base::Result<JsonObject> table = JsonObject::Parse(item);
    if (!table) continue;
    session->output()->WriteError(fmt::format("{} is not compared: {}\n",
                                              DisplayText(ShortTable(table->Text("table"))),
                                              DisplayText(table->Text("reason"))));
  }
}

int PrintDiff(ClientRequest request, Session* session, uint64_t* items) {
  Output* output = session->output();
  return session->List(
      std::move(request),
      [output](const JsonObject& first) {
        output->Write(output->Colored(Color::kBold, EndText('-', first.Object("from"))));
        output->Write(output->Colored(Color::kBold, EndText('+', first.Object("to"))));
      },
      [output, items](std::string_view line) {
        ++*items;
        const base::Result<JsonObject> change = JsonObject::Parse(line);
        if (change) output->Write(ChangeText(*change, *output));
        output->Progress(*items);
        return output->alive();
      });
}

// A program gets the answer as it is; whether there was anything in it says the number of rows at the end,
// which the JSON document does not have: its list is not empty when it holds a brace.
int CopyDiff(ClientRequest request, Session* session, uint64_t* items) {
  const bool lines = session->format() == Format::kNdjson;
  request.accept = lines ? "application/x-ndjson" : "application/json";
  uint64_t line = 0;
  LineSplitter splitter([&](std::string_view text) {
    ++line;
    // Both forms have the head in the first line and the end in a line of its own.
    if (line > 1 && text[0] != ']' && text.substr(0, 7) != "{\"end\":") ++*items;
    return true;
  });
  return session->Parts(std::move(request), [&](std::string_view part) {
    session->output()->Write(part);
    splitter.Add(part);
    session->output()->Progress(*items);
    return session->output()->alive();
  });
}

}  // namespace

int Run(const LogVerb& verb, Session* session) {
  ClientRequest request;
  request.path = {"v1", "transactions"};
  AddReference("from", verb.from, &request);
  AddReference("to", verb.to, &request);
  if (verb.oldest_first) AddText("order", "asc", &request);
  AddWait(verb.wait, &request);
  std::optional<uint64_t> limit = verb.limit;
  const bool people = session->format() == Format::kPeople;
  if (!limit && people) limit = kLogLimitForPeople;
  if (limit) AddText("limit", fmt::format("{}", *limit), &request);
  if (!people) return session->Copy(std::move(request), session->format());
  Output* output = session->output();
  const int status = session->List(
      std::move(request), [](const JsonObject&) {},
      [output](std::string_view line) {
        const base::Result<JsonObject> transaction = JsonObject::Parse(line);
        if (transaction) output->Write(LogLine(*transaction, *output));
        return output->alive();
      });
  const base::Result<JsonObject> end = JsonObject::Parse(session->end_line());
  if (status == kExitDone && end && end->Object("end").Has("more")) {
    output->WriteError(fmt::format("there are more than these {}: --limit N shows more\n", *limit));
  }
  return status;
}

int Run(const ShowVerb& verb, Session* session) {
  ClientRequest request;
  request.path = {"v1", "transactions", LocalReference(verb.reference)};
  AddWait(verb.wait, &request);
  if (session->format() != Format::kPeople) return session->Copy(std::move(request), session->format());
  Output* output = session->output();
  return session->List(
      std::move(request),
      [output](const JsonObject& first) {
        const JsonObject transaction = first.Object("transaction");
        output->Write(output->Colored(Color::kYellow, "transaction " + XidText(transaction)) + "\n");
        output->Write(fmt::format("Position: {}\nDate:     {}\nTables:   {}\n\n",
                                  transaction.Text("position"), TimeText(transaction.Text("time")),
                                  TablesText(transaction)));
      },
      [output](std::string_view line) {
        const base::Result<JsonObject> change = JsonObject::Parse(line);
        if (change) output->Write(ChangeText(*change, *output));
        return output->alive();
      });
}

int Run(const DiffVerb& verb, Session* session) {
  ClientRequest request;
  request.path = {"v1", "diff"};
  AddReference("from", verb.from, &request);
  AddReference("to", verb.to, &request);
  AddText("table", verb.table, &request);
  if (verb.raw) AddText("raw", "true", &request);
  if (verb.stat) AddText("stat", "true", &request);
  AddWait(verb.wait, &request);
  uint64_t items = 0;
  int status = kExitDone;
  if (session->format() != Format::kPeople) {
    status = CopyDiff(std::move(request), session, &items);
  } else if (verb.stat) {
    status = PrintStat(std::move(request), session, &items);
  } else {
    status = PrintDiff(std::move(request), session, &items);
  }
  if (status == kExitDone && session->format() == Format::kPeople) WriteUnreadable(session);
  if (status == kExitDone && verb.exit_code && items > 0) return kExitNo;
  return status;
}

}  // namespace varve::cli
