// SPDX-License-Identifier: PostgreSQL
#include "sidecar/model/row_image.h"

#include <fmt/format.h>

#include "sidecar/base/check.h"

namespace varve::model {
namespace {

using base::ErrorCode;
using base::Fail;

constexpr size_t kCountBytes = 2;
constexpr int kVarintBytesMax = 5;  // lengths are below 4 GiB

CellKind KindAt(std::string_view kinds, size_t index) {
  return static_cast<CellKind>((static_cast<uint8_t>(kinds[index / 4]) >> (2 * (index % 4))) & 3);
}

bool TakeVarint(std::string_view* bytes, uint64_t* value) {
  *value = 0;
  for (int i = 0; i < kVarintBytesMax; ++i) {
    if (bytes->empty()) return false;
    const auto byte = static_cast<uint8_t>(bytes->front());
    bytes->remove_prefix(1);
    *value |= uint64_t{byte & 0x7FU} << (7 * i);
    if ((byte & 0x80U) == 0) return true;
  }
  return false;
}

void PutVarint(std::string* out, uint64_t value) {
  while (value >= 0x80) {
    out->push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out->push_back(static_cast<char>(value));
}

tl::unexpected<base::Error> Malformed(const Relation& relation, std::string_view what) {
  return Fail(ErrorCode::kInvalidArgument,
              fmt::format("malformed row image of {}: {}", relation.QualifiedName(), what));
}

}  // namespace

base::Status DecodeImageInto(const Relation& relation, std::string_view image, std::vector<Cell>* cells) {
  cells->clear();
  if (image.size() < kCountBytes) return Malformed(relation, "shorter than its attribute count");
  const size_t count = static_cast<uint8_t>(image[0]) | (static_cast<uint8_t>(image[1]) << 8);
  if (count != relation.attribute_count) {
    return Malformed(
        relation, fmt::format("{} attributes, the relation version has {}", count, relation.attribute_count));
  }
  const size_t kind_bytes = (count + 3) / 4;
  if (image.size() < kCountBytes + kind_bytes) return Malformed(relation, "cut within its cell kinds");
  const std::string_view kinds = image.substr(kCountBytes, kind_bytes);
  std::string_view rest = image.substr(kCountBytes + kind_bytes);
  cells->resize(count);
  auto column = relation.columns.begin();
  for (size_t index = 0; index < count; ++index) {
    while (column != relation.columns.end() && column->attnum < index + 1) ++column;
    Cell& cell = (*cells)[index];
    cell.kind = KindAt(kinds, index);
    if (cell.kind == CellKind::kAbsent) continue;
    if (column == relation.columns.end() || column->attnum != index + 1) {
      return Malformed(
          relation,
          fmt::format("a cell for attribute {}, which the relation version does not have", index + 1));
    }
    if (cell.kind != CellKind::kValue) continue;
    uint64_t length = column->width;
    if (length == 0 && !TakeVarint(&rest, &length)) return Malformed(relation, "a bad value length");
    if (length > rest.size()) return Malformed(relation, "cut within a value");
    cell.value = rest.substr(0, length);
    rest.remove_prefix(length);
  }
  if (!rest.empty()) return Malformed(relation, "bytes after its last value");
  return {};
}

base::Result<std::vector<Cell>> DecodeImage(const Relation& relation, std::string_view image) {
  std::vector<Cell> cells;
  RETURN_IF_ERROR(DecodeImageInto(relation, image, &cells));
  return cells;
}

void EncodeImage(const Relation& relation, const std::vector<Cell>& cells, std::string* image) {
  CHECK(cells.size() == relation.attribute_count);
  image->push_back(static_cast<char>(relation.attribute_count & 0xFF));
  image->push_back(static_cast<char>(relation.attribute_count >> 8));
  const size_t kinds_at = image->size();
  image->append((cells.size() + 3) / 4, '\0');
  for (size_t index = 0; index < cells.size(); ++index) {
    (*image)[kinds_at + index / 4] |=
        static_cast<char>(static_cast<uint8_t>(cells[index].kind) << (2 * (index % 4)));
  }
  for (const Column& column : relation.columns) {
    const Cell& cell = cells[column.attnum - 1];
    if (cell.kind != CellKind::kValue) continue;
    if (column.width == 0) {
      PutVarint(image, cell.value.size());
    } else {
      CHECK(cell.value.size() == column.width);
    }
    image->append(cell.value);
  }
}

}  // namespace varve::model
