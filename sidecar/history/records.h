// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <string>

#include "sidecar/history/history.h"
#include "sidecar/history/visibility.h"
#include "sidecar/store/record_format.h"

// Between what history/ hands out and the records that store/ persists.
namespace varve::history {

store::ReadPointRecord RecordOf(const ReadPoint& point);
ReadPoint PointOf(const store::ReadPointRecord& record);
// The point of a transaction at its position.
ReadPoint PointOf(base::Position position, const store::TransactionRecord& record);

std::string EncodePublished(const Published& published);
base::Result<Published> DecodePublished(std::string_view bytes);

std::string EncodeIdentity(const Identity& identity);
base::Result<Identity> DecodeIdentity(std::string_view bytes);

TransactionInfo InfoOf(base::Position position, const store::TransactionRecord& record);

}  // namespace varve::history
