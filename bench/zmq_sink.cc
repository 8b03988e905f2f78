// SPDX-License-Identifier: PostgreSQL
// Usage: zmq_sink DSN SLOT PUBLICATION SOCKET UNTIL
//
// Drains a slot with transport=zmq and counts: the cheapest reader there is. Binds a PULL socket at the path
// SOCKET, which must be that of the server's varve.ingest_endpoint, starts replication, and ends when it has
// all up to the position UNTIL. Confirms nothing, so that the slot can be drained again. Prints one JSON
// object: batches, bytes, transactions, changes, seconds (from the start of replication).
#include <libpq-fe.h>
#include <sys/stat.h>
#include <zmq.h>

#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "plugin/wire/wire.h"
#include "stream_generated.h"

namespace {

constexpr char kSession[] = "0123456789abcdef0123456789abcdef";

[[noreturn]] void Die(const std::string& what) {
  std::fprintf(stderr, "zmq_sink: %s\n", what.c_str());
  std::exit(1);
}

uint64_t BigEndian64(const char* bytes) {
  uint64_t value = 0;
  for (int i = 0; i < 8; ++i) value = value << 8 | static_cast<uint8_t>(bytes[i]);
  return value;
}

struct Counts {
  uint64_t batches = 0, bytes = 0, transactions = 0, changes = 0;
  uint64_t announced = 0;
  uint64_t position = 0;   // of the newest commit
  uint64_t keepalive = 0;  // the newest whose announced batches have all arrived
};

class Sink {
 public:
  Sink(const std::string& dsn, const std::string& path) {
    zmq_ = zmq_ctx_new();
    socket_ = zmq_socket(zmq_, ZMQ_PULL);
    if (zmq_bind(socket_, ("ipc://" + path).c_str()) != 0) Die("cannot bind " + path);
    // The server runs as another user, perhaps.
    if (chmod(path.c_str(), 0666) != 0) Die("cannot chmod " + path);
    connection_ = PQconnectdb((dsn + " replication=database").c_str());
    if (PQstatus(connection_) != CONNECTION_OK) Die(PQerrorMessage(connection_));
  }

  void Start(const std::string& slot, const std::string& publication) {
    const std::string command = "START_REPLICATION SLOT \"" + slot + "\" LOGICAL 0/0 (publication_names '\"" +
                                publication + "\"', transport 'zmq', session '" + kSession + "')";
    PGresult* result = PQexec(connection_, command.c_str());
    if (PQresultStatus(result) != PGRES_COPY_BOTH) Die(PQerrorMessage(connection_));
    PQclear(result);
  }

  void RunUntil(uint64_t until) {
    auto last_status = std::chrono::steady_clock::now();
    while (counts.position < until && counts.keepalive < until) {
      ReadBatches();
      ReadCopy();
      const auto now = std::chrono::steady_clock::now();
      if (now - last_status > std::chrono::seconds(1)) {
        SendStatus();
        last_status = now;
      }
      Wait();
    }
  }

  Counts counts;

 private:
  void ReadBatches() {
    for (;;) {
      zmq_msg_t message;
      zmq_msg_init(&message);
      const int length = zmq_msg_recv(&message, socket_, ZMQ_DONTWAIT);
      if (length < 0) return;
      aligned_.resize(static_cast<size_t>(length) / sizeof(uint64_t) + 1);
      std::memcpy(aligned_.data(), zmq_msg_data(&message), static_cast<size_t>(length));
      zmq_msg_close(&message);
      Count(static_cast<size_t>(length));
    }
  }

  void Count(size_t length) {
    const auto* batch = flatbuffers::GetSizePrefixedRoot<varve::stream::Batch>(aligned_.data());
    if (batch->sequence() != counts.batches) Die("a batch is missing");
    ++counts.batches;
    counts.bytes += length;
    if (batch->changes() != nullptr) counts.changes += batch->changes()->size();
    if (batch->transactions() == nullptr) return;
    for (const auto* transaction : *batch->transactions()) {
      if ((transaction->flags() & VARVE_TRANSACTION_COMMIT) == 0) continue;
      ++counts.transactions;
      counts.position = transaction->position();
    }
  }

  void ReadCopy() {
    PQconsumeInput(connection_);
    char* bytes = nullptr;
    int length = 0;
    while ((length = PQgetCopyData(connection_, &bytes, 1)) > 0) {
      constexpr int kHeader = 25;
      constexpr int kMarker = 28;
      if (bytes[0] == 'w' && length == kHeader + kMarker &&
          std::memcmp(bytes + kHeader, VARVE_MARKER_MAGIC, 4) == 0) {
        counts.announced = BigEndian64(bytes + kHeader + 20);
      } else if (bytes[0] == 'k') {
        if (counts.announced == counts.batches) counts.keepalive = BigEndian64(bytes + 1);
        if (bytes[17] != 0) SendStatus();
      }
      PQfreemem(bytes);
    }
    if (length < -1) Die(PQerrorMessage(connection_));
    if (length == -1) Die("the server ended the stream: " + std::string(PQerrorMessage(connection_)));
  }

  void SendStatus() {
    char message[34] = {'r'};
    PQputCopyData(connection_, message, sizeof(message));
    PQflush(connection_);
  }

  void Wait() {
    zmq_pollitem_t items[2] = {{socket_, 0, ZMQ_POLLIN, 0}, {nullptr, PQsocket(connection_), ZMQ_POLLIN, 0}};
    zmq_poll(items, 2, 200);
  }

  void* zmq_ = nullptr;
  void* socket_ = nullptr;
  PGconn* connection_ = nullptr;
  std::vector<uint64_t> aligned_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) Die("usage: zmq_sink DSN SLOT PUBLICATION SOCKET UNTIL");
  uint32_t high = 0;
  uint32_t low = 0;
  if (std::sscanf(argv[5], "%" SCNx32 "/%" SCNx32, &high, &low) != 2) Die("UNTIL is not a position");
  Sink sink(argv[1], argv[4]);
  const auto start = std::chrono::steady_clock::now();
  sink.Start(argv[2], argv[3]);
  sink.RunUntil(uint64_t{high} << 32 | low);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  std::printf("{\"batches\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"transactions\": %" PRIu64
              ", \"changes\": %" PRIu64 ", \"seconds\": %.6f}\n",
              sink.counts.batches, sink.counts.bytes, sink.counts.transactions, sink.counts.changes,
              took.count());
  std::fflush(stdout);
  std::_Exit(0);
}
