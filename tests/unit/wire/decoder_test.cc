// SPDX-License-Identifier: PostgreSQL
#include "sidecar/wire/decoder.h"

#include <functional>
#include <random>

#include "tests/support/catch.h"
#include "tests/support/stream_builder.h"

namespace varve::wire {
namespace {

using stream::Op;
using test::KeyedImage;
using test::KeyedRelation;
using test::StreamBuilder;

constexpr SessionId kSession{1, 2};
constexpr uint32_t kBegin = static_cast<uint32_t>(stream::TransactionFlag::Begin);

// One table, two transactions: an insert and an update; a truncate.
StreamBuilder ValidBatch() {
  StreamBuilder builder;
  const model::Relation relation = KeyedRelation();
  builder.relations = {relation};
  builder.refs.emplace_back(relation.version.value, relation.oid.value, 0);
  builder.Add(Op::Insert, 0, 0, KeyedImage(relation, 1, "a"));
  builder.Add(Op::Update, 0, 1, KeyedImage(relation, 2, "b"), KeyedImage(relation, 1, ""));
  builder.Commit(0x100, 700);
  builder.Add(Op::Truncate, 0, 0);
  builder.Commit(0x200, 701);
  return builder;
}

std::string ErrorOf(const StreamBuilder& builder) {
  Decoder decoder(kSession);
  const auto batch = decoder.Decode(builder.Build());
  REQUIRE_FALSE(batch.has_value());
  REQUIRE(batch.error().code == base::ErrorCode::kInvalidArgument);
  return batch.error().message;
}

void RequireError(const std::function<void(StreamBuilder*)>& forge, const std::string& words) {
  StreamBuilder builder = ValidBatch();
  forge(&builder);
  const std::string message = ErrorOf(builder);
  INFO(message);
  REQUIRE(message.find(words) != std::string::npos);
}

}  // namespace

TEST_CASE("a valid batch is read whole") {
  Decoder decoder(kSession);
  const auto batch = decoder.Decode(ValidBatch().Build());
  REQUIRE(batch.has_value());
  REQUIRE(batch->handshake->encoding == "UTF8");
  REQUIRE(batch->relations.size() == 1);
  REQUIRE(*batch->relations[0] == KeyedRelation());
  REQUIRE(batch->pieces.size() == 2);
  REQUIRE(batch->pieces[0].end_lsn == base::Lsn{0x100});
  REQUIRE(batch->pieces[0].xid == 700);
  REQUIRE(batch->pieces[0].begin);
  REQUIRE(batch->pieces[0].commit);
  REQUIRE(batch->changes.size() == 3);
  REQUIRE(batch->changes[1].op == model::Op::kUpdate);
  REQUIRE(batch->changes[1].new_image == KeyedImage(KeyedRelation(), 2, "b"));
  REQUIRE(batch->changes[1].old_image == KeyedImage(KeyedRelation(), 1, ""));
  REQUIRE(batch->changes[2].op == model::Op::kTruncate);
  REQUIRE(batch->changes[2].relation->name == "t16385");
  REQUIRE_FALSE(decoder.transaction_open());
}

TEST_CASE("a message is read at any alignment") {
  const std::string message = ValidBatch().Build();
  for (size_t shift = 0; shift < 8; ++shift) {
    const std::string shifted = std::string(shift, 'x') + message;
    Decoder decoder(kSession);
    REQUIRE(decoder.Decode(std::string_view(shifted).substr(shift)).has_value());
  }
}

TEST_CASE("a relation is described once a session and a transaction may span batches") {
  const model::Relation relation = KeyedRelation();
  StreamBuilder first = ValidBatch();
  first.Add(Op::Insert, 0, 0, KeyedImage(relation, 5, "x"));
  first.Commit(0x300, 702).mutate_flags(kBegin);
  StreamBuilder second;
  second.sequence = 1;
  second.handshake = false;
  second.refs.emplace_back(relation.version.value, relation.oid.value, 0);
  second.Add(Op::Insert, 0, 1, KeyedImage(relation, 6, "y"));
  second.Commit(0x300, 702).mutate_flags(static_cast<uint32_t>(stream::TransactionFlag::Commit));

  Decoder decoder(kSession);
  REQUIRE(decoder.Decode(first.Build()).has_value());
  REQUIRE(decoder.transaction_open());
  SECTION("in order") {
    REQUIRE(decoder.Decode(second.Build()).has_value());
    REQUIRE_FALSE(decoder.transaction_open());
  }
  SECTION("with a change missing between") {
    second.changes[0].mutate_seq(2);
    REQUIRE_FALSE(decoder.Decode(second.Build()).has_value());
  }
  SECTION("with another transaction inside") {
    second.transactions[0].mutate_xid(703);
    REQUIRE_FALSE(decoder.Decode(second.Build()).has_value());
  }
  SECTION("with a beginning inside") {
    second.transactions[0].mutate_flags(kBegin);
    REQUIRE_FALSE(decoder.Decode(second.Build()).has_value());
  }
}

TEST_CASE("a gap, a repetition and a foreign session are each named") {
  RequireError([](StreamBuilder* b) { b->session_low = 3; }, "session");
  RequireError([](StreamBuilder* b) { b->sequence = 1; }, "sequence 1 where 0 was expected");
  Decoder decoder(kSession);
  REQUIRE(decoder.Decode(ValidBatch().Build()).has_value());
  StreamBuilder again = ValidBatch();
  REQUIRE_FALSE(decoder.Decode(again.Build()).has_value());
  again.sequence = 2;
  REQUIRE_FALSE(decoder.Decode(again.Build()).has_value());
}

TEST_CASE("forged structures are each named") {
  RequireError([](StreamBuilder* b) { b->changes[0].mutate_new_off(1'000'000); }, "heap");
  RequireError([](StreamBuilder* b) { b->changes[0].mutate_new_len(UINT32_MAX); }, "heap");
  RequireError([](StreamBuilder* b) { b->changes[0].mutate_relation(7); }, "relation index");
  RequireError([](StreamBuilder* b) { b->changes[0].mutate_op(99); }, "unknown kind");
  RequireError([](StreamBuilder* b) { b->changes[0].mutate_op(9); }, "not asked for");
  RequireError([](StreamBuilder* b) { b->transactions[0].mutate_flags(3 | 8); }, "not asked for (flags 11)");
  RequireError([](StreamBuilder* b) { b->transactions[0].mutate_flags(3 | 256); }, "not asked for");
  RequireError([](StreamBuilder* b) { b->changes[0].mutate_seq(4); }, "change 4");
  RequireError([](StreamBuilder* b) { b->changes[2] = stream::Change(3, 0, 0, 0, 0, 1, 0, 0); }, "truncate");
  RequireError([](StreamBuilder* b) { b->transactions[0].mutate_count(UINT32_MAX); }, "changes 0+");
  RequireError([](StreamBuilder* b) { b->transactions[0].mutate_count(1); }, "no transaction");
  RequireError([](StreamBuilder* b) { b->transactions[1].mutate_first_change(1); }, "no transaction");
  RequireError([](StreamBuilder* b) { b->transactions[1].mutate_position(0x100); },
               "not after the one before");
  RequireError([](StreamBuilder* b) { b->transactions[0].mutate_position(uint64_t{1} << 60); },
               "impossible LSN");
  RequireError([](StreamBuilder* b) { b->refs[0].mutate_version(5); }, "never described");
  RequireError([](StreamBuilder* b) { b->refs[0].mutate_oid(5); }, "never described");
  RequireError([](StreamBuilder* b) { b->relations[0].name = "other"; }, "hash of its contents");
  RequireError([](StreamBuilder* b) { b->relations[0].columns[1].attnum = 1; }, "attribute number");
  RequireError([](StreamBuilder* b) { b->handshake = false; }, "handshake");
}

TEST_CASE("an origin in the wrong place is refused") {
  const std::string wrong = "origin in the wrong place";
  RequireError([](StreamBuilder* b) { b->From(1, "far", 5).mutate_transaction(9); },
               "origin of transaction 9");
  RequireError([](StreamBuilder* b) { b->From(1, "far", 5).mutate_name_off(1'000'000); }, "heap");
  RequireError([](StreamBuilder* b) { b->From(1, "far", 5).mutate_name_len(UINT32_MAX); }, "heap");
  RequireError([](StreamBuilder* b) { b->From(0, "far", 5); }, wrong);
  RequireError(
      [](StreamBuilder* b) {
        b->From(1, "far", 5);
        b->From(2, "far", 5);
      },
      wrong);
  RequireError(
      [](StreamBuilder* b) {
        b->transactions.back().mutate_flags(1);
        b->From(1, "far", 5);
      },
      wrong);
}

TEST_CASE("every cut of a message is refused and every flipped bit is survived") {
  const std::string message = ValidBatch().Build();
  for (size_t length = 0; length < message.size(); ++length) {
    REQUIRE_FALSE(Decoder(kSession).Decode(std::string_view(message).substr(0, length)).has_value());
  }
  REQUIRE_FALSE(Decoder(kSession).Decode(message + "\n").has_value());
  for (size_t bit = 0; bit < 8 * message.size(); ++bit) {
    std::string flipped = message;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    const auto batch = Decoder(kSession).Decode(flipped);
    if (!batch) REQUIRE(batch.error().code == base::ErrorCode::kInvalidArgument);
  }
}

TEST_CASE("random bytes behind a true size prefix are refused") {
  const auto seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 5'000; ++round) {
    std::string message(4 + random() % 200, '\0');
    for (char& c : message) c = static_cast<char>(random());
    const auto size = static_cast<uint32_t>(message.size() - 4);
    for (int i = 0; i < 4; ++i) message[i] = static_cast<char>(size >> (8 * i));
    REQUIRE_FALSE(Decoder(kSession).Decode(message).has_value());
  }
}

}  // namespace varve::wire
