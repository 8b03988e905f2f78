// SPDX-License-Identifier: PostgreSQL
#include "sidecar/types/key.h"
#include "sidecar/types/oids.h"

namespace varve::types {
namespace {

constexpr int32_t kHeader = 4;  // VARHDRSZ, part of the typmods of varchar and numeric

// Typmods behind which a value stays as it is: the cases in which PostgreSQL's support functions
// (varchar_support, numeric_support, interval_support, TemporalSimplify, varbit_support) drop the cast.
bool Keeps(uint32_t oid, int32_t from, int32_t to) {
  if (from == to || to < 0) return true;
  if (from < 0) return false;
  switch (oid) {
    case kVarcharOid:
    case kVarbitOid:
    case kTimeOid:
    case kTimetzOid:
    case kTimestampOid:
    case kTimestamptzOid: return to >= from;
    case kNumericOid: {
      if (from < kHeader || to < kHeader) return false;
      constexpr int32_t kScaleMask = 0x7FF;
      const int32_t from_scale = (from - kHeader) & kScaleMask;
      const int32_t to_scale = (to - kHeader) & kScaleMask;
      return from_scale == to_scale && ((to - kHeader) >> 16) >= ((from - kHeader) >> 16);
    }
    case kIntervalOid: return (from >> 16) == (to >> 16) && (to & 0xFFFF) >= (from & 0xFFFF);
    default: return false;
  }
}

bool IsInteger(uint32_t oid) { return oid == kInt2Oid || oid == kInt4Oid || oid == kInt8Oid; }

bool IsText(uint32_t oid) { return oid == kTextOid || oid == kVarcharOid; }

}  // namespace

bool SameRepresentation(const model::Column& from, const model::Column& to) {
  if (from.form != to.form || from.width != to.width) return false;
  if (from.base_type_oid == to.base_type_oid) return Keeps(to.base_type_oid, from.typmod, to.typmod);
  return IsText(from.base_type_oid) && IsText(to.base_type_oid) && to.typmod < 0;
}

bool AreIntegers(const model::Column& a, const model::Column& b) {
  return IsInteger(a.base_type_oid) && IsInteger(b.base_type_oid);
}

}  // namespace varve::types
