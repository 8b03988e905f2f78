// SPDX-License-Identifier: PostgreSQL
#include <fmt/format.h>
#include <boost/json/parse.hpp>

#include "sidecar/http/handlers.h"
#include "sidecar/http/json_text.h"
#include "sidecar/http/list_answer.h"
#include "sidecar/http/moment.h"

namespace varve::http {

using base::ErrorCode;
using base::Fail;
using history::History;

namespace {

void AppendTag(const history::Tag& tag, std::string* out) {
  *out += R"({"name":)";
  AppendJsonString(tag.name, out);
  *out += ',';
  AppendPointMembers(tag.point, out);
  *out += '}';
}

struct TagBody {
  std::string name;
  std::string reference = "now";
};

base::Result<TagBody> ParseTagBody(const std::string& text) {
  constexpr std::string_view kForm = R"(the body is {"name":"before-migration","ref":"now"})";
  boost::json::error_code error;
  const boost::json::value value = boost::json::parse(boost::json::string_view(text), error);
  if (error || !value.is_object()) return Fail(ErrorCode::kInvalidArgument, std::string(kForm));
  TagBody body;
  for (const auto& member : value.get_object()) {
    std::string* target = member.key() == "name"  ? &body.name
                          : member.key() == "ref" ? &body.reference
                                                  : nullptr;
    if (target == nullptr || !member.value().is_string()) {
      return Fail(ErrorCode::kInvalidArgument,
                  fmt::format("\"{}\" is not known or no string: {}", std::string_view(member.key()), kForm));
    }
    *target = std::string_view(member.value().get_string());
  }
  if (body.name.empty()) return Fail(ErrorCode::kInvalidArgument, fmt::format("name is missing: {}", kForm));
  return body;
}

}  // namespace

base::Status GetTags(const Context& context, const Request& request, ResponseWriter* writer) {
  ASSIGN_OR_RETURN(const std::shared_ptr<History> history, OpenHistory(context));
  const history::StoreStatus store = history->GetStatus();
  const Moment moment{store.published, context.monitor->LagOf(store, context.ingest->GetStatus())};
  const Format format = FormatOf(request.accept) == Format::kNdjson ? Format::kNdjson : Format::kJson;
  ListAnswer answer(writer, format, moment, "tags");
  for (const history::Tag& tag : history->Tags()) {
    AppendTag(tag, answer.BeginItem());
    if (!answer.EndItem()) break;
  }
  return answer.Finish({});
}

base::Status PostTag(const Context& context, const Request& request, ResponseWriter* writer) {
  ASSIGN_OR_RETURN(const std::shared_ptr<History> history, OpenHistory(context));
  ASSIGN_OR_RETURN(const TagBody body, ParseTagBody(request.body));
  ASSIGN_OR_RETURN(const WaitOptions wait, FindWait(request));
  ASSIGN_OR_RETURN(const Moment moment, ResolveMoment(context, *history, body.reference, std::nullopt, wait));
  RETURN_IF_ERROR(history->CreateTag(body.name, moment.point));
  ResponseHead head;
  head.status = 201;
  head.headers = MomentHeaders(moment);
  std::string json = "{\"at\":" + MomentJson(moment) + ",\"tag\":";
  AppendTag(history::Tag{body.name, moment.point}, &json);
  return writer->Send(head, json + "}\n");
}

base::Status DeleteTag(const Context& context, const Request& request, ResponseWriter* writer) {
  ASSIGN_OR_RETURN(const std::shared_ptr<History> history, OpenHistory(context));
  ASSIGN_OR_RETURN(const std::optional<std::string> name, request.Find("name"));
  if (!name) return Fail(ErrorCode::kInvalidArgument, "parameter name is missing: the tag to delete");
  RETURN_IF_ERROR(history->DeleteTag(*name));
  std::string json = R"({"deleted":)";
  AppendJsonString(*name, &json);
  return writer->Send(ResponseHead{}, json + "}\n");
}

}  // namespace varve::http
