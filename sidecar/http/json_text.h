// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <string>
#include <string_view>

#include "sidecar/history/history.h"

namespace varve::http {

// Answers are put together as text: a row's JSON is PostgreSQL's own text and must not pass through a JSON
// value, which would change its numbers.

// Appends `text` as a JSON string, quotes included. Bytes that are no UTF-8 become U+FFFD.
void AppendJsonString(std::string_view text, std::string* out);

// Appends "name":
void AppendJsonName(std::string_view name, std::string* out);

// Appends the members "position":…,"time":…,"xid":… (without braces; no xid for the first copy; "epoch" only
// after the xid counter has wrapped around).
void AppendPointMembers(const history::ReadPoint& point, std::string* out);

// Appends one of the members "inserts", "updates", "deletes", "truncates", "definitions" for each count,
// without braces.
void AppendCountMembers(const history::TableCounts& counts, std::string* out);

}  // namespace varve::http
