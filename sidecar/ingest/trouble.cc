// SPDX-License-Identifier: PostgreSQL
#include "sidecar/ingest/trouble.h"

#include <utility>

#include <fmt/format.h>

namespace varve::ingest {

using base::ErrorCode;

bool IsStoreFailure(const base::Error& error) {
  return error.code == ErrorCode::kStoreFull || error.code == ErrorCode::kInternal;
}

tl::unexpected<base::Error> Trouble::Refuse(ErrorCode code, std::string message, std::string remedy) {
  remedy_ = std::move(remedy);
  permanent_ = true;
  return base::Fail(code, std::move(message));
}

tl::unexpected<base::Error> Trouble::Wait(std::string message, std::string remedy) {
  remedy_ = std::move(remedy);
  permanent_ = false;
  return base::Fail(ErrorCode::kUnavailable, std::move(message));
}

tl::unexpected<base::Error> Trouble::FromServer(base::Error error, const pg::Connection& connection) {
  const pg::ServerError& cause = connection.last_error();
  remedy_ = pg::RemedyFor(cause, connection.user(), connection.database());
  permanent_ = pg::IsPermanent(cause.sqlstate);
  return base::Fail(std::move(error));
}

tl::unexpected<base::Error> Trouble::FromOpen(base::Error error, const pg::OpenFailure& failure) {
  remedy_ = pg::RemedyFor(failure.error, failure.user, failure.database);
  if (remedy_.empty()) remedy_ = "check that PostgreSQL runs and that [source] dsn names it";
  permanent_ = pg::IsPermanent(failure.error.sqlstate);
  return base::Fail(std::move(error));
}

tl::unexpected<base::Error> Trouble::FromBus(base::Error error, const std::string& endpoint) {
  bus_failed_ = true;
  permanent_ = false;
  error.message += fmt::format(" ({})", endpoint);
  remedy_ = "see that nothing else uses that socket; or set transport = \"stream\" in [ingest]";
  return base::Fail(std::move(error));
}

tl::unexpected<base::Error> Trouble::FromHistory(base::Error error) {
  store_failed_ = IsStoreFailure(error);
  permanent_ = !store_failed_;
  if (error.code == ErrorCode::kStoreFull) {
    remedy_ = "make room on the disk that holds [store] data_dir; nothing is lost, PostgreSQL keeps the WAL";
  }
  return base::Fail(std::move(error));
}

base::Status Trouble::FromFindings(const std::vector<pg::Finding>& findings) {
  for (const pg::Finding& finding : findings) {
    if (finding.severity == pg::Severity::kFailed) {
      return Refuse(ErrorCode::kUnavailable, finding.message, finding.remedy);
    }
  }
  return {};
}

}  // namespace varve::ingest
