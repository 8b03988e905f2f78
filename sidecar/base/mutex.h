// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#if defined(__clang__)
#define VARVE_ATTRIBUTE(x) __attribute__((x))
#else
#define VARVE_ATTRIBUTE(x)
#endif

#define CAPABILITY(x) VARVE_ATTRIBUTE(capability(x))
#define SCOPED_CAPABILITY VARVE_ATTRIBUTE(scoped_lockable)
#define GUARDED_BY(x) VARVE_ATTRIBUTE(guarded_by(x))
#define REQUIRES(...) VARVE_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define ACQUIRE(...) VARVE_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define RELEASE(...) VARVE_ATTRIBUTE(release_capability(__VA_ARGS__))
#define EXCLUDES(...) VARVE_ATTRIBUTE(locks_excluded(__VA_ARGS__))
#define NO_THREAD_SAFETY_ANALYSIS VARVE_ATTRIBUTE(no_thread_safety_analysis)

namespace varve::base {

// A std::mutex that clang's -Wthread-safety can check.
class CAPABILITY("mutex") Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void Lock() ACQUIRE() { mutex_.lock(); }
  void Unlock() RELEASE() { mutex_.unlock(); }

 private:
  friend class CondVar;
  std::mutex mutex_;
};

class SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex* mutex) ACQUIRE(mutex) : mutex_(mutex) { mutex_->Lock(); }
  ~MutexLock() RELEASE() { mutex_->Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex* mutex_;
};

class CondVar {
 public:
  void Wait(Mutex* mutex) REQUIRES(mutex) NO_THREAD_SAFETY_ANALYSIS {
    std::unique_lock<std::mutex> lock(mutex->mutex_, std::adopt_lock);
    condition_.wait(lock);
    lock.release();
  }
  // False when the deadline passed first.
  bool WaitUntil(Mutex* mutex, std::chrono::steady_clock::time_point deadline)
      REQUIRES(mutex) NO_THREAD_SAFETY_ANALYSIS {
    std::unique_lock<std::mutex> lock(mutex->mutex_, std::adopt_lock);
    const bool woken = condition_.wait_until(lock, deadline) == std::cv_status::no_timeout;
    lock.release();
    return woken;
  }
  void NotifyOne() { condition_.notify_one(); }
  void NotifyAll() { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

}  // namespace varve::base
