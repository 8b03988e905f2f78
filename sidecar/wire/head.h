// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "sidecar/base/result.h"
#include "sidecar/wire/decoder.h"

namespace varve::wire {

// What tells a batch from others before it is decoded.
struct Head {
  SessionId session;
  uint64_t sequence = 0;
};

// Nothing for bytes that are no message with a head; that there is one says nothing of the rest.
std::optional<Head> ReadHead(std::string_view message);

// How many batches the session has announced so far (schemas/README.md, "Two ways, one order"). Errors:
// kInvalidArgument for what is no marker, or one of another session.
base::Result<uint64_t> ReadMarker(std::string_view message, SessionId session);

}  // namespace varve::wire
