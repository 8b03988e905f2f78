// SPDX-License-Identifier: PostgreSQL
#include "sidecar/pg/connection.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <utility>

#include <fmt/format.h>
#include <libpq-fe.h>

#include "sidecar/base/log.h"
#include "sidecar/pg/clock_ms.h"

namespace varve::pg {
namespace {

using base::ErrorCode;
using base::Fail;

constexpr int kStopCheckMs = 100;  // how often a wait looks at the stop flag
constexpr int kDrainMs = 2'000;    // for the end of a statement that was cancelled

std::string TrimLine(const char* text) {
  std::string line = text == nullptr ? "" : text;
  while (!line.empty() && (line.back() == '\n' || line.back() == ' ')) line.pop_back();
  std::replace_if(
      line.begin(), line.end(), [](char c) { return c == '\n' || c == '\t'; }, ' ');
  return line;
}

void LogNotice(void*, const char* message) { base::LogDebug("server: {}", TrimLine(message)); }

std::string Field(const PGresult* result, int code) {
  const char* text = PQresultErrorField(result, code);
  return text == nullptr ? "" : text;
}

}  // namespace

int Rows::size() const { return PQntuples(result_.get()); }
bool Rows::IsNull(int row, int column) const { return PQgetisnull(result_.get(), row, column) != 0; }
std::string_view Rows::Text(int row, int column) const {
  return {PQgetvalue(result_.get(), row, column),
          static_cast<size_t>(PQgetlength(result_.get(), row, column))};
}
int64_t Rows::Int(int row, int column) const {
  const std::string_view text = Text(row, column);
  int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}
void Rows::Free::operator()(pg_result* result) const { PQclear(result); }
void CopyBuffer::Free::operator()(char* data) const { PQfreemem(data); }

std::optional<std::string> DsnProblem(const std::string& dsn) {
  char* message = nullptr;
  PQconninfoOption* parsed = PQconninfoParse(dsn.c_str(), &message);
  std::optional<std::string> problem;
  if (parsed == nullptr) problem = TrimLine(message);
  PQconninfoFree(parsed);
  PQfreemem(message);
  return problem;
}

base::Result<std::unique_ptr<Connection>> Connection::Open(const ConnectOptions& options,
                                                           OpenFailure* failure) {
  if (failure != nullptr) *failure = OpenFailure{};
  if (const auto problem = DsnProblem(options.dsn)) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("the connection string [source] dsn is malformed: {}", *problem));
  }
  // What follows dbname overrides what the connection string says. A dead peer is found by the kernel.
  std::vector<const char*> keywords = {"dbname",           "application_name",
                                       "keepalives_idle",  "keepalives_interval",
                                       "keepalives_count", "tcp_user_timeout"};
  std::vector<const char*> values = {options.dsn.c_str(), kApplicationName, "10", "5", "3", "30000"};
  if (options.replication) {
    keywords.push_back("replication");
    values.push_back("database");
  }
  keywords.push_back(nullptr);
  values.push_back(nullptr);
  pg_conn* raw = PQconnectStartParams(keywords.data(), values.data(), 1);
  if (raw == nullptr) return Fail(ErrorCode::kUnavailable, "libpq has no memory for a connection");
  std::unique_ptr<Connection> connection(new Connection(raw, options));
  base::Status status = connection->Establish(options.timeout_ms);
  if (status) status = connection->Configure();
  if (!status) {
    if (failure != nullptr) {
      *failure = {connection->last_error_, connection->user(), connection->database(), connection->host()};
    }
    return Fail(std::move(status).error());
  }
  return connection;
}

base::Status Connection::Establish(int timeout_ms) {
  const int64_t deadline_ms = timeout_ms > 0 ? NowMs() + timeout_ms : 0;
  PostgresPollingStatusType step = PGRES_POLLING_WRITING;
  while (PQstatus(connection_) != CONNECTION_BAD && step != PGRES_POLLING_OK &&
         step != PGRES_POLLING_FAILED) {
    RETURN_IF_ERROR(WaitSocket(step == PGRES_POLLING_READING ? POLLIN : POLLOUT, deadline_ms));
    step = PQconnectPoll(connection_);
  }
  if (PQstatus(connection_) == CONNECTION_OK) {
    PQsetNoticeProcessor(connection_, LogNotice, nullptr);
    if (PQsetnonblocking(connection_, 1) != 0) return Broken("connecting");
    return {};
  }
  last_error_ = ServerError{};
  last_error_.message = TrimLine(PQerrorMessage(connection_));
  last_error_.sqlstate = SqlstateOfConnectText(last_error_.message);
  return Fail(CodeOfSqlstate(last_error_.sqlstate), "cannot connect: " + last_error_.message);
}

base::Status Connection::Configure() {
  std::string settings =
      "set statement_timeout = 0; set lock_timeout = 0; set idle_in_transaction_session_timeout = 0;";
  if (server_version_num() >= 140000) settings += " set idle_session_timeout = 0;";
  const std::string encoding = Parameter("server_encoding");
  if (Parameter("client_encoding") != encoding) {
    settings += " set client_encoding = " + QuoteLiteral(encoding);
  }
  RETURN_IF_ERROR(Query(settings));
  return {};
}

Connection::~Connection() { PQfinish(connection_); }

tl::unexpected<base::Error> Connection::Broken(std::string_view doing) {
  last_error_ = ServerError{};
  last_error_.message = TrimLine(PQerrorMessage(connection_));
  if (last_error_.message.empty()) last_error_.message = "the connection to the server is lost";
  return Fail(ErrorCode::kUnavailable, fmt::format("{}: {}", doing, last_error_.message));
}

tl::unexpected<base::Error> Connection::Refused(const pg_result* result) {
  last_error_ = ServerError{Field(result, PG_DIAG_SQLSTATE), Field(result, PG_DIAG_MESSAGE_PRIMARY),
                            Field(result, PG_DIAG_MESSAGE_DETAIL), Field(result, PG_DIAG_MESSAGE_HINT)};
  if (last_error_.message.empty()) return Broken("waiting for the server");
  return Fail(CodeOfSqlstate(last_error_.sqlstate), Describe(last_error_));
}

// Waits for the socket; `deadline_ms` 0: for ever.
base::Status Connection::WaitSocket(short events, int64_t deadline_ms) {
  for (;;) {
    if (stop_ != nullptr && stop_->load(std::memory_order_relaxed)) {
      return Fail(ErrorCode::kUnavailable, "stopped while waiting for the server");
    }
    const int64_t left = deadline_ms == 0 ? kStopCheckMs : deadline_ms - NowMs();
    if (left <= 0) return Fail(ErrorCode::kUnavailable, "the server did not answer in time");
    pollfd entry{PQsocket(connection_), events, 0};
    if (entry.fd < 0) return Broken("waiting for the server");
    const int ready = poll(&entry, 1, static_cast<int>(std::min<int64_t>(left, kStopCheckMs)));
    if (ready > 0) return {};
    if (ready < 0 && errno != EINTR) return Fail(ErrorCode::kUnavailable, "poll on the connection failed");
  }
}

// True when PQgetResult would not block; false at the deadline.
base::Result<bool> Connection::WaitResultReady(int64_t deadline_ms) {
  for (;;) {
    const int unsent = PQflush(connection_);
    if (unsent < 0 || PQconsumeInput(connection_) == 0) return Broken("waiting for the server");
    if (PQisBusy(connection_) == 0) return true;
    if (deadline_ms != 0 && NowMs() >= deadline_ms) return false;
    const base::Status status =
        WaitSocket(static_cast<short>(unsent > 0 ? POLLIN | POLLOUT : POLLIN), deadline_ms);
    if (!status) {
      if (deadline_ms != 0 && NowMs() >= deadline_ms) return false;
      return Fail(status.error());
    }
  }
}

base::Status Connection::Send(const std::string& sql, const std::vector<std::string>& parameters) {
  int sent = 0;
  if (parameters.empty()) {
    sent = PQsendQuery(connection_, sql.c_str());
  } else {
    std::vector<const char*> values;
    values.reserve(parameters.size());
    for (const std::string& parameter : parameters) values.push_back(parameter.c_str());
    sent = PQsendQueryParams(connection_, sql.c_str(), static_cast<int>(values.size()), nullptr,
                             values.data(), nullptr, nullptr, 0);
  }
  if (sent == 0) return Broken("sending a statement");
  return {};
}

base::Result<bool> Connection::WaitEnded(int wait_ms) { return WaitResultReady(NowMs() + wait_ms); }

base::Result<Rows> Connection::Finish() {
  std::optional<Rows> rows;
  std::optional<tl::unexpected<base::Error>> error;
  for (;;) {
    ASSIGN_OR_RETURN(const bool ready, WaitResultReady(0));
    if (!ready) return Broken("waiting for the server");
    PGresult* result = PQgetResult(connection_);
    if (result == nullptr) break;
    const ExecStatusType status = PQresultStatus(result);
    const bool good = status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK || status == PGRES_EMPTY_QUERY;
    if (!good && !error) error = Refused(result);
    rows.emplace(result);
    if (status == PGRES_COPY_OUT || status == PGRES_COPY_IN || status == PGRES_COPY_BOTH) {
      return Fail(ErrorCode::kInternal, "a statement began a COPY where rows were expected");
    }
    if (PQstatus(connection_) == CONNECTION_BAD) break;
  }
  if (error) return *error;
  if (!rows) return Broken("waiting for the server");
  return std::move(*rows);
}

base::Result<Rows> Connection::Query(const std::string& sql, const std::vector<std::string>& parameters) {
  RETURN_IF_ERROR(Send(sql, parameters));
  auto ready = WaitResultReady(timeout_ms_ > 0 ? NowMs() + timeout_ms_ : 0);
  if (ready && *ready) return Finish();
  Cancel();
  // An answer to the cancelled statement leaves the session clean on the server's side.
  const int64_t deadline_ms = NowMs() + kDrainMs;
  while (PQconsumeInput(connection_) != 0 && PQisBusy(connection_) != 0 && NowMs() < deadline_ms) {
    pollfd entry{PQsocket(connection_), POLLIN, 0};
    (void)poll(&entry, 1, kStopCheckMs);
  }
  if (!ready) return Fail(std::move(ready).error());
  return Fail(ErrorCode::kUnavailable, fmt::format("the server did not answer within {} ms", timeout_ms_));
}

void Connection::Cancel() {
  PGcancel* cancel = PQgetCancel(connection_);
  if (cancel == nullptr) return;
  char message[256];
  if (PQcancel(cancel, message, sizeof(message)) == 0) base::LogDebug("cancel: {}", TrimLine(message));
  PQfreeCancel(cancel);
}

base::Status Connection::StartCopy(const std::string& sql, int wanted_status) {
  RETURN_IF_ERROR(Send(sql));
  ASSIGN_OR_RETURN(const bool ready, WaitResultReady(timeout_ms_ > 0 ? NowMs() + timeout_ms_ : 0));
  if (!ready) {
    Cancel();
    return Fail(ErrorCode::kUnavailable, fmt::format("the server did not answer within {} ms", timeout_ms_));
  }
  PGresult* result = PQgetResult(connection_);
  if (result == nullptr) return Broken("waiting for the server");
  const Rows owner(result);
  if (PQresultStatus(result) == static_cast<ExecStatusType>(wanted_status)) return {};
  base::Status refused = Refused(result);
  // The rest of an error's results, so that the connection can be used again.
  while (PQstatus(connection_) == CONNECTION_OK) {
    PGresult* more = PQgetResult(connection_);
    if (more == nullptr) break;
    PQclear(more);
  }
  return refused;
}

base::Status Connection::StartCopyOut(const std::string& sql) { return StartCopy(sql, PGRES_COPY_OUT); }
base::Status Connection::StartCopyBoth(const std::string& sql) { return StartCopy(sql, PGRES_COPY_BOTH); }

base::Result<std::optional<CopyBuffer>> Connection::ReadCopy() {
  for (;;) {
    char* data = nullptr;
    const int size = PQgetCopyData(connection_, &data, 1);
    if (size > 0) return std::optional<CopyBuffer>(CopyBuffer(data, static_cast<size_t>(size)));
    if (size < 0) {
      RETURN_IF_ERROR(Finish());
      return std::optional<CopyBuffer>();
    }
    RETURN_IF_ERROR(WaitSocket(POLLIN, timeout_ms_ > 0 ? NowMs() + timeout_ms_ : 0));
    if (PQconsumeInput(connection_) == 0) return Broken("reading a COPY");
  }
}

base::Result<std::optional<CopyBuffer>> Connection::TryReadCopy() {
  char* data = nullptr;
  int size = PQgetCopyData(connection_, &data, 1);
  if (size == 0) {
    if (PQconsumeInput(connection_) == 0) return Broken("receiving");
    size = PQgetCopyData(connection_, &data, 1);
  }
  if (size > 0) return std::optional<CopyBuffer>(CopyBuffer(data, static_cast<size_t>(size)));
  if (size == 0) return std::optional<CopyBuffer>();
  if (size == -2) return Broken("receiving");
  PGresult* result = PQgetResult(connection_);
  if (result == nullptr) return Broken("receiving");
  const Rows owner(result);
  if (PQresultStatus(result) == PGRES_FATAL_ERROR) return Refused(result);
  last_error_ = ServerError{};
  return Fail(ErrorCode::kUnavailable, "the server ended the stream; it is probably shutting down");
}

base::Status Connection::WriteCopy(std::string_view message) {
  if (PQputCopyData(connection_, message.data(), static_cast<int>(message.size())) < 0) {
    return Broken("sending");
  }
  RETURN_IF_ERROR(Flush());
  return {};
}

base::Result<bool> Connection::Flush() {
  const int unsent = PQflush(connection_);
  if (unsent < 0) return Broken("sending");
  return unsent == 0;
}

void Connection::EndCopyBoth(int wait_ms) {
  if (PQputCopyEnd(connection_, nullptr) < 0) return;
  const int64_t deadline_ms = NowMs() + wait_ms;
  while (NowMs() < deadline_ms && PQstatus(connection_) == CONNECTION_OK) {
    const int unsent = PQflush(connection_);
    if (unsent < 0 || PQconsumeInput(connection_) == 0) return;
    char* data = nullptr;
    int size = 0;
    while ((size = PQgetCopyData(connection_, &data, 1)) > 0) PQfreemem(data);
    if (size < 0) return;
    pollfd entry{PQsocket(connection_), static_cast<short>(unsent > 0 ? POLLIN | POLLOUT : POLLIN), 0};
    (void)poll(&entry, 1, kStopCheckMs);
  }
}

int Connection::socket() const { return PQsocket(connection_); }
int Connection::server_version_num() const { return PQserverVersion(connection_); }
std::string Connection::Parameter(const char* name) const {
  const char* value = PQparameterStatus(connection_, name);
  return value == nullptr ? "" : value;
}
std::string Connection::database() const { return TrimLine(PQdb(connection_)); }
std::string Connection::user() const { return TrimLine(PQuser(connection_)); }
std::string Connection::host() const { return TrimLine(PQhost(connection_)); }

bool Connection::shares_machine() const {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  if (getpeername(socket(), reinterpret_cast<sockaddr*>(&address), &size) != 0) return false;
  if (address.ss_family == AF_UNIX) return true;
  if (address.ss_family == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(&address);
    return (ntohl(v4->sin_addr.s_addr) >> 24) == IN_LOOPBACKNET;
  }
  if (address.ss_family != AF_INET6) return false;
  return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6*>(&address)->sin6_addr);
}

std::optional<uint32_t> Connection::server_user() const {
  ucred peer{};
  socklen_t size = sizeof(peer);
  sockaddr_storage address{};
  socklen_t address_size = sizeof(address);
  if (getpeername(socket(), reinterpret_cast<sockaddr*>(&address), &address_size) != 0 ||
      address.ss_family != AF_UNIX || getsockopt(socket(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    return std::nullopt;
  }
  return peer.uid;
}

}  // namespace varve::pg
