// SPDX-License-Identifier: PostgreSQL
#include "sidecar/history/timeline.h"

#include <algorithm>

#include "sidecar/base/check.h"

namespace varve::history {

bool IsStop(EventKind kind) { return kind != EventKind::kVersion && kind != EventKind::kTruncate; }

void Timeline::Add(TableEvent event) {
  if (event.kind == EventKind::kTruncate) {
    CHECK(truncates_.empty() || truncates_.back() <= event.place);
    truncates_.push_back(event.place);
    return;
  }
  CHECK(events_.empty() || events_.back().place <= event.place);
  events_.push_back(std::move(event));
}

void Timeline::DropAbove(base::Position position) {
  while (!events_.empty() && events_.back().place.position > position) events_.pop_back();
  while (!truncates_.empty() && truncates_.back().position > position) truncates_.pop_back();
}

const TableEvent* Timeline::VersionAtPlace(Place place) const {
  for (auto event = events_.rbegin(); event != events_.rend(); ++event) {
    if (event->kind == EventKind::kVersion && event->place <= place) return &*event;
  }
  return nullptr;
}

const TableEvent* Timeline::VersionBefore(Place place) const {
  for (auto event = events_.rbegin(); event != events_.rend(); ++event) {
    if (event->kind == EventKind::kVersion && event->place < place) return &*event;
  }
  return nullptr;
}

const TableEvent* Timeline::StopAt(base::Position position) const {
  const auto found = std::find_if(events_.begin(), events_.end(), [&](const TableEvent& event) {
    return IsStop(event.kind) && event.place.position <= position;
  });
  return found == events_.end() ? nullptr : &*found;
}

const TableEvent* Timeline::FirstOf(EventKind kind, base::Position position) const {
  const auto found = std::find_if(events_.begin(), events_.end(), [&](const TableEvent& event) {
    return event.kind == kind && event.place.position <= position;
  });
  return found == events_.end() ? nullptr : &*found;
}

std::optional<Place> Timeline::LastTruncate(base::Position position) const {
  const auto behind = std::upper_bound(truncates_.begin(), truncates_.end(), EndOf(position));
  if (behind == truncates_.begin()) return std::nullopt;
  return *std::prev(behind);
}

std::optional<Place> Timeline::FirstTruncateAfter(Place place) const {
  const auto found = std::upper_bound(truncates_.begin(), truncates_.end(), place);
  if (found == truncates_.end()) return std::nullopt;
  return *found;
}

}  // namespace varve::history
