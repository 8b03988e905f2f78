// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sidecar/base/ids.h"

namespace varve::model {

// How a column's values travel and are stored. Persisted: never renumber.
enum class Form : uint8_t { kBinary = 0, kText = 1 };

struct Column {
  uint16_t attnum = 0;
  std::string name;
  uint32_t type_oid = 0;
  uint32_t base_type_oid = 0;  // domains resolved
  int32_t typmod = -1;
  Form form = Form::kText;
  uint16_t width = 0;              // bytes of a fixed-width value in the image, 0: varint length first
  uint16_t key_position = 0;       // 1-based place in the primary key, 0: not part of it
  uint16_t identity_position = 0;  // 1-based place in the replica identity index, 0: not part of it
  bool not_null = false;
  char generated = 0;  // 0, 's' stored, 'v' virtual
  std::optional<std::string>
      missing;  // what rows older than ADD COLUMN ... DEFAULT have, in the column's form
  std::string default_expression;

  bool operator==(const Column&) const = default;
};

struct TypeField {
  std::string name;
  uint32_t type_oid = 0;
  bool operator==(const TypeField&) const = default;
};

// What is needed to read the text form of a type, and its name for people.
struct Type {
  uint32_t oid = 0;
  std::string schema;
  std::string name;
  char kind = 'b';                // pg_type.typtype: b, c, d, e, p, r, m; arrays are 'A'
  uint32_t inner_oid = 0;         // of an array its element, of a domain its base, of a range its subtype
  char delimiter = ',';           // between elements of an array
  std::vector<TypeField> fields;  // of a composite; of an enum its labels, each with its pg_enum.oid
  bool json_cast = false;         // a user cast to json exists
  bool operator==(const Type&) const = default;
};

// One schema of one table.
struct Relation {
  base::RelationVersion version;
  base::TableOid oid;
  std::string schema;
  std::string name;
  char identity = 'd';  // pg_class.relreplident: d, i, f, n
  uint16_t attribute_count = 0;
  std::vector<Column> columns;  // live ones, by attnum
  std::vector<Type> types;

  // nullptr when there is none.
  const Column* FindColumn(std::string_view name) const;
  const Column* FindAttnum(uint16_t attnum) const;
  const Type* FindType(uint32_t oid) const;
  // The columns that identify a row, in index order: the identity index under USING INDEX, else the primary
  // key. Empty when the table has no usable key.
  std::vector<const Column*> KeyColumns() const;
  // "public.accounts", unquoted.
  std::string QualifiedName() const;

  bool operator==(const Relation&) const = default;
};

// The hash that schemas/README.md defines ("Relation version"); Relation::version is not read.
base::RelationVersion ComputeVersion(const Relation& relation);

// Whether a stored text of the type means the same under both descriptions of its table: no field of a
// composite and no label of an enum that it leads to has changed or been renamed.
bool ReadsAlike(const Relation& from, const Relation& to, uint32_t type_oid);

}  // namespace varve::model
