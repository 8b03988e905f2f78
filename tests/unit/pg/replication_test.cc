// SPDX-License-Identifier: PostgreSQL
#include "sidecar/pg/replication.h"

#include <string>

#include "tests/support/catch.h"

namespace varve::pg {
namespace {

std::string Hex(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    constexpr char kDigits[] = "0123456789abcdef";
    text.push_back(kDigits[static_cast<unsigned char>(c) >> 4]);
    text.push_back(kDigits[static_cast<unsigned char>(c) & 15]);
  }
  return text;
}

std::string Unhex(std::string_view text) {
  std::string bytes;
  for (size_t i = 0; i + 1 < text.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::stoi(std::string(text.substr(i, 2)), nullptr, 16)));
  }
  return bytes;
}

// Byte layout: PostgreSQL manual, "Streaming Replication Protocol".
TEST_CASE("a status update has the bytes of the manual") {
  const auto message = EncodeStandbyStatus(
      {base::Lsn{0x16B374D848}, base::Lsn{0x16B3740000}, base::Timestamp{0x0102030405060708}, true});
  CHECK(Hex({message.data(), message.size()}) ==
        "72"
        "00000016b374d848"
        "00000016b3740000"
        "00000016b3740000"
        "0102030405060708"
        "01");
}

TEST_CASE("a data message is taken apart") {
  const std::string message = Unhex(
      "77"
      "00000016b374d848"
      "00000016b374d850"
      "fffffffffffffffe"
      "616263");
  const auto parsed = ParseReplicationMessage(message);
  REQUIRE(parsed);
  const auto& data = std::get<XLogData>(*parsed);
  CHECK(data.start == base::Lsn{0x16B374D848});
  CHECK(data.end == base::Lsn{0x16B374D850});
  CHECK(data.sent == base::Timestamp{-2});
  CHECK(data.payload == "abc");
}

TEST_CASE("a keepalive is taken apart") {
  const auto parsed = ParseReplicationMessage(Unhex("6b00000016b374d848000000000000000501"));
  REQUIRE(parsed);
  const auto& keepalive = std::get<Keepalive>(*parsed);
  CHECK(keepalive.end == base::Lsn{0x16B374D848});
  CHECK(keepalive.sent == base::Timestamp{5});
  CHECK(keepalive.reply_requested);
}

TEST_CASE("messages that are cut, too long or unknown are named errors") {
  CHECK_FALSE(ParseReplicationMessage(""));
  CHECK(ParseReplicationMessage("x").error().message ==
        "the server sent a replication message of unknown kind 0x78");
  CHECK(ParseReplicationMessage(Unhex("770000")).error().message ==
        "the server sent a data message cut within its header");
  CHECK(ParseReplicationMessage(Unhex("6b00000016b374d8480000000000000005")).error().message ==
        "the server sent a keepalive of 17 bytes where 18 belong");
}

TEST_CASE("commands quote what they are given") {
  CHECK(CreateSlotCommand("s\"x", "varve") ==
        "CREATE_REPLICATION_SLOT \"s\"\"x\" LOGICAL \"varve\" (SNAPSHOT 'export', TWO_PHASE true)");
  CHECK(StartReplicationCommand("varve", base::Lsn{0x16B374D848},
                                {{"publication_names", "o'p\\"}, {"format", "flatbuffers"}}) ==
        "START_REPLICATION SLOT \"varve\" LOGICAL 16/B374D848 "
        "(\"publication_names\" 'o''p\\', \"format\" 'flatbuffers')");
}

TEST_CASE("literals do not depend on standard_conforming_strings") {
  CHECK(QuoteLiteral("it's") == "'it''s'");
  CHECK(QuoteLiteral("a\\'b") == " E'a\\\\''b'");
  CHECK(QuoteQualified("a\"b", "c.d") == "\"a\"\"b\".\"c.d\"");
}

TEST_CASE("states of the server fall into classes") {
  CHECK(IsPermanent("42704"));
  CHECK(IsPermanent("55000"));
  CHECK(IsPermanent("28P01"));
  CHECK(IsPermanent("42501"));
  CHECK_FALSE(IsPermanent("55006"));
  CHECK_FALSE(IsPermanent("57P01"));
  CHECK_FALSE(IsPermanent("53300"));
  CHECK_FALSE(IsPermanent("08006"));
  CHECK_FALSE(IsPermanent(""));
  CHECK(CodeOfSqlstate("42704") == base::ErrorCode::kNotFound);
  CHECK(CodeOfSqlstate("57P01") == base::ErrorCode::kUnavailable);
  CHECK(SqlstateOfConnectText("FATAL:  no pg_hba.conf entry for host") == "28000");
  CHECK(SqlstateOfConnectText("FATAL:  database \"x\" does not exist") == "3D000");
  CHECK(SqlstateOfConnectText("connection refused").empty());
}

TEST_CASE("a connection string that libpq cannot read is found without connecting") {
  CHECK_FALSE(DsnProblem("host=/run/postgresql dbname=shop"));
  CHECK_FALSE(DsnProblem("postgresql:///shop?host=/run/postgresql"));
  CHECK(DsnProblem("dbname"));
  CHECK(DsnProblem("postgresql://[::1"));
}

}  // namespace
}  // namespace varve::pg
