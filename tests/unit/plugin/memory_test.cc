// SPDX-License-Identifier: PostgreSQL
// Memory that ends, at each place where it may: the server must hear of it by a status.
#include <cstdlib>
#include <memory>
#include <new>
#include <string>

#include "plugin/wire/wire.h"
#include "tests/support/catch.h"

namespace {

// How many allocations succeed; below 0 all do.
int64_t allocations_left = -1;

}  // namespace

void* operator new(std::size_t size) {
  if (allocations_left == 0) throw std::bad_alloc();
  if (allocations_left > 0) --allocations_left;
  if (void* place = std::malloc(size == 0 ? 1 : size)) return place;
  throw std::bad_alloc();
}
void operator delete(void* place) noexcept { std::free(place); }
void operator delete(void* place, std::size_t) noexcept { std::free(place); }

namespace varve {
namespace {

struct WireClose {
  void operator()(VarveWire* wire) const { varve_wire_close(wire); }
};

VarveBytes Bytes(const char* text) { return {text, std::char_traits<char>::length(text)}; }

// Version, description and one batch of a table whose definition and rows do not fit into what a builder has
// at first.
VarveWireStatus BuildOne(const std::string& heap) {
  VarveColumn column = {};
  column.attnum = 1;
  column.name = Bytes("id");
  column.type_oid = column.base_type_oid = 23;
  column.width = 4;
  column.default_expression = {heap.data(), heap.size()};
  VarveTypeField field = {Bytes("x"), 23};
  VarveType type = {};
  type.oid = 16399;
  type.schema = type.name = Bytes("t");
  type.kind = 'c';
  type.fields = &field;
  type.field_count = 1;
  VarveRelation relation = {};
  relation.oid = 16400;
  relation.schema = relation.name = Bytes("t");
  relation.attribute_count = 1;
  relation.columns = &column;
  relation.column_count = 1;
  relation.types = &type;
  relation.type_count = 1;
  if (const VarveWireStatus status = varve_wire_set_version(&relation); status != VARVE_WIRE_OK)
    return status;
  const std::unique_ptr<VarveWire, WireClose> wire(varve_wire_open());
  if (wire == nullptr) return VARVE_WIRE_OUT_OF_MEMORY;
  size_t described = 0;
  if (const VarveWireStatus status = varve_wire_add_relation(wire.get(), &relation, &described);
      status != VARVE_WIRE_OK) {
    return status;
  }
  VarveBatchParts parts = {};
  parts.heap = heap.data();
  parts.heap_length = heap.size();
  size_t length = 0;
  return varve_wire_finish(wire.get(), &parts, &length);
}

}  // namespace

TEST_CASE("memory that ends while a batch is built is a status, wherever it ends") {
  const std::string heap(size_t{300} * 1024, 'x');
  int failures = 0;
  VarveWireStatus status = VARVE_WIRE_OUT_OF_MEMORY;
  while (status != VARVE_WIRE_OK) {
    allocations_left = failures;
    status = BuildOne(heap);
    const int64_t left = allocations_left;
    allocations_left = -1;
    REQUIRE((status == VARVE_WIRE_OK || (status == VARVE_WIRE_OUT_OF_MEMORY && left == 0)));
    if (status == VARVE_WIRE_OUT_OF_MEMORY) ++failures;
    REQUIRE(failures < 1000);
  }
  CHECK(failures > 5);
}

TEST_CASE("a definition that is too large for a message is a status") {
  const std::string expression(size_t{17} * 1024 * 1024, 'x');
  CHECK(BuildOne(expression) == VARVE_WIRE_TOO_LARGE);
}

}  // namespace varve
