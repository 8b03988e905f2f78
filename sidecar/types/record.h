// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sidecar/base/result.h"

namespace varve::types {

// Fields of a composite value's text, e.g. `(1,"a b",)`; none for NULL. Errors: kInvalidArgument.
base::Status ParseRecordLiteral(std::string_view text, std::vector<std::optional<std::string>>* fields);

struct HstorePair {
  std::string key;
  std::optional<std::string> value;
};

// Pairs of an hstore's text, e.g. `"a"=>"1", "b"=>NULL`. Errors: kInvalidArgument.
base::Status ParseHstore(std::string_view text, std::vector<HstorePair>* pairs);

}  // namespace varve::types
