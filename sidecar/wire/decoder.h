// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <unordered_map>

#include "sidecar/base/result.h"
#include "sidecar/model/change.h"

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

  explicit Decoder(SessionId session) : session_(session) {}

  // `message`: a whole size-prefixed Batch at any alignment (it is copied). Errors: kInvalidArgument naming
  // what is wrong ("sequence 7 where 5 was expected"); after an error the session must end.
  base::Result<model::Batch> Decode(std::string_view message);

  // True between the first and the last piece of a transaction.
  bool transaction_open() const { return transaction_open_; }

  uint64_t next_sequence() const { return next_sequence_; }

 private:
  base::Status CheckPieces(const model::Batch& batch);

  SessionId session_;
  uint64_t next_sequence_ = 0;
  base::Lsn last_end_lsn_;  // of the newest transaction begun
  uint32_t open_xid_ = 0;   // of the transaction that is not whole yet
  uint32_t next_seq_ = 0;   // the seq that its next change must have
  bool transaction_open_ = false;
  std::unordered_map<base::RelationVersion, std::shared_ptr<const model::Relation>> relations_;
};

}  // namespace varve::wire
