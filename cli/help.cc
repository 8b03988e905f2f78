// SPDX-License-Identifier: PostgreSQL
#include "cli/help.h"

#include <utility>

namespace varve::cli {

std::string Footer(std::string_view explanation, const std::vector<std::string_view>& examples) {
  std::string text(explanation);
  if (!text.empty()) text += '\n';
  text += "Examples:\n";
  for (const std::string_view example : examples) {
    text += "  varve ";
    text += example;
    text += '\n';
  }
  return text;
}

std::string_view LaterVerb(std::string_view word) {
  constexpr std::pair<std::string_view, std::string_view> kLater[] = {
      {"blame", "who last set each cell"},
      {"bisect", "finding the transaction that made something true"},
      {"branch", "branches"},
      {"put", "branches"},
      {"delete", "branches"},
      {"apply", "branches"},
      {"merge", "merges"},
      {"conflicts", "merges"},
      {"resolve", "merges"},
      {"undo", "undoing a transaction"},
      {"checkout", "making tables of the past"},
      {"feed", "the feed of changes"},
      {"retention", "retention"},
      {"gc", "retention"},
      {"keyframe", "keyframes on demand"},
      {"verify", "checking the history against the server"},
      {"backup", "backup"},
      {"restore", "backup"},
      {"adopt", "following a server to a new system identifier"},
  };
  for (const auto& [verb, what] : kLater) {
    if (verb == word) return what;
  }
  return {};
}

}  // namespace varve::cli
