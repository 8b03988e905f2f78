// SPDX-License-Identifier: PostgreSQL
#include "cli/command_line.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <memory>

#include <fmt/format.h>
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "cli/help.h"
#include "cli/table_name.h"

namespace varve::cli {
namespace {

// "-5" would be read as an option; keys may be negative.
constexpr char kNegativeMark = '\x1f';

bool IsNegativeNumber(const std::string& argument) {
  return argument.size() > 1 && argument[0] == '-' &&
         (std::isdigit(static_cast<unsigned char>(argument[1])) != 0);
}

void Unmark(std::string* text) {
  if (!text->empty() && text->front() == kNegativeMark) text->erase(0, 1);
}

std::string WithoutMark(std::string text) {
  Unmark(&text);
  return text;
}

constexpr double kSecondsMost = 86'400;

// What a script gives where a variable of it is not set: never "whatever the default is".
std::string CheckPresent(std::string& value) {  // NOLINT(google-runtime-references): as CLI11 calls it
  if (!value.empty()) return {};
  return "it is given and empty: leave it out, or say which";
}

std::string CheckCount(const std::string& value) {
  if (value.empty()) return {};  // said by CheckPresent
  uint64_t count = 0;
  const char* end = value.data() + value.size();
  const auto parsed = std::from_chars(value.data(), end, count);
  if (parsed.ec == std::errc() && parsed.ptr == end && count > 0) return {};
  return fmt::format("a whole number from 1 on, not \"{}\"", WithoutMark(value));
}

std::string CheckSeconds(const std::string& value) {
  if (value.empty()) return {};
  double seconds = 0;
  const char* end = value.data() + value.size();
  const auto parsed = std::from_chars(value.data(), end, seconds);
  if (parsed.ec == std::errc() && parsed.ptr == end && std::isfinite(seconds) && seconds >= 0 &&
      seconds <= kSecondsMost) {
    return {};
  }
  return fmt::format("a number of seconds from 0 to {}, not \"{}\"", kSecondsMost, WithoutMark(value));
}

// All that the options are bound to while CLI11 reads them.
struct Bound {
  CommonOptions common;
  std::string branch;
  StatusVerb status;
  TablesVerb tables;
  WaitVerb wait;
  LogVerb log;
  ShowVerb show;
  GetVerb get;
  ScanVerb scan;
  HistoryVerb history;
  DiffVerb diff;
  TagCreateVerb tag_create;
  TagListVerb tag_list;
  TagDeleteVerb tag_delete;
  InitVerb init;
  DoctorVerb doctor;
  DetachVerb detach;
  std::optional<Verb> chosen;
};

void AddServer(CLI::App* app, Bound* bound) {
  app->add_option("--server", bound->common.server,
                  fmt::format("varved's socket, or http://HOST:PORT (VARVE_SERVER; else {})", kDefaultServer))
      ->type_name("PATH");
  app->add_option("--token-file", bound->common.token_file, "file with the token for http://HOST:PORT")
      ->type_name("FILE");
  app->add_flag("-q,--quiet", bound->common.quiet, "do not say on stderr which moment the answer is of");
}

void AddJson(CLI::App* app, Bound* bound) {
  CLI::Option* json = app->add_flag("--json", bound->common.json, "one JSON document");
  CLI::Option* ndjson = app->add_flag("--ndjson", bound->common.ndjson, "a JSON value a line, as it comes");
  ndjson->excludes(json);
  if (CLI::Option* format = app->get_option_no_throw("--format")) format->excludes(json)->excludes(ndjson);
}

void AddWait(CLI::App* app, WaitOptions* wait) {
  app->add_flag("--wait", wait->wait, "first wait for everything that the server has committed by now");
  app->add_option("--timeout", wait->timeout_seconds, "seconds to wait at most (10)")
      ->type_name("SECONDS")
      ->check(CLI::Validator(CheckSeconds, ""));
}

// Every value that is given must say something.
void CheckAllPresent(CLI::App* app) {
  for (CLI::Option* option : app->get_options()) {
    if (option->get_items_expected_max() > 0) option->check(CLI::Validator(CheckPresent, ""));
  }
  for (CLI::App* sub : app->get_subcommands([](CLI::App*) { return true; })) CheckAllPresent(sub);
}

// Branches are of a later version: the option says so instead of being unknown.
void AddBranch(CLI::App* app, Bound* bound) { app->add_option("--branch", bound->branch)->group(""); }

template <typename V>
CLI::App* AddVerb(CLI::App* app, const char* name, const char* what, V* verb, Bound* bound,
                  const std::string& footer) {
  CLI::App* sub = app->add_subcommand(name, what);
  sub->footer(footer);
  sub->callback([verb, bound] { bound->chosen = Verb(*verb); });
  return sub;
}

void AddReading(CLI::App* app, Bound* b) {
  CLI::App* get =
      AddVerb(app, "get", "One row, now or at any moment", &b->get, b,
              Footer(std::string(kTableHelp) + std::string(kKeyHelp) + std::string(kReferenceHelp),
                     {"get accounts 42", "get accounts 42 --as-of time:now-1h",
                      "get sales.order_line '[7,2]' --as-of xid:4711^ --json"}));
  get->add_option("table", b->get.table, "the table")->required()->type_name("TABLE");
  get->add_option("key", b->get.key, "the row's key")->required()->type_name("KEY");
  get->add_option("--as-of", b->get.as_of, "the moment (now)")->type_name("REF");
  get->add_option("--columns", b->get.columns, "only these, separated by commas")->type_name("A,B");
  get->add_option("--format", b->get.format, "json, csv, or image: the stored bytes in hex")
      ->check(CLI::IsMember({"json", "csv", "image"}));

  CLI::App* scan =
      AddVerb(app, "scan", "The rows of a table, now or at any moment", &b->scan, b,
              Footer(std::string(kTableHelp) + std::string(kCellHelp) + std::string(kReferenceHelp),
                     {"scan accounts --as-of xid:4711^", "scan accounts --where status=open --limit 10",
                      "scan accounts --as-of first --format csv > accounts.csv"}));
  scan->add_option("table", b->scan.table, "the table")->required()->type_name("TABLE");
  scan->add_option("--as-of", b->scan.as_of, "the moment (now)")->type_name("REF");
  scan->add_option("--where", b->scan.where, "only rows with this value; several times: all of them")
      ->type_name("COLUMN=VALUE")
      ->allow_extra_args(false);
  scan->add_option("--columns", b->scan.columns, "only these, separated by commas")->type_name("A,B");
  scan->add_option("--limit,-n", b->scan.limit, "at most so many rows")
      ->type_name("N")
      ->check(CLI::Validator(CheckCount, ""));
  scan->add_option("--after", b->scan.after, "only rows behind this key (JSON)")->type_name("KEY");
  scan->add_option("--format", b->scan.format,
                   "table, json, ndjson or csv (as COPY ... CSV HEADER writes it)")
      ->check(CLI::IsMember({"table", "json", "ndjson", "csv"}));

  CLI::App* history = AddVerb(
      app, "history", "The versions of one row: when, which transaction, what changed", &b->history, b,
      Footer(std::string(kTableHelp) + std::string(kKeyHelp) + std::string(kCellHelp) +
                 std::string(kReferenceHelp),
             {"history accounts 42", "history accounts 42 --from time:now-7d",
              "history users '\"alice\"' --to tag:release --json"}));
  history->add_option("table", b->history.table, "the table")->required()->type_name("TABLE");
  history->add_option("key", b->history.key, "the row's key")->required()->type_name("KEY");
  history->add_option("--from", b->history.from, "versions later than this (first)")->type_name("REF");
  history->add_option("--to", b->history.to, "up to this (now)")->type_name("REF");

  for (const auto& [sub, wait] :
       {std::pair(get, &b->get.wait), std::pair(scan, &b->scan.wait), std::pair(history, &b->history.wait)}) {
    AddWait(sub, wait);
    AddJson(sub, b);
    AddServer(sub, b);
    AddBranch(sub, b);
  }
}

void AddTransactions(CLI::App* app, Bound* b) {
  CLI::App* log =
      AddVerb(app, "log", "Transactions that changed tracked tables, newest first", &b->log, b,
              Footer(kReferenceHelp, {"log", "log -n 5", "log --from tag:release --to now --ndjson"}));
  log->add_option("--from", b->log.from, "later than this (the first copy)")->type_name("REF");
  log->add_option("--to", b->log.to, "up to this (now)")->type_name("REF");
  log->add_option("--limit,-n", b->log.limit, "at most so many (50 unless as JSON)")
      ->type_name("N")
      ->check(CLI::Validator(CheckCount, ""));
  log->add_flag("--reverse", b->log.oldest_first, "oldest first");

  CLI::App* show = AddVerb(app, "show", "One transaction and what it changed", &b->show, b,
                           Footer(kReferenceHelp, {"show xid:4711", "show now", "show time:now-5m --json"}));
  show->add_option("ref", b->show.reference, "the transaction")->required()->type_name("REF");

  CLI::App* diff = AddVerb(app, "diff", "What changed between two moments, by row and cell", &b->diff, b,
                           Footer(std::string(kTableHelp) + std::string(kReferenceHelp),
                                  {"diff xid:4711^ xid:4711", "diff tag:release --table accounts",
                                   "diff time:now-1h now --stat"}));
  diff->add_option("from", b->diff.from, "where to begin")->required()->type_name("FROM");
  diff->add_option("to", b->diff.to, "where to end (now)")->type_name("TO");
  diff->add_option("--table", b->diff.table, "only this table")->type_name("TABLE");
  diff->add_flag("--stat", b->diff.stat, "counts by table only");
  diff->add_flag("--raw", b->diff.raw, "every step instead of the net change");
  diff->add_flag("--exit-code", b->diff.exit_code, "exit with 1 when there are differences");

  for (const auto& [sub, wait] :
       {std::pair(log, &b->log.wait), std::pair(show, &b->show.wait), std::pair(diff, &b->diff.wait)}) {
    AddWait(sub, wait);
    AddJson(sub, b);
    AddServer(sub, b);
    AddBranch(sub, b);
  }
}

void AddTags(CLI::App* app, Bound* b) {
  CLI::App* tag = app->add_subcommand("tag", "Names for moments: create, list, delete");
  tag->require_subcommand(1);
  tag->footer(Footer("", {"tag create before-migration", "tag list", "tag delete before-migration"}));
  CLI::App* create =
      AddVerb(tag, "create", "Give a moment a name", &b->tag_create, b,
              Footer(kReferenceHelp, {"tag create before-migration", "tag create release xid:4711",
                                      "tag create now-for-sure now --wait"}));
  create->add_option("name", b->tag_create.name, "letters, digits and ._/-")->required()->type_name("NAME");
  create->add_option("ref", b->tag_create.reference, "the moment (now)")->type_name("REF");
  AddWait(create, &b->tag_create.wait);
  CLI::App* list =
      AddVerb(tag, "list", "All tags", &b->tag_list, b, Footer("", {"tag list", "tag list --json"}));
  CLI::App* remove = AddVerb(tag, "delete", "Delete a tag; the moment that it named stays readable",
                             &b->tag_delete, b, Footer("", {"tag delete before-migration"}));
  remove->add_option("name", b->tag_delete.name, "the tag")->required()->type_name("NAME");
  for (CLI::App* sub : {create, list, remove}) {
    AddJson(sub, b);
    AddServer(sub, b);
  }
}

void AddService(CLI::App* app, Bound* b) {
  CLI::App* status = AddVerb(app, "status", "What varved is doing: slot, position, lag, rates, store",
                             &b->status, b, Footer("", {"status", "status --json"}));
  CLI::App* tables = AddVerb(
      app, "tables", "The tables that varved has a history of, and up to where they can be read", &b->tables,
      b,
      Footer("It lists what is or was in the publication: tracked, copying, broken or dropped, and why.\n"
             "What is not followed at all, and why, is listed by varve doctor.\n",
             {"tables", "tables --json"}));
  CLI::App* wait =
      AddVerb(app, "wait", "Wait until a moment can be read", &b->wait, b,
              Footer("It also waits for varved to start and for the first copy to be complete.\n" +
                         std::string(kReferenceHelp),
                     {"wait", "wait 0/16B3748 --timeout 60", "wait xid:4711 && varve show xid:4711"}));
  wait->add_option("ref", b->wait.reference, "the moment (everything that the server has committed by now)")
      ->type_name("REF");
  wait->add_option("--timeout", b->wait.timeout_seconds, "seconds to wait at most (10)")
      ->type_name("SECONDS")
      ->check(CLI::Validator(CheckSeconds, ""));
  for (CLI::App* sub : {status, tables, wait}) {
    AddJson(sub, b);
    AddServer(sub, b);
  }
}

void AddSetup(CLI::App* app, Bound* b) {
  CLI::App* init = AddVerb(
      app, "init", "Check a server, create the publication, write varved's config file", &b->init, b,
      Footer("The replication slot is made by varved at its first start, with a copy of the tables. Tables\n"
             "cannot be added later: that takes a new first copy (docs/operations.md).\n",
             {"init --source 'host=/run/postgresql dbname=shop'",
              "init --source postgresql://varve@db/shop --tables 'public.*' sales.orders",
              "init --source dbname=shop --data /srv/varve --config /srv/varve/varve.toml"}));
  init->add_option("--source", b->init.source, "how to reach the database, as in psql")
      ->required()
      ->type_name("DSN");
  init->add_option("--data", b->init.data_dir, "where varved keeps its store (/var/lib/varve/main)")
      ->type_name("DIR");
  init->add_option("--publication", b->init.publication, "its name (varve)")->type_name("NAME");
  init->add_option("--slot", b->init.slot, "name of the replication slot (varve)")->type_name("NAME");
  init->add_option("--tables", b->init.tables, "which, with * and ?; every table with a key when absent")
      ->type_name("PATTERN");
  init->add_option("--config", b->init.config_path, "the file to write (VARVE_CONFIG, /etc/varve/varve.toml)")
      ->type_name("FILE");
  init->add_option("--socket", b->init.socket, fmt::format("varved's HTTP socket ({})", kDefaultServer))
      ->type_name("PATH");
  init->add_flag("--overwrite", b->init.overwrite, "replace a config file that has other contents");
  init->add_flag("--no-config", b->init.no_config, "print the config file instead of writing it");
  init->add_flag("--allow-synchronous", b->init.allow_synchronous,
                 "go on although synchronous_standby_names makes commits wait for varved");

  CLI::App* doctor = AddVerb(
      app, "doctor", "The checks of init on the running system, lag, retained WAL, tables", &b->doctor, b,
      Footer("It asks PostgreSQL, and the varved of --server, of the --config file, of VARVE_SERVER or\n"
             "of the default config file, in this order. It lists every table that is not followed.\n",
             {"doctor", "doctor --config /srv/varve/varve.toml"}));
  CLI::App* detach =
      AddVerb(app, "detach", "Stop tracking: drop the replication slot and say what remains", &b->detach, b,
              Footer("Stop varved first. The store stays readable until its directory is removed.\n",
                     {"detach", "detach --source dbname=shop --slot varve"}));
  detach->add_option("--slot", b->detach.slot, "name of the slot (of the config file, else varve)")
      ->type_name("NAME");
  for (const auto& [sub, source, config] : {std::tuple(doctor, &b->doctor.source, &b->doctor.config_path),
                                            std::tuple(detach, &b->detach.source, &b->detach.config_path)}) {
    sub->add_option("--source", *source, "how to reach the database, instead of the config file's")
        ->type_name("DSN");
    sub->add_option("--config", *config, "varved's config file (VARVE_CONFIG, /etc/varve/varve.toml)")
        ->type_name("FILE");
  }
  for (CLI::App* sub : {init, doctor, detach}) {
    AddJson(sub, b);
    AddServer(sub, b);
  }
}

// The first word that is no option, for verbs that this version does not have.
std::string FirstWord(const std::vector<std::string>& arguments) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--server" || arguments[i] == "--token-file") {
      ++i;
    } else if (!arguments[i].empty() && arguments[i][0] != '-') {
      return arguments[i];
    }
  }
  return {};
}

ParsedCommandLine UsageError(std::string message) {
  ParsedCommandLine parsed;
  parsed.exit_status = kExitUsage;
  parsed.error = "varve: " + std::move(message) + "\n";
  return parsed;
}

// CLI11 prints help and errors itself: into strings.
ParsedCommandLine Exited(const CLI::App& app, const CLI::ParseError& error) {
  std::ostringstream output;
  std::ostringstream errors;
  const int status = app.exit(error, output, errors);
  ParsedCommandLine parsed;
  parsed.exit_status = status == 0 ? kExitDone : kExitUsage;
  parsed.output = output.str();
  if (status != 0) parsed.error = "varve: " + errors.str();
  return parsed;
}

// What CLI11 cannot: keys lose their mark, tables their quotes. Errors: kInvalidArgument.
base::Status Finish(Verb* verb) {
  std::string* table = nullptr;
  if (auto* get = std::get_if<GetVerb>(verb)) {
    Unmark(&get->key);
    table = &get->table;
  } else if (auto* history = std::get_if<HistoryVerb>(verb)) {
    Unmark(&history->key);
    table = &history->table;
  } else if (auto* scan = std::get_if<ScanVerb>(verb)) {
    Unmark(&scan->after);
    table = &scan->table;
  } else if (auto* diff = std::get_if<DiffVerb>(verb)) {
    table = &diff->table;
  }
  if (table != nullptr && !table->empty()) {
    ASSIGN_OR_RETURN(*table, TableName(*table));
  }
  return {};
}

}  // namespace

ParsedCommandLine ParseCommandLine(std::vector<std::string> arguments,
                                   const std::optional<std::string>& environment_server) {
  if (const std::string word = FirstWord(arguments); !LaterVerb(word).empty()) {
    return UsageError(
        fmt::format("{} ({}) is not available in this version; see varve --help", word, LaterVerb(word)));
  }
  Bound bound;
  CLI::App app("Reads the history that varved keeps of a PostgreSQL database.\n", "varve");
  app.set_version_flag("--version", std::string("varve ") + VARVE_VERSION);
  app.require_subcommand(1);
  app.footer("\n" + std::string(kReferenceHelp) +
             "\nExit status: 0 yes or done, 1 no, 2 usage, 3 varved cannot be reached, 4 refused.\n"
             "varve VERB --help has examples.\n");
  app.failure_message([](const CLI::App* failed, const CLI::Error& error) {
    return fmt::format(
        "{}\nvarve{} --help says more\n", error.what(),
        failed->get_subcommands().empty() ? "" : " " + failed->get_subcommands().front()->get_name());
  });
  AddServer(&app, &bound);
  AddReading(&app, &bound);
  AddTransactions(&app, &bound);
  AddTags(&app, &bound);
  AddService(&app, &bound);
  AddSetup(&app, &bound);
  CheckAllPresent(&app);
  for (std::string& argument : arguments) {
    if (IsNegativeNumber(argument)) argument.insert(0, 1, kNegativeMark);
  }
  std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::ParseError& error) {
    return Exited(app, error);
  }
  if (!bound.branch.empty())
    return UsageError("branches are not available in this version: leave --branch out");
  ParsedCommandLine parsed;
  bound.common.server_given = !bound.common.server.empty();
  if (!bound.common.server_given) {
    if (environment_server && environment_server->empty()) {
      return UsageError("VARVE_SERVER is set and empty: unset it, or name varved's socket");
    }
    bound.common.server = environment_server.value_or(kDefaultServer);
    bound.common.server_is_default = !environment_server.has_value();
  }
  parsed.command = CommandLine{bound.common, *std::move(bound.chosen)};
  const base::Status finished = Finish(&parsed.command->verb);
  if (!finished) return UsageError(finished.error().message);
  return parsed;
}

}  // namespace varve::cli
