// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "cli/client.h"
#include "cli/command_line.h"
#include "cli/json.h"
#include "cli/output.h"

namespace varve::cli {

// One verb's talk with varved: asks, prints what goes wrong, says at which moment the answer was read. Every
// method gives the exit status. Borrows the output. One thread.
class Session {
 public:
  Session(const CommonOptions& common, Output* output) : common_(common), output_(output) {}

  Output* output() const { return output_; }
  const CommonOptions& common() const { return common_; }
  // How the answer is wanted: --json, --ndjson, else for people.
  Format format() const;

  // Prints the answer as it comes: one document, or a value a line.
  int Copy(ClientRequest request, Format format);
  // A list for people: its first line, then each item. `on_item` answers whether it wants more.
  int List(ClientRequest request, const std::function<void(const JsonObject&)>& on_first,
           const std::function<bool(std::string_view)>& on_item);
  // A document for people.
  int Document(ClientRequest request, const std::function<void(const JsonObject&)>& on_document);
  // The parts of the body as they come.
  int Parts(ClientRequest request, const std::function<bool(std::string_view)>& on_part);

  // The last item of the last list: {"end":{…}}.
  const std::string& end_line() const { return end_line_; }

  // Asks `server` and says nothing: neither what goes wrong nor the moment. Errors: those of Client::Make and
  // Client::Send, kInvalidArgument for a token file that cannot be read.
  base::Result<ClientAnswer> Ask(
      const std::string& server, const ClientRequest& request,
      const std::function<bool(std::string_view)>& on_part,
      const std::function<void(const ClientAnswer&)>& on_head = [](const ClientAnswer&) {}) const;
  void SayMoment(const ClientAnswer& answer);
  int Refuse(const Refusal& refusal);
  // Says why varved could not be asked.
  int FailToAsk(const base::Error& error);
  int Fail(int status, std::string_view message);

 private:
  int Run(const ClientRequest& request, const std::function<bool(std::string_view)>& on_part);

  const CommonOptions& common_;
  Output* const output_;
  std::string end_line_;
};

// Splits what comes in parts into lines.
class LineSplitter {
 public:
  explicit LineSplitter(std::function<bool(std::string_view)> on_line) : on_line_(std::move(on_line)) {}
  // False when `on_line` wants no more.
  bool Add(std::string_view part);

 private:
  std::function<bool(std::string_view)> on_line_;
  std::string rest_;
};

// Adds a parameter that is not empty; a reference with the user's zone where it has none.
void AddText(std::string_view name, const std::string& value, ClientRequest* request);
void AddReference(std::string_view name, const std::string& value, ClientRequest* request);
void AddWait(const WaitOptions& wait, ClientRequest* request);

}  // namespace varve::cli
