// SPDX-License-Identifier: PostgreSQL
#include "sidecar/base/bounded_queue.h"

#include <chrono>
#include <memory>
#include <thread>

#include "tests/support/catch.h"

namespace varve::base {

using std::chrono::milliseconds;

TEST_CASE("the queue refuses what exceeds its bytes, but never an item when it is empty") {
  BoundedQueue<std::unique_ptr<int>> queue(10);
  auto large = std::make_unique<int>(1);
  REQUIRE(queue.TryPush(&large, 100));
  auto small = std::make_unique<int>(2);
  REQUIRE_FALSE(queue.TryPush(&small, 1));
  REQUIRE(small != nullptr);
  REQUIRE(**queue.Pop(milliseconds(0)) == 1);
  REQUIRE(queue.TryPush(&small, 1));
}

TEST_CASE("a closed queue gives out what it holds and takes nothing more") {
  BoundedQueue<int> queue(10);
  int item = 7;
  REQUIRE(queue.TryPush(&item, 1));
  queue.Close();
  REQUIRE_FALSE(queue.TryPush(&item, 1));
  REQUIRE(queue.Pop(milliseconds(1000)) == 7);
  REQUIRE_FALSE(queue.Pop(milliseconds(1000)).has_value());
}

TEST_CASE("a waiting reader wakes for an item and for the close") {
  BoundedQueue<int> queue(10);
  std::thread writer([&] {
    int item = 3;
    queue.TryPush(&item, 1);
    queue.Close();
  });
  REQUIRE(queue.Pop(milliseconds(10'000)) == 3);
  REQUIRE_FALSE(queue.Pop(milliseconds(10'000)).has_value());
  writer.join();
}

}  // namespace varve::base
