// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace varve::cli {

// What the help of a verb says under its options.
inline constexpr std::string_view kReferenceHelp =
    "REF names a moment: now, first, xid:12345, 0/16B3748 or lsn:0/16B3748,\n"
    "  time:2026-11-30T12:00:00+01:00 (without a zone: yours), time:now-5m, tag:NAME;\n"
    "  with ^ or ^3 behind it one or three transactions earlier (xid:12345^ is right before 12345).\n";
inline constexpr std::string_view kKeyHelp =
    "KEY is JSON: 42, '\"a\"', '[1,\"x\"]' or '{\"id\":1}'; plain text where the key is one text column.\n";
inline constexpr std::string_view kTableHelp =
    "TABLE is name (of schema public) or schema.name, or quoted as in psql: '\"My Schema\".\"Ta.ble\"'.\n";
inline constexpr std::string_view kCellHelp =
    "In the table for people a cell is cut after 200 characters; --json, --ndjson and csv are whole.\n";

// References, keys or nothing, and then the examples.
std::string Footer(std::string_view explanation, const std::vector<std::string_view>& examples);

// What the verb that later versions have would do, empty for any other word.
std::string_view LaterVerb(std::string_view word);

}  // namespace varve::cli
