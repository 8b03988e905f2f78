// SPDX-License-Identifier: PostgreSQL
#include <algorithm>
#include <chrono>
#include <thread>

#include <fmt/format.h>

#include "cli/verbs.h"

namespace varve::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kSecondsDefault = 10;
constexpr double kSecondsEachAsk = 300;  // varved waits no longer for one request
constexpr std::chrono::milliseconds kPoll(200);

// A varved that does not answer may be starting, one that is not available makes its first copy, one that is
// behind may catch up: all of it may pass. Everything else is an answer.
bool MayPass(const base::Result<ClientAnswer>& answer) {
  if (!answer) return answer.error().code != base::ErrorCode::kInvalidArgument;
  return answer->refusal && (answer->refusal->code == "unavailable" || answer->refusal->code == "behind");
}

}  // namespace

int Run(const WaitVerb& verb, Session* session) {
  const double seconds = verb.timeout_seconds.value_or(kSecondsDefault);
  const auto deadline =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  ClientRequest request;
  request.path = {"v1", "wait"};
  AddReference("ref", verb.reference, &request);
  const size_t fixed = request.parameters.size();
  while (true) {
    const double left = std::max(0.0, std::chrono::duration<double>(deadline - Clock::now()).count());
    request.parameters.resize(fixed);
    AddText("timeout", fmt::format("{:.3f}", std::min(left, kSecondsEachAsk)), &request);
    std::string body;
    const base::Result<ClientAnswer> answer =
        session->Ask(session->common().server, request, [&body](std::string_view part) {
          body.append(part);
          return true;
        });
    if (!answer || answer->refusal) {
      if (MayPass(answer) && Clock::now() + kPoll < deadline) {
        std::this_thread::sleep_for(kPoll);
        continue;
      }
      const std::string waited =
          MayPass(answer) ? fmt::format("waited {:g} s; --timeout SECONDS waits longer: ", seconds) : "";
      if (answer) return session->Refuse(Refusal{answer->refusal->code, waited + answer->refusal->message});
      return session->FailToAsk(base::Error{answer.error().code, waited + answer.error().message});
    }
    session->SayMoment(*answer);
    const base::Result<JsonObject> document = JsonObject::Parse(body);
    if (!document) return session->Fail(kExitUnreachable, document.error().message);
    const bool people = session->format() == Format::kPeople;
    session->output()->Write(people ? document->Object("at").Text("position") + "\n" : body);
    return kExitDone;
  }
}

}  // namespace varve::cli
