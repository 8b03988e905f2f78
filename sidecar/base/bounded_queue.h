// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>
#include <utility>

#include "sidecar/base/mutex.h"

namespace varve::base {

// A queue bounded by the bytes of what it holds; one item may exceed the bound when the queue is empty, so
// that no item is too large to pass. Thread-safe. After Close nothing more goes in, what is inside still
// comes out.
template <typename T>
class BoundedQueue {
 public:
  explicit BoundedQueue(size_t bytes_max) : bytes_max_(bytes_max) {}

  // False when there is no room or the queue is closed; then `item` is untouched.
  bool TryPush(T* item, size_t bytes) EXCLUDES(mutex_) {
    MutexLock lock(&mutex_);
    if (closed_ || (!items_.empty() && bytes_ + bytes > bytes_max_)) return false;
    bytes_ += bytes;
    items_.emplace_back(std::move(*item), bytes);
    not_empty_.NotifyOne();
    return true;
  }

  // Waits up to `timeout`; nothing when it passed or the queue is closed and empty.
  std::optional<T> Pop(std::chrono::milliseconds timeout) EXCLUDES(mutex_) {
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    MutexLock lock(&mutex_);
    while (items_.empty()) {
      if (closed_ || !not_empty_.WaitUntil(&mutex_, deadline)) {
        if (items_.empty()) return std::nullopt;
      }
    }
    std::optional<T> item(std::move(items_.front().first));
    bytes_ -= items_.front().second;
    items_.pop_front();
    return item;
  }

  void Close() EXCLUDES(mutex_) {
    MutexLock lock(&mutex_);
    closed_ = true;
    not_empty_.NotifyAll();
  }

  bool closed() const EXCLUDES(mutex_) {
    MutexLock lock(&mutex_);
    return closed_;
  }
  bool empty() const EXCLUDES(mutex_) {
    MutexLock lock(&mutex_);
    return items_.empty();
  }

 private:
  const size_t bytes_max_;
  mutable Mutex mutex_;
  CondVar not_empty_;
  std::deque<std::pair<T, size_t>> items_ GUARDED_BY(mutex_);
  size_t bytes_ GUARDED_BY(mutex_) = 0;
  bool closed_ GUARDED_BY(mutex_) = false;
};

}  // namespace varve::base
