// SPDX-License-Identifier: PostgreSQL
#include <memory>

#include <fmt/format.h>

#include "cli/change_text.h"
#include "cli/csv.h"
#include "cli/table.h"
#include "cli/verbs.h"

namespace varve::cli {
namespace {

std::vector<std::string> Names(const Cells& header) {
  std::vector<std::string> names;
  for (const auto& name : header) names.push_back(name.value_or(""));
  return names;
}

TablePrinter::Sink SinkOf(Session* session) {
  return [output = session->output()](std::string_view text) { output->Write(text); };
}

// The rows of a CSV answer as psql would show them.
int PrintTable(ClientRequest request, Session* session) {
  request.accept = "text/csv";
  std::unique_ptr<TablePrinter> table;
  CsvReader reader([&](Cells cells) {
    if (!table) {
      table = std::make_unique<TablePrinter>(Names(cells), SinkOf(session));
    } else {
      table->Add(std::move(cells));
      session->output()->Progress(table->rows());
    }
  });
  const int status = session->Parts(std::move(request), [&](std::string_view part) {
    reader.Add(part);
    return session->output()->alive();
  });
  if (table && status == kExitDone) table->Finish();
  return status;
}

int PrintOneRow(ClientRequest request, Session* session) {
  request.accept = "text/csv";
  std::vector<Cells> lines;
  CsvReader reader([&lines](Cells cells) { lines.push_back(std::move(cells)); });
  const int status = session->Parts(std::move(request), [&](std::string_view part) {
    reader.Add(part);
    return true;
  });
  if (status == kExitDone && lines.size() == 2)
    session->output()->Write(ExpandedRow(Names(lines[0]), lines[1]));
  return status;
}

Format FormatNamed(const std::string& name, Format otherwise) {
  if (name == "json") return Format::kJson;
  if (name == "ndjson") return Format::kNdjson;
  if (name == "csv") return Format::kCsv;
  if (name == "image") return Format::kImage;
  if (name == "table") return Format::kPeople;
  return otherwise;
}

}  // namespace

int Run(const GetVerb& verb, Session* session) {
  const Format format = FormatNamed(verb.format, session->format());
  ClientRequest request;
  request.path = {"v1", "tables", verb.table, "rows", verb.key};
  AddReference("as_of", verb.as_of, &request);
  AddText("columns", verb.columns, &request);
  AddWait(verb.wait, &request);
  if (format == Format::kPeople) return PrintOneRow(std::move(request), session);
  if (format == Format::kImage) AddText("format", "image", &request);
  return session->Copy(std::move(request), format);
}

int Run(const ScanVerb& verb, Session* session) {
  const Format format = FormatNamed(verb.format, session->format());
  ClientRequest request;
  request.path = {"v1", "tables", verb.table, "rows"};
  AddReference("as_of", verb.as_of, &request);
  for (const std::string& condition : verb.where) AddText("where", condition, &request);
  AddText("columns", verb.columns, &request);
  if (verb.limit) AddText("limit", fmt::format("{}", *verb.limit), &request);
  AddText("after", verb.after, &request);
  AddWait(verb.wait, &request);
  if (format == Format::kPeople) return PrintTable(std::move(request), session);
  return session->Copy(std::move(request), format);
}

int Run(const HistoryVerb& verb, Session* session) {
  ClientRequest request;
  request.path = {"v1", "tables", verb.table, "rows", verb.key, "history"};
  AddReference("from", verb.from, &request);
  AddReference("to", verb.to, &request);
  AddWait(verb.wait, &request);
  if (session->format() != Format::kPeople) return session->Copy(std::move(request), session->format());
  std::unique_ptr<TablePrinter> table;
  const int status = session->List(
      std::move(request),
      [&](const JsonObject&) {
        table = std::make_unique<TablePrinter>(
            std::vector<std::string>{"xid", "position", "time", "operation", "changed"}, SinkOf(session));
      },
      [&](std::string_view line) {
        const base::Result<JsonObject> version = JsonObject::Parse(line);
        if (!version) return true;
        const std::string xid = version->Text("xid");
        std::string op = version->Text("op");
        if (op == "base") op = xid.empty() ? "(first copy)" : "(as it was)";
        table->Add(
            {xid, version->Text("position"), TimeText(version->Text("time")), op, VersionText(*version)});
        return session->output()->alive();
      });
  if (table && status == kExitDone) table->Finish();
  return status;
}

}  // namespace varve::cli
