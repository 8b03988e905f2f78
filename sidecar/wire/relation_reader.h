// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <memory>

#include "sidecar/base/result.h"
#include "sidecar/model/relation.h"
#include "stream_generated.h"

namespace varve::wire {

// The relation behind a verified FlatBuffers table. Errors: kInvalidArgument when it contradicts itself or
// its version is not the hash of its contents.
base::Result<std::shared_ptr<const model::Relation>> ReadRelation(const stream::Relation& wire);

}  // namespace varve::wire
