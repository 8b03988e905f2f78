// SPDX-License-Identifier: PostgreSQL
#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "sidecar/http/change_json.h"
#include "sidecar/http/csv.h"
#include "sidecar/http/handlers.h"
#include "sidecar/http/json_text.h"
#include "sidecar/http/list_answer.h"
#include "sidecar/http/moment.h"
#include "sidecar/types/json.h"
#include "sidecar/types/key.h"

namespace varve::http {

using base::ErrorCode;
using base::Fail;
using history::History;

namespace {

// A table of the request's path at the moment that `as_of` names.
struct TableAt {
  base::TableOid oid;
  Moment moment;
  std::shared_ptr<const model::Relation> relation;
};

base::Result<TableAt> FindTableAt(const Context& context, const History& history, const Request& request,
                                  std::string_view parameter) {
  TableAt at;
  // What is waited for may give the name to another table.
  ASSIGN_OR_RETURN(const WaitOptions wait, FindWait(request));
  if (wait.server) RETURN_IF_ERROR(WaitForServer(context, history, wait.timeout));
  ASSIGN_OR_RETURN(at.oid, history.FindTable(request.captures[0]));
  ASSIGN_OR_RETURN(const std::string reference, request.FindOr(parameter, "now"));
  ASSIGN_OR_RETURN(at.moment,
                   ResolveMoment(context, history, reference, at.oid, WaitOptions{false, wait.timeout}));
  ASSIGN_OR_RETURN(at.relation, history.RelationAt(at.oid, at.moment.point.position));
  return at;
}

std::string ColumnNames(const model::Relation& relation) {
  std::string names;
  for (const model::Column& column : relation.columns) {
    names += (names.empty() ? "" : ", ") + column.name;
  }
  return names;
}

// Writes rows in the wanted format with the wanted columns.
class RowWriter {
 public:
  static base::Result<RowWriter> Make(const model::Relation& relation, const Request& request,
                                      Format format) {
    RowWriter writer(format);
    for (const std::string& list : request.FindAll("columns")) {
      ASSIGN_OR_RETURN(const std::vector<std::string> names, ParseColumnList(list));
      for (const std::string& name : names) {
        const model::Column* column = relation.FindColumn(name);
        if (column == nullptr) {
          return Fail(ErrorCode::kInvalidArgument,
                      fmt::format("{} has no column \"{}\" at this moment; it has {}",
                                  relation.QualifiedName(), name, ColumnNames(relation)));
        }
        writer.columns_.push_back(column);
      }
    }
    writer.all_ = writer.columns_.empty();
    if (writer.all_) {
      for (const model::Column& column : relation.columns) writer.columns_.push_back(&column);
    }
    return writer;
  }

  std::string CsvHeader() const {
    std::string line;
    AppendCsvHeader(columns_, &line);
    return line;
  }

  // REQUIRES: `relation` is the one that the writer was made with, or equal to it.
  base::Status Append(const model::Relation& relation, const std::vector<model::Cell>& cells,
                      std::string* out) {
    if (format_ == Format::kCsv) return AppendCsvRow(relation, columns_, cells, out);
    if (all_) return types::AppendRowJson(relation, cells, out);
    chosen_.assign(cells.size(), model::Cell{});
    for (const model::Column* column : columns_) {
      const size_t place = column->attnum - size_t{1};
      if (place < cells.size()) chosen_[place] = cells[place];
    }
    return types::AppendRowJson(relation, chosen_, out);
  }

 private:
  explicit RowWriter(Format format) : format_(format) {}

  Format format_;
  std::vector<const model::Column*> columns_;
  bool all_ = true;
  std::vector<model::Cell> chosen_;
};

std::string Hex(std::string_view bytes) {
  std::string hex;
  hex.reserve(2 * bytes.size());
  for (const char c : bytes) hex += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return hex;
}

// Where a scan of a table without a key goes on: what it gave as `next`.
std::string RowToken(std::string_view key) { return fmt::format(R"("{}")", Hex(key)); }

base::Result<std::string> ParseRowToken(std::string_view token) {
  std::string key;
  if (token.size() >= 2 && token.front() == '"' && token.back() == '"')
    token = token.substr(1, token.size() - 2);
  for (size_t i = 0; i + 1 < token.size(); i += 2) {
    unsigned byte = 0;
    const auto parsed = std::from_chars(token.data() + i, token.data() + i + 2, byte, 16);
    if (parsed.ec != std::errc() || parsed.ptr != token.data() + i + 2) break;
    key.push_back(static_cast<char>(byte));
  }
  if (!key.empty() && 2 * key.size() == token.size()) return key;
  return Fail(ErrorCode::kInvalidArgument,
              "the table has no key: `after` takes only what an answer gave as `next`");
}

// Errors: also kInvalidArgument for a table whose rows have no key.
base::Result<std::string> ParseRowKey(const model::Relation& relation, std::string_view text) {
  if (!relation.KeyColumns().empty()) return types::ParseKey(relation, text);
  return Fail(
      ErrorCode::kInvalidArgument,
      fmt::format("{0} has no key, so no row of it can be named: `varve scan {0} --where column=value` "
                  "finds rows, `varve diff` and `varve show` tell what changed",
                  relation.QualifiedName()));
}

base::Result<history::ScanOptions> FindScanOptions(const Request& request, const model::Relation& relation) {
  history::ScanOptions options;
  for (const std::string& condition : request.FindAll("where")) {
    ASSIGN_OR_RETURN(auto pair, ParseCondition(condition));
    if (relation.FindColumn(pair.first) == nullptr) {
      return Fail(ErrorCode::kInvalidArgument,
                  fmt::format("where: {} has no column \"{}\" at this moment; it has {}",
                              relation.QualifiedName(), pair.first, ColumnNames(relation)));
    }
    options.where.push_back(std::move(pair));
  }
  ASSIGN_OR_RETURN(const std::optional<std::string> after, request.Find("after"));
  if (after && relation.KeyColumns().empty()) {
    ASSIGN_OR_RETURN(options.after_key, ParseRowToken(*after));
  } else if (after) {
    ASSIGN_OR_RETURN(options.after_key, types::ParseKey(relation, *after));
  }
  return options;
}

tl::unexpected<base::Error> NoSuchRow(const Request& request, const TableAt& at) {
  return Fail(ErrorCode::kNotFound,
              fmt::format("{} has no row with the key {} at {} ({})", at.relation->QualifiedName(),
                          request.captures[1], base::FormatPosition(at.moment.point.position),
                          base::FormatTimestamp(at.moment.point.commit_time)));
}

base::Status SendObject(const Moment& moment, const std::string& members, ResponseWriter* writer) {
  ResponseHead head;
  head.headers = MomentHeaders(moment);
  return writer->Send(head, fmt::format("{{\"at\":{}{}}}\n", MomentJson(moment), members));
}

}  // namespace

base::Status GetRows(const Context& context, const Request& request, ResponseWriter* writer) {
  ASSIGN_OR_RETURN(const std::shared_ptr<History> history, OpenHistory(context));
  ASSIGN_OR_RETURN(const TableAt at, FindTableAt(context, *history, request, "as_of"));
  ASSIGN_OR_RETURN(history::ScanOptions options, FindScanOptions(request, *at.relation));
  ASSIGN_OR_RETURN(const std::optional<uint64_t> limit, request.FindCount("limit"));
  const Format format = FormatOf(request.accept);
  ASSIGN_OR_RETURN(RowWriter rows, RowWriter::Make(*at.relation, request, format));
  // One row more tells whether there is anything behind the last one.
  if (limit && *limit < UINT64_MAX) options.limit = *limit + 1;

  ListAnswer answer(writer, format, at.moment, "rows");
  answer.SetCsvHeader(rows.CsvHeader());
  std::string last_key;
  const base::Status outcome = history->Scan(
      at.oid, at.moment.point.position, options, [&](const history::Row& row) -> base::Result<bool> {
        if (limit && answer.items() == *limit) {
          answer.AddTail("next", last_key);
          return false;
        }
        RETURN_IF_ERROR(rows.Append(*row.relation, *row.cells, answer.BeginItem()));
        if (limit && answer.items() + 1 == *limit) {
          if (row.relation->KeyColumns().empty()) {
            last_key = RowToken(row.key);
          } else {
            ASSIGN_OR_RETURN(last_key, KeyJson(row));
          }
        }
        return answer.EndItem();
      });
  return answer.Finish(outcome);
}

base::Status GetRow(const Context& context, const Request& request, ResponseWriter* writer) {
  ASSIGN_OR_RETURN(const std::shared_ptr<History> history, OpenHistory(context));
  ASSIGN_OR_RETURN(const TableAt at, FindTableAt(context, *history, request, "as_of"));
  ASSIGN_OR_RETURN(const std::string wanted, request.FindOr("format", "json"));
  if (wanted != "json" && wanted != "image") {
    return Fail(ErrorCode::kInvalidArgument, fmt::format("format is json or image, not \"{}\"", wanted));
  }
  const Format format = FormatOf(request.accept);
  ASSIGN_OR_RETURN(RowWriter rows, RowWriter::Make(*at.relation, request, format));
  ASSIGN_OR_RETURN(const std::string key, ParseRowKey(*at.relation, request.captures[1]));
  ASSIGN_OR_RETURN(const std::optional<history::OwnedRow> row,
                   history->Get(at.oid, key, at.moment.point.position));
  if (!row) return NoSuchRow(request, at);
  const std::string since = fmt::format(R"("{}")", base::FormatPosition(row->since));
  if (wanted == "image") {
    return SendObject(at.moment,
                      fmt::format(R"(,"version":"{:016x}","since":{},"image":"{}")",
                                  row->relation->version.value, since, Hex(row->image)),
                      writer);
  }
  if (format != Format::kJson) {
    ListAnswer answer(writer, format, at.moment, "rows");
    answer.SetCsvHeader(rows.CsvHeader());
    const base::Status outcome = rows.Append(*row->relation, row->cells, answer.BeginItem());
    if (outcome) answer.EndItem();
    return answer.Finish(outcome);
  }
  std::string json;
  RETURN_IF_ERROR(rows.Append(*row->relation, row->cells, &json));
  return SendObject(at.moment, fmt::format(R"(,"since":{},"row":{})", since, json), writer);
}

namespace {

// The version that the row had at the beginning of its history: {"op":"base",…,"after":{…}}.
base::Status AppendBase(const History& history, const history::Row& row, ListAnswer* answer) {
  std::string item = R"({"op":"base",)";
  const base::Result<history::TransactionInfo> began = history.GetTransaction(row.since);
  const history::StoreStatus status = history.GetStatus();
  if (began) {
    AppendPointMembers(began->point, &item);
  } else if (row.since <= status.first.position) {
    AppendPointMembers(status.first, &item);
  } else {
    item += fmt::format(R"("position":"{}")", base::FormatPosition(row.since));
  }
  item += R"(,"table":)";
  AppendJsonString(row.relation->QualifiedName(), &item);
  ASSIGN_OR_RETURN(const std::string key, KeyJson(row));
  item += R"(,"key":)" + key + R"(,"after":)";
  RETURN_IF_ERROR(types::AppendRowJson(*row.relation, *row.cells, &item));
  *answer->BeginItem() += item + "}";
  answer->EndItem();
  return {};
}

// A row that no change touched has the one version that it had all the time.
base::Status AppendOnlyVersion(const History& history, base::TableOid table, const std::string& key,
                               base::Position position, ListAnswer* answer) {
  ASSIGN_OR_RETURN(const std::optional<history::OwnedRow> row, history.Get(table, key, position));
  if (!row) return {};
  return AppendBase(history, history::Row{row->relation.get(), &row->cells, row->since, row->image}, answer);
}

// The version that the first change ended, with the schema of its own moment and not of that change's.
base::Status AppendEarlier(const History& history, base::TableOid table, const history::Row& before,
                           ListAnswer* answer) {
  ASSIGN_OR_RETURN(const std::string key, types::EncodeKey(*before.relation, *before.cells));
  const base::Position position = std::max(before.since, history.GetStatus().first.position);
  return AppendOnlyVersion(history, table, key, position, answer);
}

}  // namespace

base::Status GetRowHistory(const Context& context, const Request& request, ResponseWriter* writer) {
  ASSIGN_OR_RETURN(const std::shared_ptr<History> history, OpenHistory(context));
  ASSIGN_OR_RETURN(const TableAt at, FindTableAt(context, *history, request, "to"));
  ASSIGN_OR_RETURN(const Moment from, FindMoment(context, *history, request, "from", "first", at.oid));
  if (from.point.position > at.moment.point.position) {
    return Fail(ErrorCode::kInvalidArgument, "from is later than to: a row's history goes forward");
  }
  ASSIGN_OR_RETURN(const std::string key, ParseRowKey(*at.relation, request.captures[1]));
  const Format format = FormatOf(request.accept) == Format::kCsv ? Format::kJson : FormatOf(request.accept);

  ListAnswer answer(writer, format, at.moment, "versions");
  answer.AddMember("from", PointJson(from.point));
  base::Status outcome =
      history->RowHistory(at.oid, key, from.point.position, at.moment.point.position,
                          [&](const history::ChangeView& change) -> base::Result<bool> {
                            if (answer.items() == 0 && change.before != nullptr) {
                              RETURN_IF_ERROR(AppendEarlier(*history, at.oid, *change.before, &answer));
                            }
                            RETURN_IF_ERROR(AppendChangeJson(
                                change, ChangeJsonOptions{.point = true, .seq = true}, answer.BeginItem()));
                            return answer.EndItem();
                          });
  if (outcome && answer.items() == 0) {
    outcome = AppendOnlyVersion(*history, at.oid, key, from.point.position, &answer);
  }
  if (outcome && answer.items() == 0) {
    outcome =
        Fail(ErrorCode::kNotFound,
             fmt::format("at no moment between {2} and {3} had {0} a row with the key {1} (one that its own "
                         "transaction deleted again is in `varve show` of that)",
                         at.relation->QualifiedName(), request.captures[1],
                         base::FormatPosition(from.point.position),
                         base::FormatPosition(at.moment.point.position)));
  }
  return answer.Finish(outcome);
}

}  // namespace varve::http
