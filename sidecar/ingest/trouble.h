// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <string>

#include "sidecar/base/result.h"
#include "sidecar/pg/connection.h"
#include "sidecar/pg/preflight.h"

namespace varve::ingest {

// What is known of the error that ended an attempt beside its message: what to do about it, and whether
// trying again soon can help. One thread at a time.
class Trouble {
 public:
  void Clear() { *this = Trouble(); }

  // Each returns the error to hand up.
  // Only a person can end it.
  tl::unexpected<base::Error> Refuse(base::ErrorCode code, std::string message, std::string remedy);
  // Passes by itself, or by what the remedy says.
  tl::unexpected<base::Error> Wait(std::string message, std::string remedy);
  // An error of the server, or of a connection that could not be opened.
  tl::unexpected<base::Error> FromServer(base::Error error, const pg::Connection& connection);
  tl::unexpected<base::Error> FromOpen(base::Error error, const pg::OpenFailure& failure);
  // The bus failed: over the stream the next session may do better.
  tl::unexpected<base::Error> FromBus(base::Error error, const std::string& endpoint);
  void BlameBus() { bus_failed_ = true; }
  // A writing method of the history failed.
  tl::unexpected<base::Error> FromHistory(base::Error error);
  // The first failed finding, if any.
  base::Status FromFindings(const std::vector<pg::Finding>& findings);

  const std::string& remedy() const { return remedy_; }
  bool permanent() const { return permanent_; }
  bool store_failed() const { return store_failed_; }
  bool bus_failed() const { return bus_failed_; }

 private:
  std::string remedy_;
  bool permanent_ = false;
  bool store_failed_ = false;
  bool bus_failed_ = false;
};

// True for the codes after which a history must be closed and opened again.
bool IsStoreFailure(const base::Error& error);

}  // namespace varve::ingest
