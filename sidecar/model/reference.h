// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "sidecar/base/ids.h"
#include "sidecar/base/result.h"

namespace varve::model {

struct NowReference {};
struct FirstReference {};
struct LsnReference {
  std::optional<uint8_t> era;  // none: the era whose range holds the LSN
  base::Lsn lsn;
};
struct TimeReference {
  base::Timestamp time;
};
struct XidReference {
  std::optional<uint32_t> epoch;  // none: the latest transaction with that number
  uint32_t xid = 0;
};
struct TagReference {
  std::string name;
};
struct BranchReference {
  std::string name;
};

// How a person names a moment, parsed and not yet resolved to a position.
struct Reference {
  std::variant<NowReference, FirstReference, LsnReference, TimeReference, XidReference, TagReference,
               BranchReference>
      base;
  uint32_t back = 0;  // transactions earlier: "^" is 1, "^3" is 3, "^^" is 2
  std::string text;   // as it was written
};

// Understands: now, first, lsn:[ERA:]X/Y, bare X/Y, time:RFC3339, bare RFC 3339, time:now-5m (s, m, h, d),
// xid:[EPOCH:]N, tag:NAME, branch:NAME, each with ^ or ^N behind it. `now` is what time:now-5m counts from.
// Errors: kInvalidArgument, kUnknownReference for a bare name or kind that there is not; the message lists
// the forms.
base::Result<Reference> ParseReference(std::string_view text, base::Timestamp now);

// True for [A-Za-z0-9][A-Za-z0-9._/-]*, at most 200 bytes: names of tags and branches.
bool IsValidName(std::string_view name);

}  // namespace varve::model
