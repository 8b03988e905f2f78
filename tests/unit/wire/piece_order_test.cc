// SPDX-License-Identifier: PostgreSQL
#include "sidecar/wire/piece_order.h"

#include <functional>
#include <string>

#include "sidecar/wire/decoder.h"
#include "tests/support/catch.h"
#include "tests/support/stream_builder.h"

namespace varve::wire {
namespace {

using model::Staged;
using stream::Op;
using test::StreamBuilder;

constexpr SessionId kSession{1, 2};
constexpr uint16_t kNoRelation = 65535;
constexpr uint32_t kBegin = 1;
constexpr uint32_t kCommit = 2;
constexpr uint32_t kStreamed = 8;
constexpr uint32_t kAbort = 16;
constexpr uint32_t kPrepared = 32;
constexpr uint32_t kCommitPrepared = 64;
constexpr uint32_t kRollbackPrepared = 128;
constexpr uint32_t kXid = 700;
constexpr uint32_t kSubxid = 701;
constexpr uint32_t kOther = 710;

// Pieces of messages and identifiers: what they carry does not matter to their order.
struct Pieces {
  StreamBuilder builder;

  // FlatBuffers does not align what is empty.
  Pieces() { builder.refs.emplace_back(0, 0, 0); }

  Pieces& Add(uint32_t flags, uint64_t position, uint32_t xid, std::initializer_list<uint32_t> seqs = {}) {
    const auto first = static_cast<uint32_t>(builder.changes.size());
    for (const uint32_t seq : seqs) builder.Add(Op::Message, kNoRelation, seq, "content", "prefix");
    builder.transactions.emplace_back(position, 0, xid, first, static_cast<uint32_t>(seqs.size()), flags);
    return *this;
  }
  // The last change of the last piece.
  Pieces& Gid(uint32_t seq, std::string_view gid = "gid") {
    builder.Add(Op::Gid, kNoRelation, seq, gid);
    stream::Transaction& piece = builder.transactions.back();
    piece.mutate_count(piece.count() + 1);
    return *this;
  }
  Pieces& Streamed(uint32_t subxid, std::initializer_list<uint32_t> seqs, uint32_t xid = kXid) {
    return Add(kStreamed | (seqs.begin() != seqs.end() && *seqs.begin() == 0 ? kBegin : 0), subxid, xid,
               seqs);
  }
};

base::Result<model::Batch> Decode(const Pieces& pieces) {
  return Decoder(kSession, true).Decode(pieces.builder.Build());
}

void RequireGood(const Pieces& pieces) {
  const auto batch = Decode(pieces);
  INFO((batch ? std::string() : batch.error().message));
  REQUIRE(batch.has_value());
  REQUIRE_FALSE(Decoder(kSession).Decode(pieces.builder.Build()).has_value());
}

void RequireError(const Pieces& pieces, const std::string& words) {
  const auto batch = Decode(pieces);
  REQUIRE_FALSE(batch.has_value());
  INFO(batch.error().message);
  REQUIRE(batch.error().code == base::ErrorCode::kInvalidArgument);
  REQUIRE(batch.error().message.find(words) != std::string::npos);
}

}  // namespace

TEST_CASE("streamed transactions interleave, roll back in part, and commit") {
  Pieces pieces;
  pieces.Streamed(kXid, {0, 1}).Streamed(kSubxid, {2}).Streamed(kOther, {0}, kOther).Streamed(kXid, {3});
  pieces.Add(kBegin | kCommit, 0x100, 705, {0});
  pieces.Add(kStreamed | kAbort, kSubxid, kXid).Streamed(702, {4});
  pieces.Add(kStreamed | kCommit, 0x200, kXid).Add(kStreamed | kAbort, kOther, kOther);
  RequireGood(pieces);
  const auto batch = Decode(pieces);
  REQUIRE(batch->pieces.size() == 9);
  REQUIRE(batch->pieces[1].staged == Staged::kStreamed);
  REQUIRE(batch->pieces[1].xid == kXid);
  REQUIRE(batch->pieces[1].subxid == kSubxid);
  REQUIRE(batch->pieces[1].end_lsn == base::Lsn{});
  REQUIRE(batch->pieces[4].staged == Staged::kNone);
  REQUIRE(batch->pieces[4].subxid == 705);
  REQUIRE(batch->pieces[5].staged == Staged::kStreamAbort);
  REQUIRE(batch->pieces[5].subxid == kSubxid);
  REQUIRE(batch->pieces[7].staged == Staged::kStreamCommit);
  REQUIRE(batch->pieces[7].end_lsn == base::Lsn{0x200});
  REQUIRE(batch->pieces[8].subxid == kOther);
}

TEST_CASE("an xid can be streamed again when it is over") {
  RequireGood(Pieces().Streamed(kXid, {0}).Add(kStreamed | kAbort, kXid, kXid).Streamed(kXid, {0}));
}

TEST_CASE("prepared transactions are named, and may lie before what has committed") {
  Pieces pieces;
  pieces.Add(kBegin | kCommit, 0x200, 705, {0});
  pieces.Add(kBegin | kPrepared, 0x100, kXid, {0, 1}).Add(kCommit | kPrepared, 0x100, kXid, {2}).Gid(3);
  pieces.Add(kBegin | kCommit | kPrepared, 0x90, kOther).Gid(0, std::string(199, 'g'));
  pieces.Add(kBegin | kCommit | kCommitPrepared, 0x300, kXid).Gid(0);
  pieces.Add(kBegin | kCommit | kRollbackPrepared, 0x400, kOther).Gid(0, "");
  pieces.Streamed(kXid, {0}).Add(kStreamed | kPrepared | kCommit, 0x80, kXid).Gid(1);
  RequireGood(pieces);
  const auto batch = Decode(pieces);
  REQUIRE(batch->pieces[1].staged == Staged::kPrepared);
  REQUIRE(batch->pieces[4].staged == Staged::kCommitPrepared);
  REQUIRE(batch->pieces[5].staged == Staged::kRollbackPrepared);
  REQUIRE(batch->pieces[7].staged == Staged::kStreamPrepare);
  REQUIRE(batch->changes.back().op == model::Op::kGid);
  REQUIRE(batch->changes.back().new_image == "gid");
}

TEST_CASE("faults of streamed pieces are each named") {
  const auto begun = [] { return Pieces().Streamed(kXid, {0}); };
  RequireError(Pieces().Streamed(kXid, {1}), "without its beginning");
  RequireError(begun().Streamed(kXid, {0}), "begins again");
  RequireError(begun().Streamed(kXid, {2}), "where 1 was expected");
  RequireError(begun().Add(kStreamed, kXid, kXid), "a block without changes");
  RequireError(begun().Add(kStreamed, kXid, kXid, {1}).Gid(2), "an identifier in the middle");
  RequireError(begun().Add(kStreamed, 0, kXid, {1}), "impossible subtransaction");
  RequireError(begun().Add(kStreamed, uint64_t{1} << 32, kXid, {1}), "impossible subtransaction");
  RequireError(Pieces().Add(kStreamed | kAbort, kXid, kXid), "never began");
  RequireError(Pieces().Add(kStreamed | kCommit, 0x100, kXid), "never began");
  RequireError(begun().Add(kStreamed | kAbort, kSubxid, kXid), "nothing is left");
  RequireError(begun().Add(kStreamed | kAbort, kXid, kXid).Add(kStreamed | kAbort, kXid, kXid),
               "never began");
  RequireError(begun().Add(kStreamed | kAbort, kXid, kXid, {1}), "1 changes in the end");
  RequireError(begun().Add(kStreamed | kCommit, 0x100, kXid, {1}), "1 changes in the end");
  RequireError(begun().Add(kStreamed | kCommit, 0x100, kXid).Streamed(kXid, {1}), "without its beginning");
  RequireError(begun().Add(kBegin | kCommit, 0x100, 705, {0}).Add(kStreamed | kCommit, 0x100, kXid),
               "not after the one before");
  RequireError(begun().Add(kBegin, 0x100, 705, {0}).Streamed(kXid, {1}), "is open");
  RequireError(begun().Streamed(kSubxid, {1}).Add(kStreamed | kAbort, kSubxid, kXid).Streamed(kSubxid, {2}),
               "which rolled back");
  RequireError(begun()
                   .Streamed(kSubxid, {1})
                   .Add(kStreamed | kAbort, kSubxid, kXid)
                   .Add(kStreamed | kAbort, kSubxid, kXid),
               "nothing is left");
  RequireError(begun().Add(kStreamed | kPrepared | kCommit, 0x100, kXid), "without an identifier");
}

TEST_CASE("faults of prepared pieces are each named") {
  RequireError(Pieces().Add(kBegin | kCommit | kPrepared, 0x100, kXid, {0}), "without an identifier");
  RequireError(Pieces().Add(kBegin | kPrepared, 0x100, kXid).Gid(0), "an identifier in the middle");
  RequireError(Pieces().Add(kBegin | kCommit, 0x100, kXid).Gid(0), "an identifier in the middle");
  RequireError(Pieces().Add(kBegin | kCommit | kPrepared, 0x100, kXid).Gid(0, std::string(200, 'g')),
               "gid with");
  RequireError(Pieces().Add(kBegin | kCommit | kPrepared, 0x100, kXid, {0}).Gid(2), "where 1 was expected");
  RequireError(Pieces().Add(kBegin | kCommit | kCommitPrepared, 0x100, kXid, {0}).Gid(1),
               "2 changes in the end");
  RequireError(Pieces().Add(kBegin | kPrepared, 0x100, kXid, {0}).Add(kCommit, 0x100, kXid, {1}), "inside");
  RequireError(Pieces()
                   .Add(kBegin | kCommit, 0x100, 705, {0})
                   .Add(kBegin | kCommit | kCommitPrepared, 0x100, kXid)
                   .Gid(0),
               "not after the one before");
}

TEST_CASE("flags that do not go together are refused") {
  for (const uint32_t flags :
       {kStreamed | kBegin | kCommit, kStreamed | kAbort | kBegin, kStreamed | kAbort | kCommit,
        kAbort | kBegin, kStreamed | kPrepared, kStreamed | kPrepared | kBegin | kCommit,
        kCommitPrepared | kCommit, kCommitPrepared | kBegin, kRollbackPrepared | kCommit,
        kCommitPrepared | kRollbackPrepared | 3, 256u | 3}) {
    INFO(flags);
    RequireError(Pieces().Streamed(kXid, {0}).Add(flags, 0x100, kXid), "unknown kind");
  }
}

}  // namespace varve::wire
