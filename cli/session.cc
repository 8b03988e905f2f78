// SPDX-License-Identifier: PostgreSQL
#include "cli/session.h"

#include <algorithm>
#include <fstream>

#include <fmt/format.h>

#include "cli/reference.h"

namespace varve::cli {
namespace {

constexpr size_t kTailBytes = 4096;

std::string ReadToken(const std::string& path) {
  std::ifstream file(path);
  std::string token;
  std::getline(file, token);
  return token;
}

// The refusal in the line {"error":{…}}, or at the end of a document that was cut.
std::optional<Refusal> RefusalIn(std::string_view text) {
  constexpr std::string_view kStart = R"("error":{"code")";
  const size_t at = text.rfind(kStart);
  if (at == std::string_view::npos) return std::nullopt;
  const size_t end = text.rfind("}}");
  if (end == std::string_view::npos || end < at) return std::nullopt;
  const std::string text_of_object = "{" + std::string(text.substr(at, end + 2 - at));
  const auto object = JsonObject::Parse(text_of_object);
  if (!object) return std::nullopt;
  const JsonObject error = object->Object("error");
  return Refusal{error.Text("code"), error.Text("message")};
}

}  // namespace

bool LineSplitter::Add(std::string_view part) {
  while (true) {
    const size_t end = part.find('\n');
    if (end == std::string_view::npos) {
      rest_.append(part);
      return true;
    }
    rest_.append(part.substr(0, end));
    part.remove_prefix(end + 1);
    if (!on_line_(rest_)) return false;
    rest_.clear();
  }
}

void AddText(std::string_view name, const std::string& value, ClientRequest* request) {
  if (!value.empty()) request->parameters.emplace_back(name, value);
}

void AddReference(std::string_view name, const std::string& value, ClientRequest* request) {
  AddText(name, LocalReference(value), request);
}

void AddWait(const WaitOptions& wait, ClientRequest* request) {
  if (wait.wait) AddText("wait", "true", request);
  if (wait.timeout_seconds) AddText("timeout", fmt::format("{}", *wait.timeout_seconds), request);
}

Format Session::format() const {
  if (common_.json) return Format::kJson;
  if (common_.ndjson) return Format::kNdjson;
  return Format::kPeople;
}

int Session::Fail(int status, std::string_view message) {
  output_->WriteError(fmt::format("varve: {}\n", message));
  return status;
}

int Session::Refuse(const Refusal& refusal) {
  return Fail(kExitRefused, fmt::format("{}: {}", refusal.code, refusal.message));
}

void Session::SayMoment(const ClientAnswer& answer) {
  if (common_.quiet || answer.position.empty()) return;
  output_->WriteError(fmt::format("at {}, {}; varved is {} bytes, {} s behind\n", answer.position,
                                  answer.time, answer.lag_bytes, answer.lag_seconds));
}

base::Result<ClientAnswer> Session::Ask(const std::string& server, const ClientRequest& request,
                                        const std::function<bool(std::string_view)>& on_part,
                                        const std::function<void(const ClientAnswer&)>& on_head) const {
  const std::string token = common_.token_file.empty() ? "" : ReadToken(common_.token_file);
  if (!common_.token_file.empty() && token.empty()) {
    return base::Fail(base::ErrorCode::kInvalidArgument,
                      fmt::format("--token-file {} cannot be read or is empty", common_.token_file));
  }
  ASSIGN_OR_RETURN(const Client client, Client::Make(server, token));
  return client.Send(request, on_head, on_part);
}

int Session::FailToAsk(const base::Error& error) {
  if (error.code == base::ErrorCode::kInvalidArgument) return Fail(kExitUsage, error.message);
  if (error.code != base::ErrorCode::kUnavailable) return Fail(kExitUnreachable, error.message);
  return Fail(kExitUnreachable, error.message +
                                    "; is varved running? --server or VARVE_SERVER names another socket, "
                                    "varve doctor looks for the cause");
}

int Session::Run(const ClientRequest& request, const std::function<bool(std::string_view)>& on_part) {
  // The end of what came, where the reason stands when the answer was cut.
  std::string tail;
  const base::Result<ClientAnswer> answer = Ask(
      common_.server, request,
      [&](std::string_view part) {
        tail.append(part.substr(part.size() - std::min(part.size(), kTailBytes)));
        if (tail.size() > kTailBytes) tail.erase(0, tail.size() - kTailBytes);
        return on_part(part);
      },
      [this](const ClientAnswer& head) { SayMoment(head); });
  output_->EndProgress();
  if (!answer) {
    if (const auto refusal = RefusalIn(tail)) return Refuse(*refusal);
    return FailToAsk(answer.error());
  }
  if (answer->refusal) return Refuse(*answer->refusal);
  return kExitDone;
}

int Session::Parts(ClientRequest request, const std::function<bool(std::string_view)>& on_part) {
  return Run(request, on_part);
}

int Session::Copy(ClientRequest request, Format format) {
  uint64_t lines = 0;
  if (format == Format::kNdjson) request.accept = "application/x-ndjson";
  if (format == Format::kCsv) request.accept = "text/csv";
  return Run(request, [&](std::string_view part) {
    output_->Write(part);
    lines += static_cast<uint64_t>(std::count(part.begin(), part.end(), '\n'));
    output_->Progress(lines);
    return output_->alive();
  });
}

int Session::List(ClientRequest request, const std::function<void(const JsonObject&)>& on_first,
                  const std::function<bool(std::string_view)>& on_item) {
  request.accept = "application/x-ndjson";
  end_line_.clear();
  bool first_seen = false;
  bool wants_more = true;
  // A line is an item only when another one follows: the last one is the end.
  LineSplitter lines([&](std::string_view line) {
    if (!first_seen) {
      first_seen = true;
      const base::Result<JsonObject> first = JsonObject::Parse(line);
      on_first(first ? *first : JsonObject());
      return true;
    }
    if (!end_line_.empty()) wants_more = on_item(end_line_);
    end_line_ = line;
    return wants_more;
  });
  const int status = Run(request, [&](std::string_view part) { return lines.Add(part); });
  if (status != kExitDone || !wants_more) return status;
  if (end_line_.substr(0, 7) != "{\"end\":")
    return Fail(kExitUnreachable, "the answer was cut before its end");
  return kExitDone;
}

int Session::Document(ClientRequest request, const std::function<void(const JsonObject&)>& on_document) {
  std::string body;
  const int status = Run(request, [&body](std::string_view part) {
    body.append(part);
    return true;
  });
  if (status != kExitDone) return status;
  const base::Result<JsonObject> document = JsonObject::Parse(body);
  if (!document) return Fail(kExitUnreachable, document.error().message);
  on_document(*document);
  return kExitDone;
}

}  // namespace varve::cli
