// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sidecar/base/ids.h"
#include "sidecar/store/key_format.h"

namespace varve::history {

using store::EventKind;
using store::Place;

// Something that happened to a table as a whole.
struct TableEvent {
  Place place;
  EventKind kind = EventKind::kVersion;
  base::RelationVersion version;  // kVersion, kKeyChange
  uint16_t definition = 0;        // kVersion: which definition of the version
  std::string text;               // kExcluded, kKeyChange, kContradiction: why
};

// True for events after which the table's rows are no longer known.
bool IsStop(EventKind kind);

// What happened to one table, in order. A plain value; const methods are thread-safe.
class Timeline {
 public:
  // REQUIRES: not before what is there.
  void Add(TableEvent event);
  void DropAbove(base::Position position);

  // The last kVersion at or before; nullptr when the table did not exist yet.
  const TableEvent* VersionAt(base::Position position) const { return VersionAtPlace(EndOf(position)); }
  const TableEvent* VersionAtPlace(Place place) const;
  // The last kVersion before it.
  const TableEvent* VersionBefore(Place place) const;
  // The first stop at or before; nullptr when the rows are known.
  const TableEvent* StopAt(base::Position position) const;
  // The first event of the kind at or before.
  const TableEvent* FirstOf(EventKind kind, base::Position position) const;
  std::optional<Place> LastTruncate(base::Position position) const;
  std::optional<Place> FirstTruncateAfter(Place place) const;

  // All but the truncates.
  const std::vector<TableEvent>& events() const { return events_; }

  // Behind every change of the position.
  static Place EndOf(base::Position position) { return Place{position, base::Seq{UINT32_MAX}}; }

 private:
  std::vector<TableEvent> events_;
  std::vector<Place> truncates_;
};

}  // namespace varve::history
