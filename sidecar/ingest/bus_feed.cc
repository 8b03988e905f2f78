// SPDX-License-Identifier: PostgreSQL
#include "sidecar/ingest/bus_feed.h"

#include <utility>

#include "sidecar/wire/head.h"

namespace varve::ingest {

base::Status BusFeed::Marker(std::string_view message) {
  ASSIGN_OR_RETURN(const uint64_t announced, wire::ReadMarker(message, session_));
  return order_.Announce(announced);
}

void BusFeed::Keepalive(base::Lsn position) {
  order_.SawKeepalive(position);
  // Positions start again from the slot's restart position in each session.
  if (position <= keepalive_seen_) return;
  keepalive_seen_ = position;
  order_.Keepalive(position);
}

base::Result<BusFeed::Outcome> BusFeed::Next(int64_t now_ms, Received* item) {
  if (const auto position = order_.NextPosition()) {
    *item = Received();
    item->keepalive_end = *position;
    return Outcome::kItem;
  }
  ASSIGN_OR_RETURN(auto frame, socket_->TryReceive());
  if (!frame) {
    RETURN_IF_ERROR(order_.CheckMissing(now_ms));
    return Outcome::kNothing;
  }
  const auto head = wire::ReadHead(frame->bytes());
  if (!head) return Outcome::kDropped;
  // A sender of an earlier session may not have ended yet.
  ASSIGN_OR_RETURN(const bool is_ours, order_.Arrive(*head));
  if (!is_ours) return Outcome::kDropped;
  *item = Received();
  item->message = frame->bytes();
  item->frame = *std::move(frame);
  return Outcome::kItem;
}

}  // namespace varve::ingest
