// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <string>
#include <string_view>

#include "sidecar/base/result.h"

namespace varve::cli {

// A TABLE argument as varved takes it, schema.name without quotes: "My Schema"."Ta.ble", written as in psql,
// is My Schema.Ta.ble. A part without quotes stays as it is, upper case included; without any quoted part the
// whole text does. Errors: kInvalidArgument for quotes that do not fit.
base::Result<std::string> TableName(std::string_view argument);

}  // namespace varve::cli
