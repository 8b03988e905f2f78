// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <utility>

#include "sidecar/base/ids.h"
#include "sidecar/base/result.h"
#include "sidecar/wire/head.h"

namespace varve::ingest {

// The order of what comes over two channels: batches over the bus; markers that announce them, and
// keepalives, in the COPY stream (schemas/README.md, "Two ways, one order"). Says which batches are of this
// session and in sequence, when a keepalive's position holds, and when an announced batch is lost. Pure: the
// caller brings what arrived, and the time. One thread at a time. After an error the session must end.
class BatchOrder {
 public:
  // A batch that has been let go by the walsender arrives within milliseconds.
  static constexpr int kMissingMs = 5'000;

  explicit BatchOrder(wire::SessionId session) : session_(session) {}

  // A marker: so many batches are announced. Errors: kInvalidArgument when there were more before.
  base::Status Announce(uint64_t count);
  // A batch is here. True: it is the next one. False: it is of another session, to be dropped. Errors:
  // kUnavailable for a gap or a repeated number.
  base::Result<bool> Arrive(const wire::Head& head);
  // A keepalive's position, greater than those before.
  void Keepalive(base::Lsn position);
  // The newest position that holds by now, since all batches that were announced before it have arrived;
  // each once.
  std::optional<base::Lsn> NextPosition();

  // Announced and not here.
  bool missing() const { return arrived_ < announced_; }
  uint64_t arrived() const { return arrived_; }

  // A walsender keeps a batch open while it decodes one record, which may take long; meanwhile the positions
  // of its keepalives stay before that record's end. A keepalive at or behind an end of WAL that was read
  // after the marker therefore says that the batch was let go. `asked_ms`: before the question was sent.
  void SawWalEnd(base::Lsn end, int64_t asked_ms);
  void SawKeepalive(base::Lsn position);
  // To be called when all that had arrived was taken. Errors: kUnavailable when a batch has been missing for
  // kMissingMs and the walsender has let go of it.
  base::Status CheckMissing(int64_t now_ms);
  // Missing for so long that the walsender should be asked.
  bool Late(int64_t now_ms) const;
  // Nothing is taken at the moment: what is missing is not late.
  void HoldUp() { missing_since_ms_.reset(); }

 private:
  const wire::SessionId session_;
  uint64_t announced_ = 0;
  uint64_t arrived_ = 0;
  // Positions, and how many batches must have arrived before each; both rise.
  std::deque<std::pair<base::Lsn, uint64_t>> waiting_;

  // Of the batch that is missing.
  std::optional<int64_t> missing_since_ms_;
  int64_t last_check_ms_ = 0;
  base::Lsn wal_end_;  // 0: not asked yet
  bool let_go_ = false;
};

}  // namespace varve::ingest
