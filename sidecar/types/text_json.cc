// SPDX-License-Identifier: PostgreSQL
#include "sidecar/types/text_json.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "sidecar/types/array.h"
#include "sidecar/types/bytes.h"
#include "sidecar/types/json_text.h"
#include "sidecar/types/numeric.h"
#include "sidecar/types/oids.h"
#include "sidecar/types/record.h"

namespace varve::types {
namespace {

constexpr int kDepthMax = 256;

// Renders by recursion over the type tree, which forged types could make endless: `depth` counts down.
class TextRenderer {
 public:
  TextRenderer(const model::Relation& relation, std::string* out) : relation_(relation), out_(out) {}

  base::Status Append(uint32_t type_oid, std::string_view text, int depth);

 private:
  std::optional<base::Status> AppendBuiltin(uint32_t type_oid, std::string_view text);
  base::Status AppendArray(uint32_t element_oid, char delimiter, std::string_view text, int depth);
  base::Status AppendVector(uint32_t element_oid, std::string_view text, int depth);
  base::Status AppendRecord(const model::Type& type, std::string_view text, int depth);
  base::Status AppendHstore(std::string_view text);
  void AppendMoment(std::string_view text, bool zone);

  const model::Relation& relation_;
  std::string* out_;
};

// "2024-07-01 12:00:00+00 BC" becomes "2024-07-01T12:00:00+00:00 BC".
void TextRenderer::AppendMoment(std::string_view text, bool zone) {
  std::string json(text);
  const size_t blank = json.find(' ');
  if (blank != std::string::npos) {
    json[blank] = 'T';
    const size_t end = std::min(json.find(' '), json.size());
    if (zone && end >= 3 && json.compare(end - 3, 3, "+00") == 0) json.insert(end, ":00");
  }
  AppendJsonString(json, out_);
}

std::optional<base::Status> TextRenderer::AppendBuiltin(uint32_t type_oid, std::string_view text) {
  switch (type_oid) {
    case kBoolOid:
      if (text != "t" && text != "f") return BadValue("a bool that is neither t nor f");
      out_->append(text == "t" ? "true" : "false");
      return base::Status{};
    case kInt2Oid:
    case kInt4Oid:
    case kInt8Oid:
    case kFloat4Oid:
    case kFloat8Oid:
    case kNumericOid:
      if (text.find_first_of("Nn") != std::string_view::npos) break;
      return AppendNumberJson(text, out_);
    case kTimestampOid: AppendMoment(text, false); return base::Status{};
    case kTimestamptzOid: AppendMoment(text, true); return base::Status{};
    case kJsonOid:
    case kJsonbOid: return AppendNormalJson(text, NumberForm::kJsonb, out_);
    default:
      if (FindBinaryType(type_oid) == nullptr) return std::nullopt;
      break;
  }
  AppendJsonString(text, out_);
  return base::Status{};
}

base::Status TextRenderer::AppendArray(uint32_t element_oid, char delimiter, std::string_view text,
                                       int depth) {
  ArrayValue array;
  std::string bytes;
  RETURN_IF_ERROR(ParseArrayLiteral(text, delimiter, &array, &bytes));
  const auto append = [&](const std::optional<std::string_view>& element, std::string* to) -> base::Status {
    if (element) return Append(element_oid, *element, depth - 1);
    to->append("null");
    return {};
  };
  return AppendNested(array, "[]", ", ", append, out_);
}

// int2vector and oidvector print their elements between blanks.
base::Status TextRenderer::AppendVector(uint32_t element_oid, std::string_view text, int depth) {
  out_->push_back('[');
  bool first = true;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    if (!first) out_->append(", ");
    first = false;
    RETURN_IF_ERROR(Append(element_oid, text.substr(0, end), depth - 1));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  out_->push_back(']');
  return {};
}

base::Status TextRenderer::AppendRecord(const model::Type& type, std::string_view text, int depth) {
  std::vector<std::optional<std::string>> values;
  RETURN_IF_ERROR(ParseRecordLiteral(text, &values));
  if (values.empty() && type.fields.size() == 1) values.emplace_back();  // "()" may be one NULL
  if (values.size() != type.fields.size()) {
    return BadValue("a " + type.name + " with " + std::to_string(values.size()) + " fields instead of " +
                    std::to_string(type.fields.size()));
  }
  std::vector<size_t> order(values.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const std::string& left = type.fields[a].name;
    const std::string& right = type.fields[b].name;
    return left.size() != right.size() ? left.size() < right.size() : left < right;
  });
  out_->push_back('{');
  for (const size_t i : order) {
    if (i != order.front()) out_->append(", ");
    AppendJsonString(type.fields[i].name, out_);
    out_->append(": ");
    if (values[i]) {
      RETURN_IF_ERROR(Append(type.fields[i].type_oid, *values[i], depth - 1));
    } else {
      out_->append("null");
    }
  }
  out_->push_back('}');
  return {};
}

// hstore's cast to json: keys in its own order, which is jsonb's, and strings or null.
base::Status TextRenderer::AppendHstore(std::string_view text) {
  std::vector<HstorePair> pairs;
  RETURN_IF_ERROR(ParseHstore(text, &pairs));
  out_->push_back('{');
  for (const HstorePair& pair : pairs) {
    if (&pair != &pairs.front()) out_->append(", ");
    AppendJsonString(pair.key, out_);
    out_->append(": ");
    if (pair.value) {
      AppendJsonString(*pair.value, out_);
    } else {
      out_->append("null");
    }
  }
  out_->push_back('}');
  return {};
}

base::Status TextRenderer::Append(uint32_t type_oid, std::string_view text, int depth) {
  if (depth == 0) return BadValue("its type is nested too deeply");
  if (auto done = AppendBuiltin(type_oid, text)) return *std::move(done);
  if (const BinaryType* element = FindElementOfArray(type_oid)) {
    return AppendArray(element->oid, ',', text, depth);
  }
  if (type_oid == kInt2VectorOid) return AppendVector(kInt2Oid, text, depth);
  if (type_oid == kOidVectorOid) return AppendVector(kOidOid, text, depth);
  const model::Type* type = relation_.FindType(type_oid);
  if (type != nullptr) {
    switch (type->kind) {
      case 'd': return Append(type->inner_oid, text, depth - 1);
      case 'A': return AppendArray(type->inner_oid, type->delimiter, text, depth);
      case 'c': return AppendRecord(*type, text, depth);
      default: break;
    }
    if (type->json_cast && type->name == "hstore") return AppendHstore(text);
  }
  AppendJsonString(text, out_);
  return {};
}

}  // namespace

base::Status AppendTextJson(const model::Relation& relation, uint32_t type_oid, std::string_view text,
                            std::string* out) {
  return TextRenderer(relation, out).Append(type_oid, text, kDepthMax);
}

}  // namespace varve::types
