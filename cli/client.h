// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sidecar/base/result.h"

namespace varve::cli {

// A request to varved; everything is percent-encoded by the client.
struct ClientRequest {
  std::string method = "GET";
  std::vector<std::string> path;  // segments
  std::vector<std::pair<std::string, std::string>> parameters;
  std::string accept = "application/json";
  std::string body;  // JSON
};

// What varved said no with.
struct Refusal {
  std::string code;  // "before_history"
  std::string message;
};

struct ClientAnswer {
  int status = 0;
  std::optional<Refusal> refusal;
  std::string position, time, lag_bytes, lag_seconds;  // empty where the answer has none
};

// Asks varved over its Unix socket or over TCP, one connection a request. One thread.
class Client {
 public:
  // `server`: a path, unix:PATH or http://HOST:PORT. Errors: kInvalidArgument.
  static base::Result<Client> Make(std::string_view server, std::string token);

  // Gives the body of a good answer to `on_part` as it comes, after its head to `on_head`; false from
  // `on_part` ends the request. A refusal's body is in the answer. Errors: kUnavailable when varved cannot be
  // reached, kInternal when the answer is cut or none of varved's.
  base::Result<ClientAnswer> Send(const ClientRequest& request,
                                  const std::function<void(const ClientAnswer&)>& on_head,
                                  const std::function<bool(std::string_view)>& on_part) const;

 private:
  std::string unix_path_;
  std::string host_, port_;
  std::string token_;
};

// "/v1/tables/a%2Fb/rows?as_of=…"
std::string TargetOf(const ClientRequest& request);

}  // namespace varve::cli
