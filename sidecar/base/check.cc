// SPDX-License-Identifier: PostgreSQL
#include "sidecar/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace varve::base {

void CheckFailed(const char* expression, const char* file, int line) {
  std::fprintf(stderr, "varved: broken invariant at %s:%d: %s\n", file, line, expression);
  std::abort();
}

}  // namespace varve::base
