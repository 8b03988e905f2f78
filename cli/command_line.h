// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace varve::cli {

// Exit statuses, the same for every verb.
enum ExitStatus : int {
  kExitDone = 0,         // yes, done
  kExitNo = 1,           // the answer is no
  kExitUsage = 2,        // the command line cannot be understood
  kExitUnreachable = 3,  // the server cannot be reached
  kExitRefused = 4,      // the server refused; its error code is on stderr
};

inline constexpr const char* kDefaultServer = "/run/varve/main/http.sock";

enum class Format : uint8_t { kPeople, kJson, kNdjson, kCsv, kImage };

struct CommonOptions {
  std::string server;         // path of the Unix socket, or http://HOST:PORT
  bool server_given = false;  // by --server
  bool server_is_default = false;
  std::string token_file;
  bool json = false;
  bool ndjson = false;
  bool quiet = false;  // no line on stderr that says which moment it is
};

struct WaitOptions {
  bool wait = false;
  std::optional<double> timeout_seconds;
};

struct StatusVerb {};
struct TablesVerb {};
struct WaitVerb {
  std::string reference = "now";
  std::optional<double> timeout_seconds;
};
struct LogVerb {
  std::string from, to;
  std::optional<uint64_t> limit;
  bool oldest_first = false;
  WaitOptions wait;
};
struct ShowVerb {
  std::string reference;
  WaitOptions wait;
};
struct GetVerb {
  std::string table, key, as_of, columns;
  std::string format;  // empty, json, csv or image
  WaitOptions wait;
};
struct ScanVerb {
  std::string table, as_of, columns, after;
  std::vector<std::string> where;
  std::optional<uint64_t> limit;
  std::string format;  // empty, table, json, ndjson or csv
  WaitOptions wait;
};
struct HistoryVerb {
  std::string table, key, from, to;
  WaitOptions wait;
};
struct DiffVerb {
  std::string from, to, table;
  bool stat = false;
  bool raw = false;
  bool exit_code = false;
  WaitOptions wait;
};
struct TagCreateVerb {
  std::string name, reference = "now";
  WaitOptions wait;
};
struct TagListVerb {};
struct TagDeleteVerb {
  std::string name;
};
struct InitVerb {
  std::string source, publication = "varve", slot = "varve", data_dir, config_path, socket;
  std::vector<std::string> tables;
  bool overwrite = false;
  bool no_config = false;
  bool allow_synchronous = false;
};
struct DoctorVerb {
  std::string source, config_path;
};
struct DetachVerb {
  std::string source, slot, config_path;
};

using Verb =
    std::variant<StatusVerb, TablesVerb, WaitVerb, LogVerb, ShowVerb, GetVerb, ScanVerb, HistoryVerb,
                 DiffVerb, TagCreateVerb, TagListVerb, TagDeleteVerb, InitVerb, DoctorVerb, DetachVerb>;

struct CommandLine {
  CommonOptions common;
  Verb verb;
};

// A command line, or what to print instead of running one (help, version, a usage error).
struct ParsedCommandLine {
  std::optional<CommandLine> command;
  int exit_status = kExitDone;
  std::string output;  // for stdout
  std::string error;   // for stderr
};

// `arguments` without the program's name; `environment_server` is VARVE_SERVER, nothing when not set.
ParsedCommandLine ParseCommandLine(std::vector<std::string> arguments,
                                   const std::optional<std::string>& environment_server);

}  // namespace varve::cli
