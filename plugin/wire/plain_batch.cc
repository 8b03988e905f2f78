// SPDX-License-Identifier: PostgreSQL
#include "plugin/wire/plain_batch.h"

#include <cstring>

#include "stream_generated.h"

namespace varve::wire {
namespace {

using Batch = stream::Batch;

// The size prefix, the place of the table, the file identifier; the vtable; the table. What has 8 bytes lies
// at a multiple of 8 from the size prefix on, as FlatBuffers itself aligns.
constexpr size_t kRootAt = 4;
constexpr size_t kIdentifierAt = 8;
constexpr size_t kVtableAt = 12;
constexpr size_t kVtableBytes = Batch::VT_HEAP + sizeof(uint16_t);
constexpr size_t kTableAt = kVtableAt + kVtableBytes;
constexpr size_t kRefsAt = kTableAt + sizeof(int32_t);
constexpr size_t kSequenceAt = kRefsAt + sizeof(uint32_t);
constexpr size_t kTransactionsAt = kSequenceAt + sizeof(uint64_t);
constexpr size_t kChangesAt = kTransactionsAt + sizeof(uint32_t);
constexpr size_t kHeapAt = kChangesAt + sizeof(uint32_t);
constexpr size_t kUnnamedEnd = kHeapAt + sizeof(uint32_t);
// The table of a session with an identifier is longer.
constexpr size_t kSessionAt = kUnnamedEnd + sizeof(uint32_t);
constexpr size_t kNamedEnd = kSessionAt + sizeof(stream::Session);

static_assert(kSequenceAt % alignof(uint64_t) == 0 && kSessionAt % alignof(uint64_t) == 0);
static_assert(sizeof(stream::Session) == 2 * sizeof(uint64_t));

bool HasSession(const VarveBatchParts& parts) { return parts.session_high != 0 || parts.session_low != 0; }

// The place of a vector's length such that its elements, behind it, are aligned; moves `end` behind them.
size_t Place(size_t count, size_t element_bytes, size_t alignment, size_t* end) {
  if (count == 0) return 0;
  const size_t elements = (*end + sizeof(uint32_t) + alignment - 1) / alignment * alignment;
  *end = elements + count * element_bytes;
  return elements - sizeof(uint32_t);
}

template <typename Value>
void Put(uint8_t* out, Value value) {
  std::memcpy(out, &value, sizeof(value));
}

void PutVtableEntry(uint8_t* out, size_t entry, size_t field_at) {
  Put(out + kVtableAt + entry, static_cast<uint16_t>(field_at == 0 ? 0 : field_at - kTableAt));
}

// A vector and, in the table, its offset. Nothing between `end` and the vector is left as it was in memory.
void PutVector(uint8_t* out, size_t entry, size_t field_at, size_t place, const void* elements, size_t count,
               size_t element_bytes, size_t* end) {
  PutVtableEntry(out, entry, place == 0 ? 0 : field_at);
  Put(out + field_at, static_cast<uint32_t>(place == 0 ? 0 : place - field_at));
  if (place == 0) return;
  std::memset(out + *end, 0, place - *end);
  Put(out + place, static_cast<uint32_t>(count));
  std::memcpy(out + place + sizeof(uint32_t), elements, count * element_bytes);
  *end = place + sizeof(uint32_t) + count * element_bytes;
}

}  // namespace

PlainBatch PlainBatch::Plan(const VarveBatchParts& parts) {
  PlainBatch plan;
  plan.table_end = HasSession(parts) ? kNamedEnd : kUnnamedEnd;
  size_t end = plan.table_end;
  plan.refs = Place(parts.ref_count, sizeof(VarveRelationRef), alignof(uint64_t), &end);
  plan.changes = Place(parts.change_count, sizeof(VarveChange), alignof(uint32_t), &end);
  plan.transactions = Place(parts.transaction_count, sizeof(VarveTransaction), alignof(uint64_t), &end);
  plan.heap = Place(parts.heap_length, 1, alignof(uint32_t), &end);
  plan.length = end;
  return plan;
}

void PlainBatch::Write(const VarveBatchParts& parts, uint8_t* out) const {
  Put(out, static_cast<uint32_t>(length - sizeof(uint32_t)));
  Put(out + kRootAt, static_cast<uint32_t>(kTableAt - kRootAt));
  std::memcpy(out + kIdentifierAt, stream::BatchIdentifier(), kVtableAt - kIdentifierAt);
  Put(out + kVtableAt, static_cast<uint16_t>(kVtableBytes));
  Put(out + kVtableAt + sizeof(uint16_t), static_cast<uint16_t>(table_end - kTableAt));
  Put(out + kTableAt, static_cast<int32_t>(kTableAt - kVtableAt));
  PutVtableEntry(out, Batch::VT_SESSION, HasSession(parts) ? kSessionAt : 0);
  if (HasSession(parts)) {
    std::memset(out + kUnnamedEnd, 0, kSessionAt - kUnnamedEnd);
    Put(out + kSessionAt, parts.session_high);
    Put(out + kSessionAt + sizeof(uint64_t), parts.session_low);
  }
  PutVtableEntry(out, Batch::VT_SEQUENCE, kSequenceAt);
  Put(out + kSequenceAt, parts.sequence);
  PutVtableEntry(out, Batch::VT_HANDSHAKE, 0);
  PutVtableEntry(out, Batch::VT_RELATIONS, 0);
  size_t end = table_end;
  PutVector(out, Batch::VT_REFS, kRefsAt, refs, parts.refs, parts.ref_count, sizeof(VarveRelationRef), &end);
  PutVector(out, Batch::VT_CHANGES, kChangesAt, changes, parts.changes, parts.change_count,
            sizeof(VarveChange), &end);
  PutVector(out, Batch::VT_TRANSACTIONS, kTransactionsAt, transactions, parts.transactions,
            parts.transaction_count, sizeof(VarveTransaction), &end);
  PutVector(out, Batch::VT_HEAP, kHeapAt, heap, parts.heap, parts.heap_length, 1, &end);
}

}  // namespace varve::wire
