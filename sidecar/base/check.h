// SPDX-License-Identifier: PostgreSQL
#pragma once

namespace varve::base {

// Prints the broken invariant and its place to stderr and aborts.
[[noreturn]] void CheckFailed(const char* expression, const char* file, int line);

}  // namespace varve::base

// For invariants of our own code, on in release builds. Input is never CHECKed: it gets an Error.
#define CHECK(condition)                                          \
  do {                                                            \
    if (!(condition)) [[unlikely]] {                              \
      ::varve::base::CheckFailed(#condition, __FILE__, __LINE__); \
    }                                                             \
  } while (false)
