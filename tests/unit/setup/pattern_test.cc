// SPDX-License-Identifier: PostgreSQL
#include "sidecar/setup/pattern.h"

#include "tests/support/catch.h"

namespace varve::setup {
namespace {

TEST_CASE("a pattern fits the whole text") {
  CHECK(FitsPattern("users", "users"));
  CHECK_FALSE(FitsPattern("users", "users2"));
  CHECK_FALSE(FitsPattern("users", "user"));
  CHECK(FitsPattern("u*s", "users"));
  CHECK(FitsPattern("u*s", "us"));
  CHECK_FALSE(FitsPattern("u*s", "user"));
  CHECK(FitsPattern("?sers", "users"));
  CHECK_FALSE(FitsPattern("?", ""));
  CHECK(FitsPattern("*", ""));
  CHECK(FitsPattern("", ""));
  CHECK(FitsPattern("a*b*c", "aXbYbZc"));
  CHECK_FALSE(FitsPattern("a*b*c", "aXbYbZ"));
}

TEST_CASE("a name without a schema means public") {
  CHECK(FitsTablePattern("orders", "public", "orders"));
  CHECK_FALSE(FitsTablePattern("orders", "shop", "orders"));
  CHECK(FitsTablePattern("shop.ord*", "shop", "orders"));
  CHECK(FitsTablePattern("*.*", "shop", "orders"));
  CHECK_FALSE(FitsTablePattern("shop.*", "public", "orders"));
}

}  // namespace
}  // namespace varve::setup
