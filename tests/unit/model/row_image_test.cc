// SPDX-License-Identifier: PostgreSQL
#include "sidecar/model/row_image.h"

#include <random>

#include "tests/support/catch.h"

namespace varve::model {
namespace {

using std::string_literals::operator""s;

// Attributes: 1 int4, 2 dropped, 3 text, 4 text, 5 bool.
Relation MakeRelation() {
  Relation relation;
  relation.schema = "public";
  relation.name = "t";
  relation.attribute_count = 5;
  for (const auto& [attnum, width] : {std::pair{1, 4}, {3, 0}, {4, 0}, {5, 1}}) {
    Column column;
    column.attnum = static_cast<uint16_t>(attnum);
    column.width = static_cast<uint16_t>(width);
    column.form = Form::kBinary;
    relation.columns.push_back(column);
  }
  return relation;
}

}  // namespace

TEST_CASE("a row image has the documented bytes") {
  const Relation relation = MakeRelation();
  const std::string number = "\x00\x00\x00\x07"s;
  const std::string text(200, 'x');
  const std::vector<Cell> cells = {{CellKind::kValue, number},
                                   {},
                                   {CellKind::kUnchanged, {}},
                                   {CellKind::kValue, text},
                                   {CellKind::kNull, {}}};
  std::string image;
  EncodeImage(relation, cells, &image);
  // Kinds 3, 0, 2, 3 in the first byte from its low bits, then 1.
  REQUIRE(image == "\x05\x00"s + "\xE3\x01"s + number + "\xC8\x01"s + text);
  REQUIRE(DecodeImage(relation, image).value() == cells);
}

TEST_CASE("an empty text is a value and not null") {
  const Relation relation = MakeRelation();
  std::string image;
  EncodeImage(relation, {{CellKind::kNull, {}}, {}, {CellKind::kValue, ""}, {CellKind::kNull, {}}, {}},
              &image);
  const auto cells = DecodeImage(relation, image).value();
  REQUIRE(cells[2].kind == CellKind::kValue);
  REQUIRE(cells[2].value.empty());
  REQUIRE(cells[3].kind == CellKind::kNull);
  REQUIRE(cells[4].kind == CellKind::kAbsent);
}

TEST_CASE("every cut and every foreign attribute of an image is refused") {
  const Relation relation = MakeRelation();
  std::string image;
  EncodeImage(relation,
              {{CellKind::kValue, "\0\0\0\7"s},
               {},
               {CellKind::kValue, "ab"},
               {CellKind::kValue, "c"},
               {CellKind::kValue, "\1"}},
              &image);
  for (size_t length = 0; length < image.size(); ++length) {
    REQUIRE_FALSE(DecodeImage(relation, image.substr(0, length)).has_value());
  }
  REQUIRE_FALSE(DecodeImage(relation, image + "x").has_value());
  std::string dropped = image;
  dropped[2] |= 1 << 2;  // a null for the dropped attribute
  REQUIRE_FALSE(DecodeImage(relation, dropped).has_value());
  std::string more = image;
  more[0] = 6;
  REQUIRE_FALSE(DecodeImage(relation, more).has_value());
  std::string endless = image;
  for (size_t i = 8; i < endless.size(); ++i) endless[i] = '\xFF';
  REQUIRE_FALSE(DecodeImage(relation, endless).has_value());
}

TEST_CASE("random bytes never decode into cells outside the image") {
  const Relation relation = MakeRelation();
  const auto seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 20'000; ++round) {
    std::string image(random() % 40, '\0');
    for (char& c : image) c = static_cast<char>(random());
    if (image.size() > 2) {
      image[0] = 5;
      image[1] = 0;
    }
    const auto cells = DecodeImage(relation, image);
    if (!cells) continue;
    std::string again;
    for (const Cell& cell : *cells) {
      if (cell.kind != CellKind::kValue) continue;
      REQUIRE(cell.value.data() >= image.data());
      REQUIRE(cell.value.data() + cell.value.size() <= image.data() + image.size());
    }
    EncodeImage(relation, *cells, &again);
    REQUIRE(DecodeImage(relation, again).value() == *cells);
  }
}

}  // namespace varve::model
