// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <unordered_map>

#include "sidecar/base/result.h"
#include "sidecar/model/change.h"
#include "sidecar/wire/piece_order.h"

namespace varve::wire {

// 128 random bits that name one START_REPLICATION.
struct SessionId {
  uint64_t high = 0;
  uint64_t low = 0;
  bool operator==(const SessionId&) const = default;
};

// 32 hexadecimal digits, as the plugin's option `session` takes them.
std::string FormatSession(SessionId session);

// Turns the messages of one session into batches. Verifies every message: framing, FlatBuffers tables,
// session, sequence, indexes, heap offsets, relation versions, and that transactions are whole and in order.
// Row images are verified where they are decoded (model::DecodeImage). One thread at a time.
class Decoder {
 public:
  static constexpr uint32_t kMessageBytesMax = 1u << 30;

  // `allow_staged`: the session asked for streaming or two_phase. Without it such pieces are refused.
  explicit Decoder(SessionId session, bool allow_staged = false)
      : session_(session), allow_staged_(allow_staged) {}

  // `message`: a whole size-prefixed Batch at any alignment (it is copied). Errors: kInvalidArgument naming
  // what is wrong ("sequence 7 where 5 was expected"); after an error the session must end.
  base::Result<model::Batch> Decode(std::string_view message);

  // True between the first and the last piece of a transaction that is sent whole.
  bool transaction_open() const { return order_.transaction_open(); }

  uint64_t next_sequence() const { return next_sequence_; }

 private:
  SessionId session_;
  bool allow_staged_;
  uint64_t next_sequence_ = 0;
  PieceOrder order_;
  std::unordered_map<base::RelationVersion, std::shared_ptr<const model::Relation>> relations_;
};

}  // namespace varve::wire
