// SPDX-License-Identifier: PostgreSQL
#include "sidecar/types/record.h"

#include "sidecar/types/bytes.h"

namespace varve::types {
namespace {

tl::unexpected<base::Error> MalformedRecord() { return BadValue("malformed record literal"); }
tl::unexpected<base::Error> MalformedHstore() { return BadValue("malformed hstore text"); }

bool Accept(std::string_view* rest, std::string_view prefix) {
  if (rest->substr(0, prefix.size()) != prefix) return false;
  rest->remove_prefix(prefix.size());
  return true;
}

// Reads up to the quote that ends a string; the quote that starts it is behind us.
bool TakeQuoted(std::string_view* rest, bool doubled_quotes, std::string* out) {
  while (!rest->empty()) {
    char c = rest->front();
    rest->remove_prefix(1);
    if (c == '"') {
      if (!doubled_quotes || !Accept(rest, "\"")) return true;
    } else if (c == '\\') {
      if (rest->empty()) return false;
      c = rest->front();
      rest->remove_prefix(1);
    }
    out->push_back(c);
  }
  return false;
}

// One field up to its comma or parenthesis; quoted and bare stretches may alternate, as record_in takes them.
bool TakeField(std::string_view* rest, std::optional<std::string>* field) {
  if (!rest->empty() && (rest->front() == ',' || rest->front() == ')')) return true;  // NULL
  field->emplace();
  while (!rest->empty() && rest->front() != ',' && rest->front() != ')') {
    char c = rest->front();
    rest->remove_prefix(1);
    if (c == '"') {
      if (!TakeQuoted(rest, true, &**field)) return false;
      continue;
    }
    if (c == '(') return false;  // record_out quotes it
    if (c == '\\') {
      if (rest->empty()) return false;
      c = rest->front();
      rest->remove_prefix(1);
    }
    (*field)->push_back(c);
  }
  return !rest->empty();
}

}  // namespace

base::Status ParseRecordLiteral(std::string_view text, std::vector<std::optional<std::string>>* fields) {
  fields->clear();
  if (text == "()") return {};
  if (!Accept(&text, "(")) return MalformedRecord();
  while (true) {
    fields->emplace_back();
    if (!TakeField(&text, &fields->back())) return MalformedRecord();
    if (Accept(&text, ",")) continue;
    return text == ")" ? base::Status{} : MalformedRecord();
  }
}

base::Status ParseHstore(std::string_view text, std::vector<HstorePair>* pairs) {
  pairs->clear();
  while (!text.empty()) {
    if (!pairs->empty() && !Accept(&text, ", ")) return MalformedHstore();
    HstorePair& pair = pairs->emplace_back();
    if (!Accept(&text, "\"") || !TakeQuoted(&text, false, &pair.key) || !Accept(&text, "=>")) {
      return MalformedHstore();
    }
    if (Accept(&text, "NULL")) continue;
    if (!Accept(&text, "\"") || !TakeQuoted(&text, false, &pair.value.emplace())) return MalformedHstore();
  }
  return {};
}

}  // namespace varve::types
