// SPDX-License-Identifier: PostgreSQL
#include "sidecar/types/builtin.h"

#include <algorithm>
#include <array>

#include "sidecar/types/oids.h"

namespace varve::types {
namespace {

// The list of schemas/README.md, by OID. Persisted: a type that leaves or joins it changes images.
constexpr std::array kBinaryTypes = {
    BinaryType{kBoolOid, 1000, 1, "bool"},
    BinaryType{kByteaOid, 1001, 0, "bytea"},
    BinaryType{kCharOid, 1002, 1, "\"char\""},
    BinaryType{kNameOid, 1003, 0, "name"},
    BinaryType{kInt8Oid, 1016, 8, "int8"},
    BinaryType{kInt2Oid, 1005, 2, "int2"},
    BinaryType{kInt4Oid, 1007, 4, "int4"},
    BinaryType{kTextOid, 1009, 0, "text"},
    BinaryType{kOidOid, 1028, 4, "oid"},
    BinaryType{kJsonOid, 199, 0, "json"},
    BinaryType{kFloat4Oid, 1021, 4, "float4"},
    BinaryType{kFloat8Oid, 1022, 8, "float8"},
    BinaryType{kBpcharOid, 1014, 0, "bpchar"},
    BinaryType{kVarcharOid, 1015, 0, "varchar"},
    BinaryType{kDateOid, 1182, 4, "date"},
    BinaryType{kTimeOid, 1183, 8, "time"},
    BinaryType{kTimestampOid, 1115, 8, "timestamp"},
    BinaryType{kTimestamptzOid, 1185, 8, "timestamptz"},
    BinaryType{kIntervalOid, 1187, 16, "interval"},
    BinaryType{kTimetzOid, 1270, 12, "timetz"},
    BinaryType{kNumericOid, 1231, 0, "numeric"},
    BinaryType{kUuidOid, 2951, 16, "uuid"},
    BinaryType{kJsonbOid, 3807, 0, "jsonb"},
};

}  // namespace

const BinaryType* FindBinaryType(uint32_t oid) {
  const auto* found =
      std::lower_bound(kBinaryTypes.begin(), kBinaryTypes.end(), oid,
                       [](const BinaryType& type, uint32_t wanted) { return type.oid < wanted; });
  return found == kBinaryTypes.end() || found->oid != oid ? nullptr : found;
}

const BinaryType* FindElementOfArray(uint32_t array_oid) {
  const auto* found = std::find_if(kBinaryTypes.begin(), kBinaryTypes.end(),
                                   [&](const BinaryType& type) { return type.array_oid == array_oid; });
  return found == kBinaryTypes.end() ? nullptr : found;
}

Representation RepresentationOf(uint32_t base_type_oid) {
  if (const BinaryType* type = FindBinaryType(base_type_oid)) {
    return Representation{model::Form::kBinary, type->width};
  }
  if (FindElementOfArray(base_type_oid) != nullptr) return Representation{model::Form::kBinary, 0};
  return Representation{};
}

}  // namespace varve::types
