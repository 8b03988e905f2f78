// SPDX-License-Identifier: PostgreSQL
#include "sidecar/ingest/copy_job.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "sidecar/model/row_image.h"
#include "sidecar/pg/connection.h"
#include "sidecar/pg/copy_binary.h"

namespace varve::ingest {
namespace {

using base::ErrorCode;

constexpr auto kStopCheck = std::chrono::milliseconds(50);
constexpr uint64_t kRowsPerReport = 1000;
constexpr char kLockNotAvailable[] = "55P03";

std::string TableName(const CopySource& source) { return pg::QuoteQualified(source.schema, source.name); }

// The cells of a tuple, by attnum - 1. `columns`: those that were selected, in order.
base::Status ToCells(const model::Relation& relation, const std::vector<const model::Column*>& columns,
                     const std::vector<pg::CopyField>& fields, std::vector<model::Cell>* cells) {
  cells->assign(relation.attribute_count, model::Cell{});
  for (size_t i = 0; i < columns.size(); ++i) {
    model::Cell& cell = (*cells)[columns[i]->attnum - 1U];
    cell.kind = fields[i].is_null ? model::CellKind::kNull : model::CellKind::kValue;
    cell.value = fields[i].value;
    if (!fields[i].is_null && columns[i]->width != 0 && cell.value.size() != columns[i]->width) {
      return base::Fail(
          ErrorCode::kInvalidArgument,
          fmt::format("the server sent {} bytes for {}.{}, a type of {} bytes", cell.value.size(),
                      relation.QualifiedName(), columns[i]->name, columns[i]->width));
    }
  }
  return {};
}

}  // namespace

std::vector<CopyChunk> PlanChunks(const std::vector<CatalogTable>& tables, uint64_t chunk_pages) {
  std::vector<CopyChunk> order;  // whole ones
  for (size_t table = 0; table < tables.size(); ++table) {
    for (size_t source = 0; source < tables[table].sources.size(); ++source) {
      order.push_back({table, source, 0, std::nullopt});
    }
  }
  const auto pages = [&](const CopyChunk& chunk) { return tables[chunk.table].sources[chunk.source].pages; };
  std::stable_sort(order.begin(), order.end(),
                   [&](const CopyChunk& a, const CopyChunk& b) { return pages(a) > pages(b); });
  std::vector<CopyChunk> chunks;
  for (CopyChunk chunk : order) {
    for (; pages(chunk) - chunk.first_page > chunk_pages; chunk.first_page += chunk_pages) {
      chunks.push_back({chunk.table, chunk.source, chunk.first_page, chunk.first_page + chunk_pages});
    }
    chunks.push_back(chunk);
  }
  return chunks;
}

std::string CopyStatement(const CatalogTable& table, const CopyChunk& chunk) {
  std::string columns;
  for (const model::Column& column : table.relation.columns) {
    if (!IsStored(column)) continue;
    if (!columns.empty()) columns += ", ";
    columns += SelectExpression(column);
  }
  std::string where;
  if (chunk.first_page > 0) where = fmt::format(" where ctid >= '({},0)'::tid", chunk.first_page);
  if (chunk.end_page) {
    where += fmt::format(" {} ctid < '({},0)'::tid", where.empty() ? "where" : "and", *chunk.end_page);
  }
  return fmt::format("copy (select {} from only {}{}) to stdout (format binary)", columns,
                     TableName(table.sources[chunk.source]), where);
}

base::Status CopyJob::Run() {
  std::vector<std::thread> threads;
  const int count = std::max(1, std::min<int>(params_.connections, static_cast<int>(chunks_.size())));
  running_ = count;
  threads.reserve(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) threads.emplace_back([this] { Work(); });
  while (running_ > 0) {
    if (params_.stop->load()) abort_ = true;
    std::this_thread::sleep_for(kStopCheck);
  }
  for (std::thread& thread : threads) thread.join();
  if (params_.stop->load()) return base::Fail(ErrorCode::kUnavailable, "stopped during the first copy");
  base::MutexLock lock(&mutex_);
  if (error_) return base::Fail(*error_);
  return {};
}

std::string CopyJob::moved() const {
  base::MutexLock lock(&mutex_);
  return moved_;
}

void CopyJob::Fail(base::Error error) {
  base::MutexLock lock(&mutex_);
  if (!error_ && moved_.empty()) error_ = std::move(error);
  abort_ = true;
}

void CopyJob::Work() {
  base::Status status = WorkChunks();
  if (!status) Fail(std::move(status).error());
  --running_;
}

base::Status CopyJob::WorkChunks() {
  const pg::ConnectOptions options{params_.dsn, false, params_.connect_timeout_ms, &abort_};
  ASSIGN_OR_RETURN(const auto connection, pg::Connection::Open(options));
  ASSIGN_OR_RETURN(const auto present, pg::Connection::Open(options));
  RETURN_IF_ERROR(PinSettings(connection.get()));
  ASSIGN_OR_RETURN(const bool locked, LockTables(connection.get(), present.get()));
  if (!locked) return {};
  connection->set_timeout_ms(0);
  for (;;) {
    const size_t next = next_chunk_++;
    if (next >= chunks_.size() || abort_) break;
    RETURN_IF_ERROR(CopyRows(connection.get(), (*tables_)[chunks_[next].table], chunks_[next]));
  }
  RETURN_IF_ERROR(connection->Query("commit"));
  return {};
}

// TRUNCATE and rewrites are not MVCC: an old snapshot reads the new, empty or wrong, file. As pg_dump does,
// each connection locks all tables before it reads any, and keeps them: only what comes between the snapshot
// and the locks can spoil the copy, and the stamps tell. Without waiting, for an ALTER TABLE that waits for
// another of our connections would wait for ever, and this one behind it.
base::Result<bool> CopyJob::LockTables(pg::Connection* connection, pg::Connection* present) {
  RETURN_IF_ERROR(connection->Query("begin isolation level repeatable read read only"));
  RETURN_IF_ERROR(connection->Query("set transaction snapshot " + pg::QuoteLiteral(params_.snapshot)));
  std::string names;
  std::vector<uint32_t> oids;
  for (const CatalogTable& table : *tables_) {
    for (const CopySource& source : table.sources) {
      names += (names.empty() ? "only " : ", only ") + TableName(source);
    }
    oids.push_back(table.relation.oid.value);
  }
  // A partitioned table may have no partitions.
  const auto locked = connection->Query(
      names.empty() ? "select" : fmt::format("lock table {} in access share mode nowait", names));
  ASSIGN_OR_RETURN(const auto stamps, ReadStamps(present, oids));
  for (const CatalogTable& table : *tables_) {
    const auto found = stamps.find(table.relation.oid.value);
    if (found != stamps.end() && found->second == table.stamp) continue;
    NoteMoved(table.relation.QualifiedName());
    return false;
  }
  if (locked) return true;
  if (connection->last_error().sqlstate != kLockNotAvailable) return base::Fail(locked.error());
  NoteMoved(fmt::format("(one that another session is altering: {})", locked.error().message));
  return false;
}

void CopyJob::NoteMoved(std::string table) {
  base::MutexLock lock(&mutex_);
  moved_ = std::move(table);
  abort_ = true;
}

base::Status CopyJob::CopyRows(pg::Connection* connection, const CatalogTable& table,
                               const CopyChunk& chunk) {
  std::vector<const model::Column*> columns;
  for (const model::Column& column : table.relation.columns) {
    if (IsStored(column)) columns.push_back(&column);
  }
  uint64_t unreported = 0;
  const auto report = [&] {
    params_.board->Update([&](IngestStatus* status) { status->rows_copied += unreported; });
    unreported = 0;
  };
  RETURN_IF_ERROR(connection->StartCopyOut(CopyStatement(table, chunk)));
  pg::CopyBinaryReader reader(columns.size());
  std::vector<model::Cell> cells;
  std::string image;
  for (;;) {
    ASSIGN_OR_RETURN(const auto buffer, connection->ReadCopy());
    if (!buffer) break;
    reader.Feed(buffer->bytes());
    for (;;) {
      ASSIGN_OR_RETURN(const auto state, reader.Next());
      if (state != pg::CopyBinaryReader::State::kTuple) break;
      RETURN_IF_ERROR(ToCells(table.relation, columns, reader.fields(), &cells));
      image.clear();
      model::EncodeImage(table.relation, cells, &image);
      base::Status added = params_.history->AddBaselineRow(table.relation.oid, image);
      if (!added) {
        history_failed_ = true;
        return base::Fail(std::move(added).error());
      }
      if (++unreported == kRowsPerReport) report();
    }
    if (abort_) return base::Fail(ErrorCode::kUnavailable, "the first copy was given up");
  }
  report();
  return reader.Finish();
}

}  // namespace varve::ingest
