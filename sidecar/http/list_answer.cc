// SPDX-License-Identifier: PostgreSQL
#include "sidecar/http/list_answer.h"

#include <fmt/format.h>

#include "sidecar/http/error_response.h"
#include "sidecar/http/json_text.h"

namespace varve::http {
namespace {

constexpr size_t kFlushBytes = size_t{64} << 10;
// A slow walk shows what it has found so far this often.
constexpr std::chrono::seconds kFlushEvery(1);

std::string_view ContentType(Format format) {
  switch (format) {
    case Format::kJson: return "application/json";
    case Format::kNdjson: return "application/x-ndjson";
    case Format::kCsv: return "text/csv; charset=utf-8; header=present";
  }
  return "application/json";
}

}  // namespace

ListAnswer::ListAnswer(ResponseWriter* writer, Format format, const Moment& moment, std::string_view list)
    : writer_(writer), format_(format), list_(list), flushed_(std::chrono::steady_clock::now()) {
  head_.content_type = ContentType(format);
  head_.headers = MomentHeaders(moment);
  members_ = R"("at":)" + MomentJson(moment);
}

void ListAnswer::AddMember(std::string_view name, std::string_view json) {
  members_ += ',';
  AppendJsonName(name, &members_);
  members_ += json;
}

void ListAnswer::AddTail(std::string_view name, std::string_view json) {
  tail_ += ',';
  AppendJsonName(name, &tail_);
  tail_ += json;
}

void ListAnswer::Open() {
  if (opened_) return;
  opened_ = true;
  switch (format_) {
    case Format::kJson: buffer_ = fmt::format(R"({{{},"{}":[)", members_, list_); break;
    case Format::kNdjson: buffer_ = fmt::format("{{{}}}\n", members_); break;
    case Format::kCsv: buffer_ = csv_header_; break;
  }
}

std::string* ListAnswer::BeginItem() {
  Open();
  item_start_ = buffer_.size();
  if (format_ == Format::kJson) buffer_ += items_ == 0 ? "\n" : ",\n";
  return &buffer_;
}

bool ListAnswer::EndItem() {
  if (format_ == Format::kNdjson) buffer_ += '\n';
  item_start_ = buffer_.size();
  ++items_;
  if (buffer_.size() >= kFlushBytes || std::chrono::steady_clock::now() - flushed_ >= kFlushEvery) Flush();
  return !reader_gone_;
}

void ListAnswer::Flush() {
  if (!reader_gone_ && !begun_) {
    begun_ = true;
    reader_gone_ = !writer_->Begin(head_);
  }
  if (!reader_gone_) reader_gone_ = !writer_->Write(buffer_);
  buffer_.clear();
  item_start_ = 0;
  flushed_ = std::chrono::steady_clock::now();
}

base::Status ListAnswer::Finish(const base::Status& outcome) {
  if (reader_gone_) return {};
  if (!outcome && !begun_) return base::Fail(outcome.error());
  Open();
  if (!outcome) {
    buffer_.resize(item_start_);
    const std::string error = ErrorJson(outcome.error());
    if (format_ == Format::kNdjson) buffer_ += error + "\n";
    // The member of the object that ErrorJson made goes into the one that is open.
    if (format_ == Format::kJson) buffer_ += "]," + error.substr(1) + "\n";
    Flush();
    return {};
  }
  if (format_ == Format::kJson) buffer_ += "\n]" + tail_ + "}\n";
  if (format_ == Format::kNdjson) buffer_ += fmt::format("{{\"end\":{{\"rows\":{}{}}}}}\n", items_, tail_);
  // A reader that is gone by now has nobody to be told.
  if (!begun_) {
    (void)writer_->Send(head_, buffer_);
    return {};
  }
  Flush();
  if (!reader_gone_) (void)writer_->End();
  return {};
}

}  // namespace varve::http
