// SPDX-License-Identifier: PostgreSQL
#include "tests/support/fake_history.h"

#include <algorithm>

#include <fmt/format.h>

#include "sidecar/types/key.h"

namespace varve::tests {

using base::ErrorCode;
using base::Fail;
using base::MutexLock;
using base::Position;
using history::ReadPoint;

namespace {

constexpr base::TableOid kAccounts{16384};
constexpr uint64_t kFirstPosition = 0x100;
constexpr uint32_t kFirstXid = 700;
constexpr int64_t kMinute = 60'000'000;

// The cells of a row; they borrow from it.
std::vector<model::Cell> CellsOf(const FakeRow& row) {
  std::vector<model::Cell> cells;
  for (const auto& value : row) {
    cells.push_back(value ? model::Cell{model::CellKind::kValue, *value}
                          : model::Cell{model::CellKind::kNull, {}});
  }
  return cells;
}

std::string BigEndian(uint64_t value, int bytes) {
  std::string text;
  for (int i = bytes - 1; i >= 0; --i) text += static_cast<char>(value >> (8 * i));
  return text;
}

model::Column MakeColumn(uint16_t attnum, std::string name, uint32_t type, uint16_t width) {
  model::Column column;
  column.attnum = attnum;
  column.name = std::move(name);
  column.type_oid = type;
  column.base_type_oid = type;
  column.form = model::Form::kBinary;
  column.width = width;
  return column;
}

// A row with the cells that point into it.
struct Shown {
  explicit Shown(const model::Relation& relation, const FakeRow& row, Position since) : cells(CellsOf(row)) {
    view.relation = &relation;
    view.cells = &cells;
    view.since = since;
  }
  std::vector<model::Cell> cells;
  history::Row view;
};

}  // namespace

std::string Int4(int32_t value) { return BigEndian(static_cast<uint32_t>(value), 4); }
std::string Int8(int64_t value) { return BigEndian(static_cast<uint64_t>(value), 8); }

std::shared_ptr<const model::Relation> AccountsRelation() {
  auto relation = std::make_shared<model::Relation>();
  relation->oid = kAccounts;
  relation->schema = "public";
  relation->name = "accounts";
  relation->attribute_count = 3;
  relation->columns = {MakeColumn(1, "id", 23, 4), MakeColumn(2, "email", 25, 0),
                       MakeColumn(3, "balance", 20, 8)};
  relation->columns[0].key_position = 1;
  relation->columns[0].not_null = true;
  relation->version = model::ComputeVersion(*relation);
  return relation;
}

FakeRow Account(int32_t id, std::optional<std::string> email, int64_t balance) {
  return {Int4(id), std::move(email), Int8(balance)};
}

FakeHistory::FakeHistory() {
  MutexLock lock(&mutex_);
  status_.baseline_complete = true;
  status_.first.position = Position{kFirstPosition};
  status_.first.commit_time = *base::ParseTimestamp("2026-01-01T00:00:00Z");
  status_.published = status_.first;
  status_.published_through = status_.first.position;
  status_.store_bytes = 4096;
}

void FakeHistory::Copy(const FakeRow& row) {
  MutexLock lock(&mutex_);
  rows_[*types::EncodeKey(*relation_, CellsOf(row))] = {Version{status_.first.position, 0, row}};
}

Position FakeHistory::Commit(const std::vector<Step>& steps) {
  MutexLock lock(&mutex_);
  history::TransactionInfo info;
  info.point.position = Position{status_.published_through.value + 0x100};
  info.point.commit_time = base::Timestamp{status_.published.commit_time.micros + kMinute};
  info.point.xid = base::FullXid{kFirstXid + transactions_.size()};
  uint32_t seq = 0;
  for (const Step& step : steps) {
    const std::string key = *types::EncodeKey(*relation_, CellsOf(step.row));
    std::vector<Version>& versions = rows_[key];
    const bool existed = !versions.empty() && versions.back().row;
    history::TableCounts& counts = info.tables[kAccounts];
    ++(step.remove ? counts.deletes : existed ? counts.updates : counts.inserts);
    versions.push_back(
        Version{info.point.position, seq++, step.remove ? std::nullopt : std::optional<FakeRow>(step.row)});
    changes_[info.point.position].push_back(Place{key, versions.size() - 1});
  }
  transactions_[info.point.position] = info;
  status_.published = info.point;
  status_.published_through = info.point.position;
  status_.changes_applied += steps.size();
  ++status_.transactions_applied;
  published_.NotifyAll();
  return info.point.position;
}

void FakeHistory::PublishThrough(Position position) {
  MutexLock lock(&mutex_);
  status_.published_through = std::max(status_.published_through, position);
  published_.NotifyAll();
}

void FakeHistory::SetComplete(bool complete) {
  MutexLock lock(&mutex_);
  status_.baseline_complete = complete;
}

void FakeHistory::SetBulk(uint64_t rows, std::optional<uint64_t> fail_after) {
  MutexLock lock(&mutex_);
  bulk_rows_ = rows;
  fail_after_ = fail_after;
}

history::StoreStatus FakeHistory::GetStatus() const {
  MutexLock lock(&mutex_);
  return status_;
}

std::optional<history::Identity> FakeHistory::GetIdentity() const {
  history::Identity identity;
  identity.system_identifier = 7'000'000'000'000'000'001;
  identity.timeline = 1;
  identity.database = "shop";
  identity.slot = "varve";
  identity.publication = "varve";
  identity.encoding = "UTF8";
  return identity;
}

std::vector<history::TableInfo> FakeHistory::Tables() const {
  history::TableInfo info;
  info.relation = relation_;
  info.complete_from = Position{kFirstPosition};
  return {info};
}

base::Result<base::TableOid> FakeHistory::FindTable(std::string_view name) const {
  if (name == "accounts" || name == "public.accounts") return kAccounts;
  return Fail(ErrorCode::kNotTracked, fmt::format("{} is not tracked", name));
}

base::Result<std::shared_ptr<const model::Relation>> FakeHistory::RelationAt(base::TableOid, Position) const {
  return relation_;
}

base::Result<ReadPoint> FakeHistory::Resolve(const model::Reference& reference,
                                             std::optional<base::TableOid>) const {
  MutexLock lock(&mutex_);
  ReadPoint point = status_.published;
  const auto at_or_before = [&](auto wanted) NO_THREAD_SAFETY_ANALYSIS {
    point = status_.first;
    for (const auto& [position, info] : transactions_) {
      if (wanted(info)) point = info.point;
    }
  };
  if (std::holds_alternative<model::FirstReference>(reference.base)) point = status_.first;
  if (const auto* lsn = std::get_if<model::LsnReference>(&reference.base)) {
    const Position wanted{lsn->lsn.value};
    if (wanted < status_.first.position) return Fail(ErrorCode::kBeforeHistory, "history begins at 0/100");
    if (wanted > status_.published_through) return Fail(ErrorCode::kBehind, "not here yet");
    at_or_before([&](const auto& info) { return info.point.position <= wanted; });
  }
  if (const auto* time = std::get_if<model::TimeReference>(&reference.base)) {
    if (time->time < status_.first.commit_time)
      return Fail(ErrorCode::kBeforeHistory, "history begins later");
    at_or_before([&](const auto& info) { return info.point.commit_time <= time->time; });
  }
  if (const auto* xid = std::get_if<model::XidReference>(&reference.base)) {
    bool found = false;
    at_or_before([&](const auto& info) { return info.point.xid->xid() == xid->xid && (found = true); });
    if (!found) return Fail(ErrorCode::kUnknownReference, fmt::format("no transaction {}", xid->xid));
  }
  if (const auto* tag = std::get_if<model::TagReference>(&reference.base)) {
    const auto found = tags_.find(tag->name);
    if (found == tags_.end()) return Fail(ErrorCode::kUnknownReference, "no tag " + tag->name);
    point = found->second;
  }
  for (uint32_t i = 0; i < reference.back; ++i) {
    auto entry = transactions_.lower_bound(point.position);
    if (entry == transactions_.begin()) {
      if (point.position == status_.first.position)
        return Fail(ErrorCode::kBeforeHistory, "nothing is earlier");
      point = status_.first;
      continue;
    }
    point = std::prev(entry)->second.point;
  }
  return point;
}

base::Status FakeHistory::WaitFor(Position position, std::chrono::milliseconds timeout) const {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  MutexLock lock(&mutex_);
  while (status_.published_through < position) {
    if (!published_.WaitUntil(&mutex_, deadline) && status_.published_through < position) {
      return Fail(ErrorCode::kBehind, "not here yet");
    }
  }
  return {};
}

const FakeRow* FakeHistory::RowAt(const std::string& key, Position position, Position* since) const {
  const auto found = rows_.find(key);
  if (found == rows_.end()) return nullptr;
  const FakeRow* row = nullptr;
  for (const Version& version : found->second) {
    if (version.since > position) break;
    row = version.row ? &*version.row : nullptr;
    *since = version.since;
  }
  return row;
}

base::Result<std::optional<history::OwnedRow>> FakeHistory::Get(base::TableOid, std::string_view key,
                                                                Position position) const {
  MutexLock lock(&mutex_);
  Position since;
  const FakeRow* row = RowAt(std::string(key), position, &since);
  if (row == nullptr) return std::nullopt;
  std::optional<history::OwnedRow> owned(std::in_place);
  owned->relation = relation_;
  owned->since = since;
  for (const auto& value : *row) owned->values.push_back(value.value_or(""));
  for (size_t i = 0; i < row->size(); ++i) {
    const bool present = (*row)[i].has_value();
    owned->cells.push_back(model::Cell{present ? model::CellKind::kValue : model::CellKind::kNull,
                                       present ? std::string_view(owned->values[i]) : std::string_view()});
  }
  model::EncodeImage(*relation_, owned->cells, &owned->image);
  return owned;
}

base::Status FakeHistory::Scan(base::TableOid, Position position, const history::ScanOptions& options,
                               const history::RowCallback& callback) const {
  std::vector<std::pair<FakeRow, Position>> found;
  uint64_t bulk = 0;
  std::optional<uint64_t> fail_after;
  {
    MutexLock lock(&mutex_);
    bulk = bulk_rows_;
    fail_after = fail_after_;
    for (const auto& [key, versions] : rows_) {
      Position since;
      const FakeRow* row = RowAt(key, position, &since);
      if (row != nullptr && (!options.after_key || key > *options.after_key)) found.emplace_back(*row, since);
    }
  }
  const uint64_t total = bulk != 0 ? bulk : found.size();
  for (uint64_t i = 0, given = 0; i < total && given < options.limit; ++i) {
    if (fail_after && i == *fail_after) return Fail(ErrorCode::kInternal, "the fake disk broke");
    const FakeRow row =
        bulk != 0 ? Account(static_cast<int32_t>(i), std::string(100, 'x'), 0) : found[i].first;
    bool wanted = true;
    for (const auto& [name, value] : options.where) {
      if (name == "email") wanted = wanted && row[1] == value;
    }
    if (!wanted) continue;
    ++given;
    const Shown shown(*relation_, row, bulk != 0 ? position : found[i].second);
    ASSIGN_OR_RETURN(const bool more, callback(shown.view));
    if (!more) return {};
  }
  return {};
}

FakeHistory::Given FakeHistory::Take(const std::string& key, size_t version) const {
  const std::vector<Version>& versions = rows_.at(key);
  Given given;
  given.point = transactions_.at(versions[version].since).point;
  given.after = versions[version];
  if (version > 0) given.before = versions[version - 1];
  return given;
}

base::Status FakeHistory::Give(const std::vector<Given>& all, const history::ChangeCallback& callback) const {
  for (const Given& given : all) {
    std::optional<Shown> old_row;
    std::optional<Shown> new_row;
    if (given.before.row) old_row.emplace(*relation_, *given.before.row, given.before.since);
    if (given.after.row) new_row.emplace(*relation_, *given.after.row, given.after.since);
    history::ChangeView change;
    change.kind = !new_row   ? history::ChangeKind::kDelete
                  : !old_row ? history::ChangeKind::kInsert
                             : history::ChangeKind::kUpdate;
    change.point = given.point;
    change.seq = base::Seq{given.after.seq};
    change.relation = relation_.get();
    change.before = old_row ? &old_row->view : nullptr;
    change.after = new_row ? &new_row->view : nullptr;
    for (uint16_t i = 0; old_row && new_row && i < 3; ++i) {
      if (!(old_row->cells[i] == new_row->cells[i])) change.changed.push_back(static_cast<uint16_t>(i + 1));
    }
    ASSIGN_OR_RETURN(const bool more, callback(change));
    if (!more) return {};
  }
  return {};
}

base::Status FakeHistory::RowHistory(base::TableOid, std::string_view key, Position from, Position to,
                                     const history::ChangeCallback& callback) const {
  std::vector<Given> all;
  {
    MutexLock lock(&mutex_);
    const auto found = rows_.find(std::string(key));
    if (found == rows_.end()) return {};
    for (size_t i = 0; i < found->second.size(); ++i) {
      const Position since = found->second[i].since;
      if (since > from && since <= to) all.push_back(Take(found->first, i));
    }
  }
  return Give(all, callback);
}

base::Status FakeHistory::Log(Position from, Position to, bool oldest_first,
                              const history::TransactionCallback& callback) const {
  std::vector<history::TransactionInfo> found;
  {
    MutexLock lock(&mutex_);
    for (const auto& [position, info] : transactions_) {
      if (position > from && position <= to) found.push_back(info);
    }
  }
  if (!oldest_first) std::reverse(found.begin(), found.end());
  for (const history::TransactionInfo& info : found) {
    ASSIGN_OR_RETURN(const bool more, callback(info));
    if (!more) return {};
  }
  return {};
}

base::Result<history::TransactionInfo> FakeHistory::GetTransaction(Position position) const {
  MutexLock lock(&mutex_);
  const auto found = transactions_.find(position);
  if (found == transactions_.end()) return Fail(ErrorCode::kNotFound, "no transaction there");
  return found->second;
}

base::Status FakeHistory::Show(Position position, const history::ChangeCallback& callback) const {
  std::vector<Given> all;
  {
    MutexLock lock(&mutex_);
    const auto found = changes_.find(position);
    if (found == changes_.end()) return {};
    for (const Place& place : found->second) all.push_back(Take(place.key, place.version));
  }
  return Give(all, callback);
}

base::Status FakeHistory::Diff(Position from, Position to, std::optional<base::TableOid>, bool raw,
                               const history::ChangeCallback& callback) const {
  std::vector<Given> all;
  {
    MutexLock lock(&mutex_);
    for (const auto& [position, places] : changes_) {
      if (position <= from || position > to) continue;
      for (const Place& place : places) {
        // The last change of a key stands for all of them: enough for what the interfaces do with a diff.
        const bool last = rows_.at(place.key).size() == place.version + 1;
        if (raw || last) all.push_back(Take(place.key, place.version));
      }
    }
  }
  return Give(all, callback);
}

std::vector<history::Tag> FakeHistory::Tags() const {
  MutexLock lock(&mutex_);
  std::vector<history::Tag> tags;
  for (const auto& [name, point] : tags_) tags.push_back(history::Tag{name, point});
  return tags;
}

base::Status FakeHistory::CreateTag(std::string_view name, const ReadPoint& point) {
  if (!model::IsValidName(name)) return Fail(ErrorCode::kInvalidArgument, fmt::format("{} is no name", name));
  MutexLock lock(&mutex_);
  if (!tags_.emplace(name, point).second) return Fail(ErrorCode::kExists, fmt::format("tag {} exists", name));
  return {};
}

base::Status FakeHistory::DeleteTag(std::string_view name) {
  MutexLock lock(&mutex_);
  const auto found = tags_.find(name);
  if (found == tags_.end()) return Fail(ErrorCode::kNotFound, fmt::format("there is no tag {}", name));
  tags_.erase(found);
  return {};
}

ingest::IngestStatus FakeIngest::GetStatus() const {
  MutexLock lock(&mutex_);
  return status_;
}

base::Result<base::Lsn> FakeIngest::CurrentServerLsn() {
  MutexLock lock(&mutex_);
  if (!lsn_) return Fail(ErrorCode::kUnavailable, "the server is down");
  return *lsn_;
}

void FakeIngest::SetStatus(const ingest::IngestStatus& status) {
  MutexLock lock(&mutex_);
  status_ = status;
}

void FakeIngest::SetServerLsn(std::optional<base::Lsn> lsn) {
  MutexLock lock(&mutex_);
  lsn_ = lsn;
}

}  // namespace varve::tests
