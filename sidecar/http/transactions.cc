// SPDX-License-Identifier: PostgreSQL
#include <map>
#include <set>

#include <fmt/format.h>

#include "sidecar/http/change_json.h"
#include "sidecar/http/handlers.h"
#include "sidecar/http/json_text.h"
#include "sidecar/http/list_answer.h"
#include "sidecar/http/moment.h"

namespace varve::http {

using base::ErrorCode;
using base::Fail;
using history::History;

namespace {

using TableNames = std::map<base::TableOid, std::string>;

TableNames NamesOf(const History& history) {
  TableNames names;
  for (const history::TableInfo& table : history.Tables()) {
    names[table.relation->oid] = table.relation->QualifiedName();
  }
  return names;
}

void AppendOrigin(const model::Origin& origin, std::string* out) {
  *out += fmt::format(R"(,"origin":{{"id":{})", origin.id);
  if (!origin.name.empty()) {
    *out += R"(,"name":)";
    AppendJsonString(origin.name, out);
  }
  if (origin.lsn.value != 0) *out += fmt::format(R"(,"lsn":"{}")", base::FormatLsn(origin.lsn));
  *out += '}';
}

void AppendTransaction(const TableNames& names, const history::TransactionInfo& transaction,
                       std::string* out) {
  *out += '{';
  AppendPointMembers(transaction.point, out);
  *out += R"(,"tables":[)";
  bool first = true;
  for (const auto& [oid, counts] : transaction.tables) {
    *out += first ? R"({"table":)" : R"(,{"table":)";
    first = false;
    const auto name = names.find(oid);
    AppendJsonString(name != names.end() ? name->second : fmt::format("oid {}", oid.value), out);
    *out += ',';
    AppendCountMembers(counts, out);
    *out += '}';
  }
  *out += fmt::format(R"(],"messages":{})", transaction.messages);
  if (transaction.origin) AppendOrigin(*transaction.origin, out);
  *out += '}';
}

Format ListFormat(const Request& request) {
  return FormatOf(request.accept) == Format::kNdjson ? Format::kNdjson : Format::kJson;
}

// The two ends of a diff and the table that it is of.
struct Ends {
  std::optional<base::TableOid> table;
  Moment from;
  Moment to;
};

base::Result<Ends> FindEnds(const Context& context, const History& history, const Request& request) {
  Ends ends;
  // What is waited for may give the name to another table.
  ASSIGN_OR_RETURN(const WaitOptions wait, FindWait(request));
  if (wait.server) RETURN_IF_ERROR(WaitForServer(context, history, wait.timeout));
  const WaitOptions waited{false, wait.timeout};
  ASSIGN_OR_RETURN(const std::optional<std::string> table, request.Find("table"));
  if (table) {
    ASSIGN_OR_RETURN(ends.table, history.FindTable(*table));
  }
  ASSIGN_OR_RETURN(const std::optional<std::string> from, request.Find("from"));
  if (!from) return Fail(ErrorCode::kInvalidArgument, "parameter from is missing: a reference to begin at");
  ASSIGN_OR_RETURN(const std::string to, request.FindOr("to", "now"));
  ASSIGN_OR_RETURN(ends.to, ResolveMoment(context, history, to, ends.table, waited));
  ASSIGN_OR_RETURN(ends.from, ResolveMoment(context, history, *from, ends.table, waited));
  return ends;
}

void Count(const history::ChangeView& change, history::TableCounts* counts) {
  switch (change.kind) {
    case history::ChangeKind::kInsert: ++counts->inserts; break;
    case history::ChangeKind::kUpdate: ++counts->updates; break;
    case history::ChangeKind::kDelete: ++counts->deletes; break;
    case history::ChangeKind::kTruncate: ++counts->truncates; break;
    case history::ChangeKind::kSchema: ++counts->definitions; break;
    case history::ChangeKind::kMessage:
    case history::ChangeKind::kUnreadable: break;
  }
}

// The tables that could not be compared, for the end of the answer: [{"table":…,"reason":…},…].
class Unreadable {
 public:
  void Add(const history::ChangeView& change) {
    json_ += json_.empty() ? R"([{"table":)" : R"(,{"table":)";
    AppendJsonString(change.relation->QualifiedName(), &json_);
    json_ += R"(,"reason":)";
    AppendJsonString(change.detail, &json_);
    json_ += '}';
    names_.insert(change.relation->QualifiedName());
  }
  bool Has(const std::string& name) const { return names_.count(name) != 0; }
  void AddTo(ListAnswer* answer) const {
    if (!json_.empty()) answer->AddTail("unreadable", json_ + "]");
  }

 private:
  std::string json_;
  std::set<std::string> names_;
};

// Counts by table instead of the changes themselves; none of rows where they could not be compared.
base::Status FinishStat(const History& history, const Ends& ends, bool raw, ListAnswer* answer) {
  std::map<std::string, history::TableCounts> tables;
  Unreadable unreadable;
  base::Status outcome = history.Diff(ends.from.point.position, ends.to.point.position, ends.table, raw,
                                      [&](const history::ChangeView& change) -> base::Result<bool> {
                                        if (change.kind == history::ChangeKind::kUnreadable) {
                                          unreadable.Add(change);
                                        } else if (change.relation != nullptr) {
                                          Count(change, &tables[change.relation->QualifiedName()]);
                                        }
                                        return true;
                                      });
  unreadable.AddTo(answer);
  for (const auto& [name, counts] : tables) {
    if (!outcome) break;
    std::string* out = answer->BeginItem();
    *out += R"({"table":)";
    AppendJsonString(name, out);
    *out += ',';
    if (unreadable.Has(name)) {
      *out += fmt::format(R"("definitions":{})", counts.definitions);
    } else {
      AppendCountMembers(counts, out);
    }
    *out += '}';
    if (!answer->EndItem()) break;
  }
  return answer->Finish(outcome);
}

}  // namespace

base::Status GetTransactions(const Context& context, const Request& request, ResponseWriter* writer) {
  ASSIGN_OR_RETURN(const std::shared_ptr<History> history, OpenHistory(context));
  ASSIGN_OR_RETURN(const std::string order, request.FindOr("order", "desc"));
  if (order != "asc" && order != "desc") {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("order is desc (newest first) or asc, not \"{}\"", order));
  }
  ASSIGN_OR_RETURN(const std::optional<uint64_t> limit, request.FindCount("limit"));
  ASSIGN_OR_RETURN(const Moment to, FindMoment(context, *history, request, "to", "now", std::nullopt));
  ASSIGN_OR_RETURN(const std::optional<std::string> from_reference, request.Find("from"));
  history::ReadPoint from = history->GetStatus().first;
  if (from_reference) {
    ASSIGN_OR_RETURN(const Moment moment,
                     ResolveMoment(context, *history, *from_reference, std::nullopt, WaitOptions{}));
    from = moment.point;
    if (from.position > to.point.position) {
      return Fail(ErrorCode::kInvalidArgument,
                  "from is later than to: the log goes from the earlier to the later");
    }
  }

  ListAnswer answer(writer, ListFormat(request), to, "transactions");
  answer.AddMember("from", PointJson(from));
  const TableNames names = NamesOf(*history);
  const base::Status outcome =
      history->Log(from.position, to.point.position, order == "asc",
                   [&](const history::TransactionInfo& transaction) -> base::Result<bool> {
                     if (limit && answer.items() == *limit) {
                       answer.AddTail("more", "true");
                       return false;
                     }
                     AppendTransaction(names, transaction, answer.BeginItem());
                     return answer.EndItem();
                   });
  return answer.Finish(outcome);
}

base::Status GetOneTransaction(const Context& context, const Request& request, ResponseWriter* writer) {
  ASSIGN_OR_RETURN(const std::shared_ptr<History> history, OpenHistory(context));
  ASSIGN_OR_RETURN(const WaitOptions wait, FindWait(request));
  ASSIGN_OR_RETURN(const Moment moment,
                   ResolveMoment(context, *history, request.captures[0], std::nullopt, wait));
  if (!moment.point.xid && moment.point.position == history->GetStatus().first.position) {
    return Fail(ErrorCode::kNotFound,
                fmt::format("{} is the first copy ({}): no transaction made it, its rows are what varve scan "
                            "--as-of first shows",
                            request.captures[0], base::FormatPosition(moment.point.position)));
  }
  ASSIGN_OR_RETURN(const history::TransactionInfo transaction,
                   history->GetTransaction(moment.point.position));
  std::string json;
  AppendTransaction(NamesOf(*history), transaction, &json);

  ListAnswer answer(writer, ListFormat(request), moment, "changes");
  answer.AddMember("transaction", json);
  const base::Status outcome =
      history->Show(moment.point.position, [&](const history::ChangeView& change) -> base::Result<bool> {
        RETURN_IF_ERROR(
            AppendChangeJson(change, ChangeJsonOptions{.point = false, .seq = true}, answer.BeginItem()));
        return answer.EndItem();
      });
  return answer.Finish(outcome);
}

base::Status GetDiff(const Context& context, const Request& request, ResponseWriter* writer) {
  ASSIGN_OR_RETURN(const std::shared_ptr<History> history, OpenHistory(context));
  ASSIGN_OR_RETURN(const bool raw, request.FindFlag("raw"));
  ASSIGN_OR_RETURN(const bool stat, request.FindFlag("stat"));
  ASSIGN_OR_RETURN(const Ends ends, FindEnds(context, *history, request));
  if (raw && ends.from.point.position > ends.to.point.position) {
    return Fail(ErrorCode::kInvalidArgument,
                "from is later than to: the steps of a raw diff go forward only");
  }
  ListAnswer answer(writer, ListFormat(request), ends.to, stat ? "tables" : "changes");
  answer.AddMember("from", PointJson(ends.from.point));
  answer.AddMember("to", PointJson(ends.to.point));
  if (stat) return FinishStat(*history, ends, raw, &answer);
  Unreadable unreadable;
  const base::Status outcome =
      history->Diff(ends.from.point.position, ends.to.point.position, ends.table, raw,
                    [&](const history::ChangeView& change) -> base::Result<bool> {
                      if (change.kind == history::ChangeKind::kUnreadable) {
                        unreadable.Add(change);
                        return true;
                      }
                      RETURN_IF_ERROR(AppendChangeJson(change, ChangeJsonOptions{.point = raw, .seq = raw},
                                                       answer.BeginItem()));
                      return answer.EndItem();
                    });
  unreadable.AddTo(&answer);
  return answer.Finish(outcome);
}

}  // namespace varve::http
