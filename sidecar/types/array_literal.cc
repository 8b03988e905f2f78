// SPDX-License-Identifier: PostgreSQL
#include <algorithm>
#include <charconv>
#include <limits>

#include "sidecar/types/array.h"
#include "sidecar/types/bytes.h"

namespace varve::types {
namespace {

// Reads an array literal by the rules of array_in in src/backend/utils/adt/arrayfuncs.c.
class LiteralReader {
 public:
  LiteralReader(std::string_view text, char delimiter) : rest_(text), delimiter_(delimiter) {}

  base::Status Read(ArrayValue* array, std::string* bytes);

 private:
  struct Slot {
    size_t start = 0;
    size_t length = 0;
    bool null = false;
  };

  base::Status ReadBounds();
  base::Status ReadOpen();
  base::Status ReadElement();
  base::Status ReadQuoted(std::string* bytes);
  base::Status ReadBare(Slot* slot);
  base::Status ReadAfter();
  bool Accept(char c);
  void SkipSpace();
  base::Status FinishShape(ArrayShape* shape) const;

  std::string_view rest_;
  char delimiter_;
  std::string* bytes_ = nullptr;
  bool has_bounds_ = false;
  ArrayShape declared_;
  size_t depth_ = 0;                                           // braces open
  size_t dimensions_ = 0;                                      // depth of the elements, 0 until the first one
  std::array<int32_t, ArrayShape::kDimensionsMax> counts_{};   // items so far of each open brace
  std::array<int32_t, ArrayShape::kDimensionsMax> lengths_{};  // of closed braces, -1: none closed yet
  std::vector<Slot> slots_;
};

tl::unexpected<base::Error> Malformed(std::string_view what) {
  return BadValue("malformed array literal: " + std::string(what));
}

void LiteralReader::SkipSpace() {
  while (!rest_.empty() && IsSpace(rest_.front())) rest_.remove_prefix(1);
}

bool LiteralReader::Accept(char c) {
  if (rest_.empty() || rest_.front() != c) return false;
  rest_.remove_prefix(1);
  return true;
}

base::Status LiteralReader::ReadBounds() {
  const auto take = [&](int32_t* value) {
    if (!rest_.empty() && rest_.front() == '+') rest_.remove_prefix(1);
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), *value);
    rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
    return error == std::errc();
  };
  while (Accept('[')) {
    if (declared_.dimensions == ArrayShape::kDimensionsMax) return Malformed("more than 6 dimensions");
    int32_t low = 1;
    int32_t high = 0;
    if (!take(&high)) return Malformed("bounds must be [low:high]");
    if (Accept(':')) {
      low = high;
      if (!take(&high)) return Malformed("bounds must be [low:high]");
    }
    const int64_t length = int64_t{high} - low + 1;
    if (!Accept(']') || length < 1 || length > std::numeric_limits<int32_t>::max()) {
      return Malformed("bounds must be [low:high]");
    }
    declared_.lower_bounds[declared_.dimensions] = low;
    declared_.lengths[declared_.dimensions++] = static_cast<int32_t>(length);
    has_bounds_ = true;
    SkipSpace();
  }
  if (has_bounds_ && !Accept('=')) return Malformed("\"=\" must follow the bounds");
  SkipSpace();
  return {};
}

base::Status LiteralReader::ReadOpen() {
  while (true) {
    SkipSpace();
    if (!Accept('{')) return {};
    if (depth_ == ArrayShape::kDimensionsMax) return Malformed("more than 6 dimensions");
    if (dimensions_ != 0 && depth_ == dimensions_) return Malformed("dimensions that do not match");
    counts_[depth_++] = 0;
  }
}

base::Status LiteralReader::ReadQuoted(std::string* bytes) {
  while (true) {
    if (rest_.empty()) return Malformed("a quoted element does not end");
    char c = rest_.front();
    rest_.remove_prefix(1);
    if (c == '"') return {};
    if (c == '\\') {
      if (rest_.empty()) return Malformed("a quoted element does not end");
      c = rest_.front();
      rest_.remove_prefix(1);
    }
    bytes->push_back(c);
  }
}

base::Status LiteralReader::ReadBare(Slot* slot) {
  size_t keep = bytes_->size();  // blanks behind the element do not belong to it
  bool escaped = false;
  while (!rest_.empty() && rest_.front() != delimiter_ && rest_.front() != '}') {
    char c = rest_.front();
    rest_.remove_prefix(1);
    if (c == '{' || c == '"') return Malformed("a brace or quote inside of an element");
    const bool space = IsSpace(c);
    if (c == '\\') {
      if (rest_.empty()) return Malformed("it ends with a backslash");
      c = rest_.front();
      rest_.remove_prefix(1);
      escaped = true;
    }
    bytes_->push_back(c);
    if (!space) keep = bytes_->size();
  }
  bytes_->resize(keep);
  slot->length = keep - slot->start;
  if (slot->length == 0) return Malformed("an element is missing");
  slot->null = !escaped && EqualsIgnoringCase(std::string_view(*bytes_).substr(slot->start), "null");
  return {};
}

base::Status LiteralReader::ReadElement() {
  if (dimensions_ == 0) dimensions_ = depth_;
  if (depth_ != dimensions_) return Malformed("dimensions that do not match");
  Slot slot{bytes_->size(), 0, false};
  if (Accept('"')) {
    RETURN_IF_ERROR(ReadQuoted(bytes_));
    slot.length = bytes_->size() - slot.start;
  } else {
    RETURN_IF_ERROR(ReadBare(&slot));
  }
  slots_.push_back(slot);
  ++counts_[depth_ - 1];
  return {};
}

// Reads what follows an element: closing braces, then the delimiter or the end.
base::Status LiteralReader::ReadAfter() {
  while (true) {
    SkipSpace();
    if (Accept(delimiter_)) return {};
    if (!Accept('}')) return Malformed("a delimiter or a brace is missing");
    --depth_;
    if (lengths_[depth_] == -1) lengths_[depth_] = counts_[depth_];
    if (lengths_[depth_] != counts_[depth_]) return Malformed("dimensions that do not match");
    if (depth_ == 0) return {};
    ++counts_[depth_ - 1];
  }
}

base::Status LiteralReader::FinishShape(ArrayShape* shape) const {
  shape->dimensions = dimensions_;
  shape->lengths = lengths_;
  shape->lower_bounds.fill(1);
  if (!has_bounds_) return {};
  const bool same = declared_.dimensions == dimensions_ &&
                    std::equal(lengths_.begin(), lengths_.begin() + dimensions_, declared_.lengths.begin());
  if (!same) return Malformed("its bounds do not match its elements");
  shape->lower_bounds = declared_.lower_bounds;
  return {};
}

base::Status LiteralReader::Read(ArrayValue* array, std::string* bytes) {
  *array = ArrayValue{};
  bytes->clear();
  bytes_ = bytes;
  lengths_.fill(-1);
  SkipSpace();
  RETURN_IF_ERROR(ReadBounds());
  RETURN_IF_ERROR(ReadOpen());
  if (depth_ == 0) return Malformed("\"{\" is missing");
  if (Accept('}')) {
    SkipSpace();
    return depth_ == 1 && rest_.empty() ? base::Status{} : Malformed("an element is missing");
  }
  while (true) {
    RETURN_IF_ERROR(ReadElement());
    RETURN_IF_ERROR(ReadAfter());
    if (depth_ == 0) break;
    RETURN_IF_ERROR(ReadOpen());
  }
  SkipSpace();
  if (!rest_.empty()) return Malformed("there is more behind its last brace");
  RETURN_IF_ERROR(FinishShape(&array->shape));
  array->elements.reserve(slots_.size());
  for (const Slot& slot : slots_) {
    if (slot.null) {
      array->elements.emplace_back(std::nullopt);
    } else {
      array->elements.emplace_back(std::string_view(*bytes).substr(slot.start, slot.length));
    }
  }
  return {};
}

}  // namespace

base::Status ParseArrayLiteral(std::string_view text, char delimiter, ArrayValue* array,
                               std::string* text_bytes) {
  return LiteralReader(text, delimiter).Read(array, text_bytes);
}

}  // namespace varve::types
