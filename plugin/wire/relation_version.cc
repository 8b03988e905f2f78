// SPDX-License-Identifier: PostgreSQL
// The canonical form of a relation and its hash: schemas/README.md, "Relation version".
#include <algorithm>
#include <string>
#include <vector>

#include "plugin/wire/wire.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace {

template <typename Integer>
void PutInteger(std::string* out, Integer value) {
  const auto bits = static_cast<uint64_t>(value);
  for (size_t i = 0; i < sizeof(Integer); ++i) out->push_back(static_cast<char>(bits >> (8 * i)));
}

void PutBytes(std::string* out, const VarveBytes& bytes) {
  PutInteger(out, static_cast<uint32_t>(bytes.length));
  out->append(bytes.data, bytes.length);
}

void PutOptional(std::string* out, const VarveBytes& bytes) {
  PutInteger(out, static_cast<uint8_t>(bytes.data != nullptr));
  PutBytes(out, bytes);
}

// The composite and enum types, by oid: fields and labels decide how a stored text is read.
void PutNamedParts(std::string* out, const VarveRelation* relation) {
  std::vector<const VarveType*> parted;
  for (size_t i = 0; i < relation->type_count; ++i) {
    const uint8_t kind = relation->types[i].kind;
    if (kind == 'c' || kind == 'e') parted.push_back(&relation->types[i]);
  }
  std::sort(parted.begin(), parted.end(),
            [](const VarveType* a, const VarveType* b) { return a->oid < b->oid; });
  for (const VarveType* type : parted) {
    PutInteger(out, type->oid);
    PutInteger(out, static_cast<uint32_t>(type->field_count));
    for (size_t i = 0; i < type->field_count; ++i) {
      PutBytes(out, type->fields[i].name);
      PutInteger(out, type->fields[i].type_oid);
    }
  }
}

std::string CanonicalForm(const VarveRelation* relation) {
  std::string canonical = "varve-relation-1";
  PutInteger(&canonical, relation->oid);
  PutBytes(&canonical, relation->schema);
  PutBytes(&canonical, relation->name);
  PutInteger(&canonical, relation->identity);
  PutInteger(&canonical, relation->attribute_count);
  PutInteger(&canonical, static_cast<uint16_t>(relation->column_count));
  for (size_t i = 0; i < relation->column_count; ++i) {
    const VarveColumn& column = relation->columns[i];
    PutInteger(&canonical, column.attnum);
    PutBytes(&canonical, column.name);
    PutInteger(&canonical, column.type_oid);
    PutInteger(&canonical, column.base_type_oid);
    PutInteger(&canonical, column.typmod);
    PutInteger(&canonical, column.form);
    PutInteger(&canonical, column.width);
    PutInteger(&canonical, column.key_position);
    PutInteger(&canonical, column.identity_position);
    PutInteger(&canonical, static_cast<uint8_t>(column.not_null));
    PutInteger(&canonical, column.generated);
  }
  PutNamedParts(&canonical, relation);
  return canonical;
}

// What the version leaves out.
void PutTypesAndDefaults(std::string* out, const VarveRelation* relation) {
  for (size_t i = 0; i < relation->column_count; ++i) {
    PutOptional(out, relation->columns[i].missing);
    PutOptional(out, relation->columns[i].default_expression);
  }
  for (size_t i = 0; i < relation->type_count; ++i) {
    const VarveType& type = relation->types[i];
    PutInteger(out, type.oid);
    PutBytes(out, type.schema);
    PutBytes(out, type.name);
    PutInteger(out, type.kind);
    PutInteger(out, type.inner_oid);
    PutInteger(out, type.delimiter);
    PutInteger(out, static_cast<uint8_t>(type.json_cast));
    PutInteger(out, static_cast<uint32_t>(type.field_count));
    for (size_t field = 0; field < type.field_count; ++field) {
      PutBytes(out, type.fields[field].name);
      PutInteger(out, type.fields[field].type_oid);
    }
  }
}

}  // namespace

VarveWireStatus varve_wire_set_version(VarveRelation* relation) noexcept try {
  std::string bytes = CanonicalForm(relation);
  const uint64_t hash = XXH3_64bits(bytes.data(), bytes.size());
  relation->version = hash == 0 ? 1 : hash;
  PutTypesAndDefaults(&bytes, relation);
  relation->description = XXH3_64bits(bytes.data(), bytes.size());
  return VARVE_WIRE_OK;
} catch (...) {
  return VARVE_WIRE_OUT_OF_MEMORY;
}
