// SPDX-License-Identifier: PostgreSQL
#include "sidecar/model/change.h"

#include "sidecar/base/check.h"

namespace varve::model {

std::string_view OpName(Op op) {
  switch (op) {
    case Op::kInsert: return "insert";
    case Op::kUpdate: return "update";
    case Op::kDelete: return "delete";
    case Op::kTruncate: return "truncate";
    case Op::kMessage: return "message";
    case Op::kRelation: return "relation";
    case Op::kDrop: return "drop";
    case Op::kUntrack: return "untrack";
    case Op::kRewrite: return "rewrite";
    case Op::kGid: return "gid";
    case Op::kRewriteRow: return "rewrite_row";
  }
  CHECK(false);
}

}  // namespace varve::model
