// SPDX-License-Identifier: PostgreSQL
#include "sidecar/model/row_digest.h"

#include <algorithm>
#include <cstdint>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "sidecar/base/check.h"

namespace varve::model {
namespace {

// Whether a row that is older than the column has something else there.
bool Counts(const std::vector<Cell>& cells, size_t index, const RowDefaults& defaults) {
  if (index >= cells.size()) return false;
  const std::optional<std::string>* older = index < defaults.size() ? &defaults[index] : nullptr;
  const bool older_has_value = older != nullptr && older->has_value();
  switch (cells[index].kind) {
    case CellKind::kAbsent: return false;
    case CellKind::kNull: return older_has_value;
    case CellKind::kValue: return !older_has_value || cells[index].value != **older;
    case CellKind::kUnchanged: break;
  }
  CHECK(false);
}

template <typename Integer>
void PutInteger(Integer value, std::string* out) {
  for (size_t i = 0; i < sizeof(value); ++i) out->push_back(static_cast<char>(value >> (8 * i)));
}

}  // namespace

std::string RowDigest(const std::vector<Cell>& cells, const RowDefaults& defaults) {
  std::string bytes;
  for (size_t i = 0; i < cells.size(); ++i) {
    if (!Counts(cells, i, defaults)) continue;
    PutInteger(static_cast<uint16_t>(i + 1), &bytes);
    PutInteger(static_cast<uint8_t>(cells[i].kind), &bytes);
    PutInteger(static_cast<uint32_t>(cells[i].value.size()), &bytes);
    bytes.append(cells[i].value);
  }
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, hash);
  return {reinterpret_cast<const char*>(canonical.digest), kRowDigestBytes};
}

bool IsSameRow(const std::vector<Cell>& a, const std::vector<Cell>& b, const RowDefaults& defaults) {
  for (size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    const bool counts = Counts(a, i, defaults);
    if (counts != Counts(b, i, defaults)) return false;
    if (counts && a[i] != b[i]) return false;
  }
  return true;
}

}  // namespace varve::model
