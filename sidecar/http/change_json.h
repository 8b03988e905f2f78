// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <string>

#include "sidecar/base/result.h"
#include "sidecar/history/history.h"

namespace varve::http {

struct ChangeJsonOptions {
  bool point = false;  // position, time and xid of the change's transaction
  bool seq = false;    // and its place inside it
};

// Appends {"op":"update","table":"public.accounts","key":42,"changed":["email"],"before":{…},"after":{…}}.
// A message has prefix and content_base64, a schema change has detail. Errors: those of the rows' JSON.
base::Status AppendChangeJson(const history::ChangeView& change, const ChangeJsonOptions& options,
                              std::string* out);

// The row's key as JSON. Errors: those of types::AppendKeyJson.
base::Result<std::string> KeyJson(const history::Row& row);

}  // namespace varve::http
