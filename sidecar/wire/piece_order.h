// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <cstdint>
#include <unordered_map>

#include "sidecar/base/result.h"
#include "sidecar/model/change.h"

namespace varve::wire {

// What of a session's transactions has come so far, and whether the next pieces may follow it: the rules of
// schemas/README.md, section Transactions. Keeps a few words for each subtransaction that is being streamed.
// Belongs to one Decoder. Fails with kInvalidArgument; after that the session must end.
class PieceOrder {
 public:
  base::Status Check(const model::Batch& batch);

  // True between the first and the last piece of a transaction that is sent whole.
  bool transaction_open() const { return transaction_open_; }

 private:
  struct Stream {
    uint32_t next_seq = 0;
    std::unordered_map<uint32_t, bool>
        subtransactions;  // those that changes came of: whether they rolled back
  };

  base::Status CheckPiece(const model::Batch& batch, const model::TransactionPiece& piece);
  base::Status CheckWhole(const model::TransactionPiece& piece);
  base::Status CheckStreamed(const model::TransactionPiece& piece);
  base::Status CheckStreamEnd(const model::TransactionPiece& piece);
  base::Status TakeEnd(const model::TransactionPiece& piece);
  static base::Status TakeChanges(const model::Batch& batch, const model::TransactionPiece& piece,
                                  uint32_t* next_seq);

  base::Lsn last_end_lsn_;        // of the newest commit or message
  model::TransactionPiece open_;  // a piece of the transaction that is not whole yet
  uint32_t next_seq_ = 0;         // the seq that its next change must have
  bool transaction_open_ = false;
  std::unordered_map<uint32_t, Stream> streams_;  // by xid
};

}  // namespace varve::wire
