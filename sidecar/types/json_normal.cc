// SPDX-License-Identifier: PostgreSQL
#include <algorithm>
#include <limits>
#include <vector>

#include "sidecar/types/bytes.h"
#include "sidecar/types/json_text.h"
#include "sidecar/types/numeric.h"

namespace varve::types {
namespace {

using Index = uint32_t;
constexpr Index kNone = std::numeric_limits<Index>::max();

struct Span {
  size_t start = 0;
  size_t length = 0;
};

struct Node {
  JsonToken kind = JsonToken::kNull;  // kObjectStart and kArrayStart for containers
  Index first = kNone;
  Index next = kNone;
  Span key;    // in strings_: member name
  Span value;  // in strings_: a decoded string; in text_: a number
};

// A JSON text as a tree in one vector. Works on stacks of its own, not by recursion: a deep text costs
// memory and never the thread's stack.
class JsonTree {
 public:
  explicit JsonTree(std::string_view text) : text_(text), lexer_(text) {}

  base::Status Parse();
  base::Status Print(NumberForm numbers, std::string* out);

 private:
  struct Open {
    Index node = kNone;
    Index last = kNone;
  };
  struct Visit {
    Index node = kNone;
    Index child = kNone;
  };

  base::Status Take(JsonToken token);
  base::Status TakeMember(JsonToken* token);
  base::Status Close(JsonToken token);
  void Add(JsonToken token, Span key);
  Span Keep(std::string_view text);
  std::string_view Key(Index node) const;
  void SortMembers(Index object);
  base::Status PrintScalar(const Node& node, NumberForm numbers, std::string* out) const;

  std::string_view text_;
  JsonLexer lexer_;
  std::vector<Node> nodes_;
  std::vector<Open> open_;
  std::string strings_;
};

tl::unexpected<base::Error> Unexpected(const JsonLexer& lexer) {
  if (lexer.raw().empty()) return BadValue("invalid JSON: it ends too early");
  return BadValue("invalid JSON: unexpected \"" + std::string(lexer.raw().substr(0, 50)) + "\"");
}

Span JsonTree::Keep(std::string_view text) {
  const Span span{strings_.size(), text.size()};
  strings_.append(text);
  return span;
}

std::string_view JsonTree::Key(Index node) const {
  return std::string_view(strings_).substr(nodes_[node].key.start, nodes_[node].key.length);
}

void JsonTree::Add(JsonToken token, Span key) {
  const auto index = static_cast<Index>(nodes_.size());
  Node node;
  node.kind = token;
  node.key = key;
  if (token == JsonToken::kString) node.value = Keep(lexer_.string());
  if (token == JsonToken::kNumber) node.value = Span{lexer_.start(), lexer_.raw().size()};
  nodes_.push_back(node);
  if (!open_.empty()) {
    Open& parent = open_.back();
    (parent.last == kNone ? nodes_[parent.node].first : nodes_[parent.last].next) = index;
    parent.last = index;
  }
  if (token == JsonToken::kObjectStart || token == JsonToken::kArrayStart)
    open_.push_back(Open{index, kNone});
}

// Reads `"name" :` and the first token of the value into `token`.
base::Status JsonTree::TakeMember(JsonToken* token) {
  if (*token != JsonToken::kString) return Unexpected(lexer_);
  const Span key = Keep(lexer_.string());
  ASSIGN_OR_RETURN(const JsonToken colon, lexer_.Next());
  if (colon != JsonToken::kColon) return Unexpected(lexer_);
  ASSIGN_OR_RETURN(*token, lexer_.Next());
  switch (*token) {
    case JsonToken::kEnd:
    case JsonToken::kObjectEnd:
    case JsonToken::kArrayEnd:
    case JsonToken::kComma:
    case JsonToken::kColon: return Unexpected(lexer_);
    default: Add(*token, key); return {};
  }
}

// Reads one value or the end of an empty container.
base::Status JsonTree::Take(JsonToken token) {
  const bool fresh = !open_.empty() && open_.back().last == kNone;
  const bool in_object = !open_.empty() && nodes_[open_.back().node].kind == JsonToken::kObjectStart;
  if (fresh && token == (in_object ? JsonToken::kObjectEnd : JsonToken::kArrayEnd)) return Close(token);
  if (in_object) return TakeMember(&token);
  switch (token) {
    case JsonToken::kEnd:
    case JsonToken::kObjectEnd:
    case JsonToken::kArrayEnd:
    case JsonToken::kComma:
    case JsonToken::kColon: return Unexpected(lexer_);
    default: Add(token, Span{}); return {};
  }
}

base::Status JsonTree::Close(JsonToken token) {
  const bool in_object = nodes_[open_.back().node].kind == JsonToken::kObjectStart;
  if (token != (in_object ? JsonToken::kObjectEnd : JsonToken::kArrayEnd)) return Unexpected(lexer_);
  if (in_object) SortMembers(open_.back().node);
  open_.pop_back();
  return {};
}

base::Status JsonTree::Parse() {
  if (text_.size() >= kNone) return BadValue("invalid JSON: longer than 4 GiB");
  ASSIGN_OR_RETURN(JsonToken token, lexer_.Next());
  RETURN_IF_ERROR(Take(token));
  while (!open_.empty()) {
    ASSIGN_OR_RETURN(token, lexer_.Next());
    if (open_.back().last == kNone) {
      RETURN_IF_ERROR(Take(token));
    } else if (token == JsonToken::kComma) {
      ASSIGN_OR_RETURN(token, lexer_.Next());
      RETURN_IF_ERROR(Take(token));
    } else {
      RETURN_IF_ERROR(Close(token));
    }
  }
  ASSIGN_OR_RETURN(token, lexer_.Next());
  if (token != JsonToken::kEnd) return Unexpected(lexer_);
  return {};
}

// Orders members by length, then bytes, and keeps the last of equal names (lengthCompareJsonbPair and
// uniqueifyJsonbObject in jsonb_util.c).
void JsonTree::SortMembers(Index object) {
  std::vector<Index> members;
  for (Index at = nodes_[object].first; at != kNone; at = nodes_[at].next) members.push_back(at);
  std::stable_sort(members.begin(), members.end(), [&](Index a, Index b) {
    const std::string_view left = Key(a);
    const std::string_view right = Key(b);
    return left.size() != right.size() ? left.size() < right.size() : left < right;
  });
  Index* link = &nodes_[object].first;
  for (size_t i = 0; i < members.size(); ++i) {
    if (i + 1 < members.size() && Key(members[i]) == Key(members[i + 1])) continue;
    *link = members[i];
    link = &nodes_[members[i]].next;
  }
  *link = kNone;
}

base::Status JsonTree::PrintScalar(const Node& node, NumberForm numbers, std::string* out) const {
  switch (node.kind) {
    case JsonToken::kString:
      AppendJsonString(std::string_view(strings_).substr(node.value.start, node.value.length), out);
      return {};
    case JsonToken::kNumber: {
      const std::string_view text = text_.substr(node.value.start, node.value.length);
      if (numbers == NumberForm::kJsonb) return AppendNumberJson(text, out);
      Numeric numeric;
      RETURN_IF_ERROR(ParseNumeric(text, &numeric));
      return AppendNumericCanonical(numeric, out);
    }
    case JsonToken::kTrue: out->append("true"); return {};
    case JsonToken::kFalse: out->append("false"); return {};
    default: out->append("null"); return {};
  }
}

base::Status JsonTree::Print(NumberForm numbers, std::string* out) {
  std::vector<Visit> path;
  Index at = 0;
  while (true) {
    const Node& node = nodes_[at];
    const bool object = node.kind == JsonToken::kObjectStart;
    if (object || node.kind == JsonToken::kArrayStart) {
      out->push_back(object ? '{' : '[');
      path.push_back(Visit{at, node.first});
    } else {
      RETURN_IF_ERROR(PrintScalar(node, numbers, out));
    }
    while (!path.empty() && path.back().child == kNone) {
      out->push_back(nodes_[path.back().node].kind == JsonToken::kObjectStart ? '}' : ']');
      path.pop_back();
    }
    if (path.empty()) return {};
    Visit& parent = path.back();
    at = parent.child;
    if (at != nodes_[parent.node].first) out->append(", ");
    if (nodes_[parent.node].kind == JsonToken::kObjectStart) {
      AppendJsonString(Key(at), out);
      out->append(": ");
    }
    parent.child = nodes_[at].next;
  }
}

}  // namespace

base::Status AppendNormalJson(std::string_view text, NumberForm numbers, std::string* out) {
  JsonTree tree(text);
  RETURN_IF_ERROR(tree.Parse());
  return tree.Print(numbers, out);
}

}  // namespace varve::types
