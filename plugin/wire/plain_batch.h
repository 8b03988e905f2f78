// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <cstddef>
#include <cstdint>

#include "plugin/wire/wire.h"

namespace varve::wire {

// A Batch without handshake and relations, as nearly all are, laid out by hand: with a transaction of one row
// to a message, FlatBuffers' builder costs more than the row, and pads more. Where each part of the message
// lies, from its size prefix on.
struct PlainBatch {
  // The places of the vectors' lengths, 0 where there is none.
  size_t refs = 0;
  size_t changes = 0;
  size_t transactions = 0;
  size_t heap = 0;
  size_t table_end = 0;
  size_t length = 0;  // of the message, its size prefix included

  static PlainBatch Plan(const VarveBatchParts& parts);

  // REQUIRES: this is the plan of the same parts, out has room for `length` bytes.
  void Write(const VarveBatchParts& parts, uint8_t* out) const;
};

}  // namespace varve::wire
