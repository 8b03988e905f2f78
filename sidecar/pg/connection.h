// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sidecar/base/result.h"
#include "sidecar/pg/error.h"

struct pg_conn;
struct pg_result;

namespace varve::pg {

// The rows of one result; values borrow from it.
class Rows {
 public:
  explicit Rows(pg_result* result) : result_(result) {}
  int size() const;
  bool IsNull(int row, int column) const;
  // Empty for null.
  std::string_view Text(int row, int column) const;
  // 0 for null or what is no number.
  int64_t Int(int row, int column) const;
  bool Bool(int row, int column) const { return Text(row, column) == "t"; }

 private:
  struct Free {
    void operator()(pg_result* result) const;
  };
  std::unique_ptr<pg_result, Free> result_;
};

// One message of a COPY, as libpq allocated it.
class CopyBuffer {
 public:
  CopyBuffer() = default;
  CopyBuffer(char* data, size_t size) : data_(data), size_(size) {}
  std::string_view bytes() const { return {data_.get(), size_}; }

 private:
  struct Free {
    void operator()(char* data) const;
  };
  std::unique_ptr<char, Free> data_;
  size_t size_ = 0;
};

struct ConnectOptions {
  std::string dsn;
  bool replication = false;  // a walsender connection to the same database
  int timeout_ms = 10'000;
  const std::atomic<bool>* stop = nullptr;  // ends every wait soon after it becomes true
};

inline constexpr char kApplicationName[] = "varve";

// Why a connection could not be opened, and what it was for.
struct OpenFailure {
  ServerError error;
  std::string user;
  std::string database;
  std::string host;
};

// A libpq connection: client_encoding is the server's own (values are never re-coded), time-outs that would
// end long work are off, application_name is "varve". Owns the PGconn. One thread at a time, except Cancel.
// Fails with kUnavailable when the connection breaks or a wait ends by timeout or stop; a server's error
// keeps its words and SQLSTATE in the message and in last_error(). After a failed wait the connection is
// broken and can only be destroyed.
class Connection {
 public:
  // Errors: kInvalidArgument for a DSN that libpq cannot read; by CodeOfSqlstate what the server answers.
  // `failure`, if given, receives what is known of a failure.
  static base::Result<std::unique_ptr<Connection>> Open(const ConnectOptions& options,
                                                        OpenFailure* failure = nullptr);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // How long one Query, StartCopyOut or StartCopyBoth may take; 0: for ever. 30 s at first.
  void set_timeout_ms(int timeout_ms) { timeout_ms_ = timeout_ms; }

  // Runs one statement and waits. With parameters ($1 is a text) not on a replication connection.
  base::Result<Rows> Query(const std::string& sql, const std::vector<std::string>& parameters = {});

  // A statement that takes long, in three steps: send, wait up to `wait_ms` for its end (true: ended), take
  // the result.
  base::Status Send(const std::string& sql, const std::vector<std::string>& parameters = {});
  base::Result<bool> WaitEnded(int wait_ms);
  base::Result<Rows> Finish();
  // Asks the server to give up the running statement, which then ends with 57014.
  void Cancel();

  // Starts COPY … TO STDOUT or START_REPLICATION.
  base::Status StartCopyOut(const std::string& sql);
  base::Status StartCopyBoth(const std::string& sql);
  // The next message, waiting for it; nothing at the end of a COPY OUT that the server says is complete.
  base::Result<std::optional<CopyBuffer>> ReadCopy();
  // The next message if it is here; nothing otherwise. An end of the stream is kUnavailable.
  base::Result<std::optional<CopyBuffer>> TryReadCopy();
  // Puts a message into the output buffer and sends what the socket takes.
  base::Status WriteCopy(std::string_view message);
  // True when the output buffer is empty.
  base::Result<bool> Flush();
  // Says that nothing more comes from us and waits up to `wait_ms` for the server to end its side.
  void EndCopyBoth(int wait_ms);

  int socket() const;
  int server_version_num() const;
  // As the server reports it: server_encoding, server_version, …; empty when it does not.
  std::string Parameter(const char* name) const;
  std::string database() const;
  std::string user() const;
  std::string host() const;
  // Whether it leads through a Unix socket or the loopback interface.
  bool shares_machine() const;
  // The user that the server's process has; known of a Unix socket.
  std::optional<uint32_t> server_user() const;
  const ServerError& last_error() const { return last_error_; }

 private:
  explicit Connection(pg_conn* connection, const ConnectOptions& options)
      : connection_(connection), stop_(options.stop) {}

  base::Status Establish(int timeout_ms);
  base::Status Configure();
  base::Status WaitSocket(short events, int64_t deadline_ms);
  base::Result<bool> WaitResultReady(int64_t deadline_ms);
  base::Status StartCopy(const std::string& sql, int wanted_status);
  tl::unexpected<base::Error> Broken(std::string_view doing);
  tl::unexpected<base::Error> Refused(const pg_result* result);

  pg_conn* connection_;
  const std::atomic<bool>* stop_;
  int timeout_ms_ = 30'000;
  ServerError last_error_;
};

// Nothing when libpq can read the connection string, else what it says. Does not connect.
std::optional<std::string> DsnProblem(const std::string& dsn);

// "a""b"; REQUIRES: no NUL.
std::string QuoteIdentifier(std::string_view name);
// 'a''b', as E'…' when there is a backslash, so that it does not depend on standard_conforming_strings.
std::string QuoteLiteral(std::string_view value);
// schema.table, both quoted.
std::string QuoteQualified(std::string_view schema, std::string_view name);

}  // namespace varve::pg
