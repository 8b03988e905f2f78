/* SPDX-License-Identifier: PostgreSQL */
#pragma once

#include "postgres.h"
#include "replication/slot.h"

#include "plugin/wire/wire.h"

/* What the first batch of a session says of the server, in the current memory context. */
extern void varve_handshake_fill(VarveHandshake *handshake, const ReplicationSlot *slot);
