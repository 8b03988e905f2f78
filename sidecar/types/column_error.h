// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <string>
#include <utility>

#include "sidecar/base/result.h"
#include "sidecar/model/relation.h"

namespace varve::types {

// `column "id" of public.accounts (int4)`: how every error of this module begins.
std::string ColumnName(const model::Relation& relation, const model::Column& column);

// The status, its message preceded by the column.
inline base::Status InColumn(const model::Relation& relation, const model::Column& column,
                             base::Status status) {
  if (status) [[likely]] {
    return status;
  }
  base::Error error = std::move(status).error();
  error.message = ColumnName(relation, column) + ": " + error.message;
  return base::Fail(std::move(error));
}

}  // namespace varve::types
