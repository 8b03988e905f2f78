// SPDX-License-Identifier: PostgreSQL
#include "sidecar/model/relation.h"

#include <algorithm>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace varve::model {
namespace {

template <typename Integer>
void PutInteger(std::string* out, Integer value) {
  const auto bits = static_cast<uint64_t>(value);
  for (size_t i = 0; i < sizeof(Integer); ++i) out->push_back(static_cast<char>(bits >> (8 * i)));
}

void PutString(std::string* out, std::string_view text) {
  PutInteger(out, static_cast<uint32_t>(text.size()));
  out->append(text);
}

// The composite and enum types, by oid: fields and labels decide how a stored text is read.
void PutNamedParts(std::string* out, const std::vector<Type>& types) {
  std::vector<const Type*> parted;
  for (const Type& type : types) {
    if (type.kind == 'c' || type.kind == 'e') parted.push_back(&type);
  }
  std::sort(parted.begin(), parted.end(), [](const Type* a, const Type* b) { return a->oid < b->oid; });
  for (const Type* type : parted) {
    PutInteger(out, type->oid);
    PutInteger(out, static_cast<uint32_t>(type->fields.size()));
    for (const TypeField& field : type->fields) {
      PutString(out, field.name);
      PutInteger(out, field.type_oid);
    }
  }
}

constexpr int kTypeDepthMax = 64;  // bounds forged cycles

bool ReadsAlikeTo(const Relation& from, const Relation& to, uint32_t type_oid, int depth);

// Labels are never dropped, only added and renamed.
bool SameLabels(const Type& before, const Type& after) {
  return std::all_of(before.fields.begin(), before.fields.end(), [&](const TypeField& label) {
    return std::find(after.fields.begin(), after.fields.end(), label) != after.fields.end();
  });
}

bool SameFields(const Relation& from, const Relation& to, const Type& before, const Type& after, int depth) {
  return before.fields == after.fields &&
         std::all_of(before.fields.begin(), before.fields.end(),
                     [&](const TypeField& field) { return ReadsAlikeTo(from, to, field.type_oid, depth); });
}

bool ReadsAlikeTo(const Relation& from, const Relation& to, uint32_t type_oid, int depth) {
  if (from.version == to.version) return true;
  const Type* before = from.FindType(type_oid);
  const Type* after = to.FindType(type_oid);
  if (before == nullptr || after == nullptr) return before == after;
  if (depth == 0 || before->kind != after->kind || before->inner_oid != after->inner_oid) return false;
  if (before->kind == 'e') return SameLabels(*before, *after);
  if (before->inner_oid != 0 && !ReadsAlikeTo(from, to, before->inner_oid, depth - 1)) return false;
  return SameFields(from, to, *before, *after, depth - 1);
}

}  // namespace

const Column* Relation::FindColumn(std::string_view column_name) const {
  const auto found = std::find_if(columns.begin(), columns.end(),
                                  [&](const Column& column) { return column.name == column_name; });
  return found == columns.end() ? nullptr : &*found;
}

const Column* Relation::FindAttnum(uint16_t attnum) const {
  const auto found =
      std::lower_bound(columns.begin(), columns.end(), attnum,
                       [](const Column& column, uint16_t wanted) { return column.attnum < wanted; });
  return found == columns.end() || found->attnum != attnum ? nullptr : &*found;
}

const Type* Relation::FindType(uint32_t type_oid) const {
  const auto found =
      std::find_if(types.begin(), types.end(), [&](const Type& type) { return type.oid == type_oid; });
  return found == types.end() ? nullptr : &*found;
}

std::vector<const Column*> Relation::KeyColumns() const {
  const auto place = identity == 'i' ? &Column::identity_position : &Column::key_position;
  std::vector<const Column*> key;
  for (const Column& column : columns) {
    if (column.*place != 0) key.push_back(&column);
  }
  std::sort(key.begin(), key.end(), [&](const Column* a, const Column* b) { return a->*place < b->*place; });
  return key;
}

std::string Relation::QualifiedName() const { return schema + "." + name; }

base::RelationVersion ComputeVersion(const Relation& relation) {
  std::string bytes = "varve-relation-1";
  PutInteger(&bytes, relation.oid.value);
  PutString(&bytes, relation.schema);
  PutString(&bytes, relation.name);
  PutInteger(&bytes, static_cast<uint8_t>(relation.identity));
  PutInteger(&bytes, relation.attribute_count);
  PutInteger(&bytes, static_cast<uint16_t>(relation.columns.size()));
  for (const Column& column : relation.columns) {
    PutInteger(&bytes, column.attnum);
    PutString(&bytes, column.name);
    PutInteger(&bytes, column.type_oid);
    PutInteger(&bytes, column.base_type_oid);
    PutInteger(&bytes, column.typmod);
    PutInteger(&bytes, static_cast<uint8_t>(column.form));
    PutInteger(&bytes, column.width);
    PutInteger(&bytes, column.key_position);
    PutInteger(&bytes, column.identity_position);
    PutInteger(&bytes, static_cast<uint8_t>(column.not_null));
    PutInteger(&bytes, static_cast<uint8_t>(column.generated));
  }
  PutNamedParts(&bytes, relation.types);
  const uint64_t hash = XXH3_64bits(bytes.data(), bytes.size());
  return base::RelationVersion{hash == 0 ? 1 : hash};
}

bool ReadsAlike(const Relation& from, const Relation& to, uint32_t type_oid) {
  return ReadsAlikeTo(from, to, type_oid, kTypeDepthMax);
}

}  // namespace varve::model
