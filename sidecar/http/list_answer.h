// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "sidecar/http/moment.h"
#include "sidecar/http/request.h"
#include "sidecar/http/response.h"

namespace varve::http {

// An answer that is a list of any length, written as it comes:
//   JSON    {"at":{…},MEMBERS,"LIST":[ITEM,…],TAIL}
//   NDJSON  {"at":{…},MEMBERS} ⏎ ITEM ⏎ … {"end":{"rows":N,TAIL}} ⏎
//   CSV     a header line, lines
// Nothing is sent before the first 64 KiB or the first second is over: an error that comes earlier still gets
// its status, and a short answer its length. One that comes later stands in the stream as {"error":{…}} where
// the end would be, and the connection is cut. Borrows the writer. One thread.
class ListAnswer {
 public:
  ListAnswer(ResponseWriter* writer, Format format, const Moment& moment, std::string_view list);
  ListAnswer(const ListAnswer&) = delete;
  ListAnswer& operator=(const ListAnswer&) = delete;

  // Something to say of the whole list, before its first item. Not in CSV.
  void AddMember(std::string_view name, std::string_view json);
  // The first line in CSV.
  void SetCsvHeader(std::string line) { csv_header_ = std::move(line); }

  // Where to append the next item. REQUIRES: EndItem after it, unless the list ends with an error.
  std::string* BeginItem();
  // False when the reader is gone: the walk that makes the items may stop.
  bool EndItem();
  uint64_t items() const { return items_; }

  // Something to say at the end, e.g. where to go on. Not in CSV.
  void AddTail(std::string_view name, std::string_view json);
  // Ends the answer, well when `outcome` is. An error that it returns has not been answered yet.
  base::Status Finish(const base::Status& outcome);

 private:
  void Open();
  void Flush();

  ResponseWriter* const writer_;
  const Format format_;
  const std::string_view list_;
  ResponseHead head_;
  std::string members_;
  std::string csv_header_;
  std::string tail_;
  std::string buffer_;
  size_t item_start_ = 0;
  uint64_t items_ = 0;
  bool opened_ = false;  // the part before the first item is in the buffer
  bool begun_ = false;   // something was sent
  bool reader_gone_ = false;
  std::chrono::steady_clock::time_point flushed_;
};

}  // namespace varve::http
