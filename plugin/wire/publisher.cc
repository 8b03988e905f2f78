// SPDX-License-Identifier: PostgreSQL
#include "plugin/wire/publisher.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <zmq.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <new>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;
using std::chrono::milliseconds;

// Messages that ZeroMQ holds beside those in the bodies, and that the reader may have unread.
constexpr int kSendHighWaterMark = 8;
// Those of ZeroMQ's context, I/O thread and socket, with some to spare.
constexpr int kDescriptorsNeeded = 32;
constexpr int kBlockedPollMs = 50;
constexpr int kProbeEveryMs = 1000;
constexpr int kReconnectMs = 20;
constexpr int kReconnectMaxMs = 1000;

// Of the newest batch.
enum class State : int {
  kNone,     // closed
  kIdle,     // open, between transactions
  kBusy,     // open, in the hands of the walsender
  kClosing,  // for an instant: the thread closes it
};

// What the thread wants to be woken for.
enum class WakeOn : int { kNothing, kClose, kAnything };

class EventFd {
 public:
  EventFd() : fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}
  ~EventFd() {
    if (fd_ >= 0) close(fd_);
  }
  EventFd(const EventFd&) = delete;
  EventFd& operator=(const EventFd&) = delete;
  int get() const { return fd_; }
  void Set() const {
    const uint64_t one = 1;
    (void)!write(fd_, &one, sizeof(one));
  }
  void Wait(int timeout_ms) const {
    pollfd entry{fd_, POLLIN, 0};
    if (poll(&entry, 1, timeout_ms) <= 0) return;
    uint64_t count = 0;
    (void)!read(fd_, &count, sizeof(count));
  }
  void Wait(microseconds timeout) const {
    const timespec time{timeout.count() / 1'000'000, timeout.count() % 1'000'000 * 1000};
    pollfd entry{fd_, POLLIN, 0};
    if (ppoll(&entry, 1, &time, nullptr) <= 0) return;
    uint64_t count = 0;
    (void)!read(fd_, &count, sizeof(count));
  }

 private:
  int fd_;
};

bool HasDescriptors(int count) {
  std::vector<int> taken;
  taken.reserve(static_cast<size_t>(count));
  while (static_cast<int>(taken.size()) < count) {
    const int fd = eventfd(0, EFD_CLOEXEC);
    if (fd < 0) break;
    taken.push_back(fd);
  }
  for (const int fd : taken) close(fd);
  return static_cast<int>(taken.size()) == count;
}

// ZeroMQ does not say why it gets no connection. 0 when one would be accepted.
int ProbeErrno(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) return ENAMETOOLONG;
  std::memcpy(address.sun_path, path.data(), path.size());
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return errno;
  int error = 0;
  // A full backlog (EAGAIN) is that of a reader who is there.
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 && errno != EAGAIN) {
    error = errno;
  }
  close(fd);
  return error;
}

}  // namespace

// Threads: the walsender's (every function of the header) and the publisher's own (Run and what it calls).
// They meet in the atomics; a body changes hands with `state` (release, acquire) or `closed`.
struct VarvePublisher {
  explicit VarvePublisher(const VarvePublisherOptions& given)
      : options(given), path(given.path), bodies(given.bodies, given.bodies + given.body_count) {}

  void Run();
  void RunSocket(void* socket);
  void WaitForMore();
  bool Send(void* socket, uint64_t number);
  bool SendMessage(void* socket, zmq_msg_t* message);
  bool WaitForReader(void* socket, Clock::time_point since, Clock::time_point* probed);
  void CloseIdle();
  void Fail(VarvePublisherStatus why, int error_number);
  void WakeThread(WakeOn reason);
  void WakeWalsender();

  const VarvePublisherOptions options;
  const std::string path;
  const std::vector<VarvePublisherBody> bodies;
  EventFd wake;
  EventFd room;
  pthread_t thread{};

  std::atomic<State> state{State::kNone};
  std::atomic<bool> close_wanted{false};
  std::atomic<WakeOn> wake_on{WakeOn::kNothing};
  std::atomic<uint64_t> closed{0};
  std::atomic<uint64_t> sent{0};
  std::atomic<uint64_t> bytes_closed{0};  // the walsender's estimates, in sum
  std::atomic<uint64_t> bytes_sent{0};    // up to the last batch that was sent
  std::atomic<uint64_t> bytes_open{0};
  std::atomic<bool> walsender_waits{false};
  std::atomic<bool> stop{false};
  std::atomic<VarvePublisherStatus> status{VARVE_PUBLISHER_OK};
  std::atomic<int> error_number{0};
};

void VarvePublisher::Fail(VarvePublisherStatus why, int error) {
  error_number = error;
  status = why;
  WakeWalsender();
}

void VarvePublisher::WakeThread(WakeOn reason) {
  const WakeOn wanted = wake_on.load();
  if (wanted == WakeOn::kNothing || (wanted == WakeOn::kClose && reason != WakeOn::kClose)) return;
  wake_on = WakeOn::kNothing;
  wake.Set();
}

void VarvePublisher::WakeWalsender() {
  if (walsender_waits.exchange(false)) room.Set();
}

void VarvePublisher::CloseIdle() {
  State idle = State::kIdle;
  if (!state.compare_exchange_strong(idle, State::kClosing)) {
    // The walsender has it; it closes it where it lets go.
    close_wanted = true;
    return;
  }
  bytes_closed += bytes_open.load();
  closed.fetch_add(1);
  state = State::kNone;
}

// Returns when a batch may have been closed.
void VarvePublisher::WaitForMore() {
  const uint64_t number = closed;
  if (state == State::kNone) {
    wake_on = WakeOn::kAnything;
    // Asked for first: what is published from here on wakes.
    if (closed == number && state == State::kNone && !stop) wake.Wait(-1);
    wake_on = WakeOn::kNothing;
    return;
  }
  wake_on = WakeOn::kClose;
  if (closed == number && !stop) wake.Wait(microseconds(options.coalesce_us));
  wake_on = WakeOn::kNothing;
  if (closed == number) CloseIdle();
}

// Nothing can be sent at the moment. False when that will not change.
bool VarvePublisher::WaitForReader(void* socket, Clock::time_point since, Clock::time_point* probed) {
  zmq_pollitem_t items[2] = {{socket, 0, ZMQ_POLLOUT, 0}, {nullptr, wake.get(), ZMQ_POLLIN, 0}};
  wake_on = WakeOn::kNothing;
  if (zmq_poll(items, 2, kBlockedPollMs) < 0 && zmq_errno() != EINTR) {
    Fail(VARVE_PUBLISHER_BROKEN, zmq_errno());
    return false;
  }
  if (items[1].revents != 0) wake.Wait(0);
  const auto now = Clock::now();
  if (now - since < milliseconds(options.unreachable_ms) || now - *probed < milliseconds(kProbeEveryMs)) {
    return true;
  }
  *probed = now;
  const int error = ProbeErrno(path);
  if (error != 0) Fail(VARVE_PUBLISHER_UNREACHABLE, error);
  return error == 0;
}

bool VarvePublisher::SendMessage(void* socket, zmq_msg_t* message) {
  const auto since = Clock::now();
  auto probed = since;
  while (zmq_msg_send(message, socket, ZMQ_DONTWAIT) < 0) {
    if (zmq_errno() == EINTR) continue;
    if (zmq_errno() != EAGAIN) {
      Fail(VARVE_PUBLISHER_BROKEN, zmq_errno());
      return false;
    }
    if (!WaitForReader(socket, since, &probed) || stop) return false;
  }
  return true;
}

bool VarvePublisher::Send(void* socket, uint64_t number) {
  const VarvePublisherBody& body = bodies[number % bodies.size()];
  size_t length = 0;
  const VarveWireStatus built = varve_wire_finish(body.wire, body.parts, &length);
  zmq_msg_t message;
  if (built == VARVE_WIRE_TOO_LARGE) {
    Fail(VARVE_PUBLISHER_TOO_LARGE, 0);
    return false;
  }
  if (built != VARVE_WIRE_OK || zmq_msg_init_size(&message, length) != 0) {
    Fail(VARVE_PUBLISHER_OUT_OF_MEMORY, 0);
    return false;
  }
  varve_wire_write(body.wire, body.parts, zmq_msg_data(&message));
  if (!SendMessage(socket, &message)) {
    zmq_msg_close(&message);
    return false;
  }
  if (number + 1 == closed) bytes_sent = bytes_closed.load();
  sent = number + 1;
  WakeWalsender();
  return true;
}

void VarvePublisher::RunSocket(void* socket) {
  const int linger = 0;
  const int high_water_mark = kSendHighWaterMark;
  const int immediate = 1;  // no queue for a reader who is not there
  zmq_setsockopt(socket, ZMQ_LINGER, &linger, sizeof(linger));
  zmq_setsockopt(socket, ZMQ_SNDHWM, &high_water_mark, sizeof(high_water_mark));
  zmq_setsockopt(socket, ZMQ_IMMEDIATE, &immediate, sizeof(immediate));
  zmq_setsockopt(socket, ZMQ_RECONNECT_IVL, &kReconnectMs, sizeof(kReconnectMs));
  zmq_setsockopt(socket, ZMQ_RECONNECT_IVL_MAX, &kReconnectMaxMs, sizeof(kReconnectMaxMs));
  if (zmq_connect(socket, ("ipc://" + path).c_str()) != 0) return Fail(VARVE_PUBLISHER_BROKEN, zmq_errno());
  while (!stop) {
    if (sent < closed) {
      if (!Send(socket, sent)) return;
    } else {
      WaitForMore();
    }
  }
}

void VarvePublisher::Run() {
  void* context = zmq_ctx_new();
  void* socket = context == nullptr ? nullptr : zmq_socket(context, ZMQ_PUSH);
  if (socket == nullptr) {
    Fail(VARVE_PUBLISHER_BROKEN, zmq_errno());
  } else {
    RunSocket(socket);
    zmq_close(socket);
  }
  if (context != nullptr) zmq_ctx_term(context);
}

VarvePublisherStatus varve_publisher_start(const VarvePublisherOptions* options,
                                           VarvePublisher** publisher) noexcept try {
  if (!HasDescriptors(kDescriptorsNeeded)) return VARVE_PUBLISHER_NO_DESCRIPTORS;
  auto* made = new VarvePublisher(*options);
  if (made->wake.get() < 0 || made->room.get() < 0) {
    delete made;
    return VARVE_PUBLISHER_NO_DESCRIPTORS;
  }
  // A signal of the server's must run in the server's thread; the new ones inherit the mask.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int failed = pthread_create(
      &made->thread, nullptr,
      [](void* argument) -> void* {
        static_cast<VarvePublisher*>(argument)->Run();
        return nullptr;
      },
      made);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (failed != 0) {
    delete made;
    return VARVE_PUBLISHER_NO_THREAD;
  }
  *publisher = made;
  return VARVE_PUBLISHER_OK;
} catch (...) {
  return VARVE_PUBLISHER_OUT_OF_MEMORY;
}

bool varve_publisher_stop(VarvePublisher* publisher, uint32_t timeout_ms) noexcept {
  publisher->stop = true;
  publisher->wake.Set();
  timespec until{};
  clock_gettime(CLOCK_REALTIME, &until);
  const int64_t nanoseconds = until.tv_nsec + int64_t{timeout_ms} * 1'000'000;
  until.tv_sec += nanoseconds / 1'000'000'000;
  until.tv_nsec = nanoseconds % 1'000'000'000;
  if (pthread_timedjoin_np(publisher->thread, nullptr, &until) != 0) return false;
  delete publisher;
  return true;
}

VarvePublisherStatus varve_publisher_status(const VarvePublisher* publisher, int* error_number) noexcept {
  const VarvePublisherStatus status = publisher->status;
  *error_number = publisher->error_number;
  return status;
}

bool varve_publisher_has_room(VarvePublisher* publisher) noexcept {
  const auto has_room = [publisher] {
    return publisher->closed - publisher->sent < publisher->bodies.size() &&
           publisher->bytes_closed - publisher->bytes_sent < publisher->options.queue_bytes;
  };
  if (has_room()) return true;
  publisher->walsender_waits = true;
  return has_room();
}

int varve_publisher_room_fd(const VarvePublisher* publisher) noexcept { return publisher->room.get(); }

uint64_t varve_publisher_next(const VarvePublisher* publisher) noexcept { return publisher->closed; }

void varve_publisher_open(VarvePublisher* publisher) noexcept {
  publisher->close_wanted = false;
  publisher->bytes_open = 0;
  publisher->state.store(State::kBusy, std::memory_order_release);
}

bool varve_publisher_enter(VarvePublisher* publisher) noexcept {
  for (;;) {
    State idle = State::kIdle;
    if (publisher->state.compare_exchange_weak(idle, State::kBusy)) return true;
    if (idle == State::kNone) return false;
  }
}

bool varve_publisher_leave(VarvePublisher* publisher, bool close, uint64_t bytes) noexcept {
  publisher->bytes_open.store(bytes, std::memory_order_relaxed);
  if (!close && !publisher->close_wanted.load(std::memory_order_relaxed)) {
    publisher->state = State::kIdle;
    publisher->WakeThread(WakeOn::kAnything);
    return false;
  }
  publisher->bytes_closed += bytes;
  publisher->closed.fetch_add(1);
  publisher->state = State::kNone;
  publisher->WakeThread(WakeOn::kClose);
  return true;
}
