// SPDX-License-Identifier: PostgreSQL
#include <fmt/format.h>

#include "sidecar/base/check.h"
#include "sidecar/history/catalog.h"

namespace varve::history {

using base::Error;
using base::ErrorCode;
using base::Fail;
using base::Result;

namespace {

constexpr base::Position kEndOfTime{UINT64_MAX};
constexpr std::string_view kStartAgain =
    "for its later rows detach (`varve detach`) and start again with a new first copy";

// A table that once could be read.
bool HasHistory(const Timeline& timeline) {
  return timeline.FirstOf(EventKind::kLate, kEndOfTime) == nullptr &&
         timeline.FirstOf(EventKind::kExcluded, kEndOfTime) == nullptr;
}

}  // namespace

std::string_view TableStateName(TableState state) {
  switch (state) {
    case TableState::kCopying: return "copying";
    case TableState::kTracked: return "tracked";
    case TableState::kBroken: return "broken";
    case TableState::kDropped: return "dropped";
  }
  CHECK(false);
}

Error StopError(const std::string& table, const TableEvent& event) {
  const std::string at = base::FormatPosition(event.place.position);
  switch (event.kind) {
    case EventKind::kRewrite:
      return Error{
          ErrorCode::kSchemaChanged,
          fmt::format("{} was rewritten by ALTER TABLE at {}{}: read it as of an earlier moment; {}", table,
                      at, event.text.empty() ? "" : fmt::format(" ({})", event.text), kStartAgain)};
    case EventKind::kKeyChange:
      return Error{ErrorCode::kSchemaChanged, fmt::format("{}: {} at {}: read it as of an earlier moment; {}",
                                                          table, event.text, at, kStartAgain)};
    case EventKind::kContradiction:
      return Error{ErrorCode::kInternal,
                   fmt::format("{}: the history and the stream disagree at {} ({}): read it as of an earlier "
                               "moment; {}",
                               table, at, event.text, kStartAgain)};
    case EventKind::kDrop:
      return Error{ErrorCode::kNotTracked,
                   fmt::format("{} was dropped at {}: read it as of an earlier moment", table, at)};
    case EventKind::kUntrack:
      return Error{
          ErrorCode::kNotTracked,
          event.text.empty()
              ? fmt::format("{} was taken out of the publication at {}: read it as of an earlier moment; {}",
                            table, at, kStartAgain)
              : fmt::format("{} could not be followed beyond {} ({}): read it as of an earlier moment; {}",
                            table, at, event.text, kStartAgain)};
    case EventKind::kLate:
      return Error{
          ErrorCode::kNotTracked,
          fmt::format("{} was added to the publication after the first copy (seen at {}): to have its "
                      "history, detach (`varve detach`) and start again",
                      table, at)};
    case EventKind::kExcluded:
      return Error{ErrorCode::kNotTracked,
                   fmt::format("{} was left out of the first copy: {}", table, event.text)};
    case EventKind::kVersion:
    case EventKind::kTruncate: break;
  }
  CHECK(false);
}

TableInfo Catalog::InfoLocked(base::TableOid oid, const Table& table, base::Position first,
                              base::Position published) const {
  TableInfo info;
  info.relation = RelationOf(table.timeline.VersionAt(published));
  info.complete_from = first;
  info.changes = table.changes;
  const TableEvent* stop = table.timeline.FirstOf(EventKind::kDrop, published);
  info.state = stop == nullptr ? TableState::kTracked : TableState::kDropped;
  if (stop == nullptr) {
    stop = table.timeline.StopAt(published);
    if (stop != nullptr) info.state = TableState::kBroken;
  }
  if (stop != nullptr) {
    info.since = stop->place.position;
    info.reason = StopError(NameLocked(oid, table, published), *stop).message;
  }
  return info;
}

std::vector<TableInfo> Catalog::Tables(base::Position first, base::Position published) const {
  base::MutexLock lock(&mutex_);
  std::vector<TableInfo> infos;
  for (const auto& [oid, table] : tables_) {
    TableInfo info = InfoLocked(oid, table, first, published);
    if (info.relation != nullptr) infos.push_back(std::move(info));
  }
  return infos;
}

// What a table that once had the name is called now; empty when there was none.
std::string Catalog::NameNowLocked(const std::string& once, base::Position published) const {
  for (const auto& [oid, table] : tables_) {
    for (const TableEvent& event : table.timeline.events()) {
      if (event.kind != EventKind::kVersion || event.place.position > published) continue;
      const RelationPtr then = RelationOf(&event);
      const RelationPtr now = RelationOf(table.timeline.VersionAt(published));
      if (then != nullptr && now != nullptr && then->QualifiedName() == once) return now->QualifiedName();
    }
  }
  return {};
}

// The table that has the name now and can be read comes first, then one that can be read up to some moment
// and had the name last, then one that never could be read, whose reason is the answer.
Result<base::TableOid> Catalog::FindTable(std::string_view name, base::Position published) const {
  const std::string wanted =
      name.find('.') == std::string_view::npos ? fmt::format("public.{}", name) : std::string(name);
  base::MutexLock lock(&mutex_);
  std::optional<base::TableOid> present;
  RelationPtr present_as;
  std::optional<base::TableOid> gone;
  base::Position gone_at;
  std::optional<Error> unreadable;
  for (const auto& [oid, table] : tables_) {
    const RelationPtr relation = RelationOf(table.timeline.VersionAt(published));
    if (relation == nullptr || relation->QualifiedName() != wanted) continue;
    const TableEvent* dropped = table.timeline.FirstOf(EventKind::kDrop, published);
    if (!HasHistory(table.timeline)) {
      unreadable = StopError(wanted, *table.timeline.StopAt(published));
    } else if (dropped == nullptr) {
      // Dots within names can make one text of two.
      if (present && present_as->schema != relation->schema) {
        return Fail(
            ErrorCode::kInvalidArgument,
            fmt::format("{0} may be table \"{1}\" of schema \"{2}\" or table \"{3}\" of schema \"{4}\", "
                        "which cannot be told apart here: rename one",
                        wanted, present_as->name, present_as->schema, relation->name, relation->schema));
      }
      present = oid;
      present_as = relation;
    } else if (!gone || dropped->place.position > gone_at) {
      gone = oid;
      gone_at = dropped->place.position;
    }
  }
  if (present) return *present;
  if (gone) return *gone;
  if (unreadable) return Fail(*unreadable);
  if (const std::string now = NameNowLocked(wanted, published); !now.empty()) {
    return Fail(ErrorCode::kNotTracked,
                fmt::format("no table is called {} any more: the one that was is {} now, also in its past",
                            wanted, now));
  }
  return Fail(
      ErrorCode::kNotTracked,
      fmt::format("{} is not tracked: `varve doctor` lists tables that are not followed and why; names are "
                  "name (schema public) or schema.name",
                  wanted));
}

}  // namespace varve::history
