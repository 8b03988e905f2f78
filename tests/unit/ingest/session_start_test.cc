// SPDX-License-Identifier: PostgreSQL
#include "sidecar/ingest/session_start.h"

#include "tests/support/catch.h"

namespace varve::ingest {
namespace {

using base::ErrorCode;
using base::Lsn;

const history::Identity kIdentity{7, 1, 5, "shop", "varve", "varve", "UTF8"};

SessionFacts Facts() {
  SessionFacts facts;
  facts.system = {7, 1, Lsn{1000}, "shop"};
  facts.database_oid = 5;
  facts.settings.database = "shop";
  facts.slot = {true, "varve", "logical", "shop", false, 0, "", "reserved", Lsn{500}, 0, 0};
  return facts;
}

ErrorCode CodeOf(const base::Status& status) {
  REQUIRE_FALSE(status);
  return status.error().code;
}

TEST_CASE("a history goes on only with the server, database, slot and timeline it is of") {
  const Options options;
  Trouble trouble;
  CHECK(CheckIdentity(kIdentity, Facts(), options, &trouble));
  SessionFacts facts = Facts();
  facts.system.system_identifier = 8;
  CHECK(CodeOf(CheckIdentity(kIdentity, facts, options, &trouble)) == ErrorCode::kConflict);
  CHECK(trouble.permanent());
  CHECK_FALSE(trouble.remedy().empty());
  facts = Facts();
  facts.database_oid = 6;
  CHECK(CodeOf(CheckIdentity(kIdentity, facts, options, &trouble)) == ErrorCode::kConflict);
  facts = Facts();
  facts.system.timeline = 2;
  CHECK(CodeOf(CheckIdentity(kIdentity, facts, options, &trouble)) == ErrorCode::kConflict);
  Options other;
  other.slot = "other";
  CHECK(CodeOf(CheckIdentity(kIdentity, Facts(), other, &trouble)) == ErrorCode::kConflict);
}

TEST_CASE("a slot that is gone, lost or ahead of the history is refused, one in use is waited for") {
  Trouble trouble;
  CHECK(CheckResume(Lsn{500}, Facts(), "varve", &trouble));
  CHECK(CheckResume(Lsn{1000}, Facts(), "varve", &trouble));
  SessionFacts facts = Facts();
  facts.slot.exists = false;
  CHECK(CodeOf(CheckResume(Lsn{500}, facts, "varve", &trouble)) == ErrorCode::kNotFound);
  CHECK(trouble.permanent());
  facts = Facts();
  facts.slot.wal_status = "lost";
  CHECK(CodeOf(CheckResume(Lsn{500}, facts, "varve", &trouble)) == ErrorCode::kUnavailable);
  CHECK(CodeOf(CheckResume(Lsn{499}, Facts(), "varve", &trouble)) == ErrorCode::kHistoryGap);
  CHECK(CodeOf(CheckResume(Lsn{1001}, Facts(), "varve", &trouble)) == ErrorCode::kConflict);
  facts = Facts();
  facts.slot.active = true;
  facts.slot.active_pid = 4711;
  facts.slot.holder = "pg_recvlogical, user app";
  const auto in_use = CheckResume(Lsn{500}, facts, "varve", &trouble);
  CHECK(in_use.error().message == "slot varve is in use by process 4711 (pg_recvlogical, user app)");
  CHECK_FALSE(trouble.permanent());
}

TEST_CASE("without a first copy only our own slot is taken for a leftover") {
  Trouble trouble;
  SessionFacts facts = Facts();
  CHECK(CodeOf([&]() -> base::Status {
          RETURN_IF_ERROR(CheckLeftover(std::nullopt, facts, "varve", &trouble));
          return {};
        }()) == ErrorCode::kExists);
  CHECK(CheckLeftover(kIdentity, facts, "varve", &trouble).value());
  facts.slot.plugin = "pgoutput";
  CHECK_FALSE(CheckLeftover(kIdentity, facts, "varve", &trouble));
  facts.slot.exists = false;
  CHECK_FALSE(CheckLeftover(std::nullopt, facts, "varve", &trouble).value());
}

}  // namespace
}  // namespace varve::ingest
