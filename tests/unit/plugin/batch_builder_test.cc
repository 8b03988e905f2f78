// SPDX-License-Identifier: PostgreSQL
#include <memory>
#include <string>
#include <vector>

#include "plugin/wire/wire.h"
#include "sidecar/wire/decoder.h"
#include "tests/support/catch.h"

namespace varve {
namespace {

constexpr wire::SessionId kSession{0x0123456789abcdef, 0xfedcba9876543210};
constexpr uint32_t kTableOid = 16400;

VarveBytes Bytes(const char* text) { return {text, std::char_traits<char>::length(text)}; }

struct WireClose {
  void operator()(VarveWire* wire) const { varve_wire_close(wire); }
};
using Wire = std::unique_ptr<VarveWire, WireClose>;

// A table (id int4 primary key, v text) and what a batch about it is made of.
struct Fixture {
  Wire wire{varve_wire_open()};
  VarveColumn columns[2] = {};
  VarveTypeField field = {Bytes("x"), 23};
  VarveType types[1] = {};
  VarveRelation relation = {};
  VarveHandshake handshake = {};
  std::vector<VarveRelationRef> refs;
  std::vector<VarveTransaction> transactions;
  std::vector<VarveChange> changes;
  std::string heap;
  uint64_t sequence = 0;
  wire::SessionId session = kSession;
  size_t described = 0;
  std::vector<VarveOrigin> origins;

  Fixture() {
    columns[0].attnum = 1;
    columns[0].name = Bytes("id");
    columns[0].type_oid = columns[0].base_type_oid = 23;
    columns[0].typmod = -1;
    columns[0].width = 4;
    columns[0].key_position = columns[0].identity_position = 1;
    columns[0].not_null = true;
    columns[1] = columns[0];
    columns[1].attnum = 3;
    columns[1].name = Bytes("v");
    columns[1].type_oid = 16399;
    columns[1].base_type_oid = 25;
    columns[1].typmod = 9;
    columns[1].form = VARVE_FORM_TEXT;
    columns[1].width = columns[1].key_position = columns[1].identity_position = 0;
    columns[1].not_null = false;
    columns[1].generated = 's';
    columns[1].missing = Bytes("");
    columns[1].default_expression = Bytes("'x'::text");
    types[0].oid = 16399;
    types[0].schema = Bytes("public");
    types[0].name = Bytes("a\"b");
    types[0].kind = 'c';
    types[0].inner_oid = 25;
    types[0].delimiter = ';';
    types[0].fields = &field;
    types[0].field_count = 1;
    types[0].json_cast = true;
    relation.oid = kTableOid;
    relation.schema = Bytes("public");
    relation.name = Bytes("t");
    relation.identity = 'd';
    relation.attribute_count = 3;
    relation.columns = columns;
    relation.column_count = 2;
    relation.types = types;
    relation.type_count = 1;
    REQUIRE(varve_wire_set_version(&relation) == VARVE_WIRE_OK);
    handshake.plugin_version = Bytes("0.1.0");
    handshake.server_version_num = 150020;
    handshake.system_identifier = 7;
    handshake.timeline = 3;
    handshake.database_oid = 5;
    handshake.database = Bytes("db");
    handshake.slot = Bytes("slot");
    handshake.encoding = Bytes("UTF8");
    handshake.next_full_xid = uint64_t{1} << 40;
  }

  void AddInsert(uint32_t seq) {
    // attributes 3: id a value, the dropped one absent, v null.
    const std::string image = std::string("\x03\x00", 2) + "\x13" + std::string("\x00\x00\x00\x07", 4);
    VarveChange change = {};
    change.op = VARVE_OP_INSERT;
    change.seq = seq;
    change.new_offset = static_cast<uint32_t>(heap.size());
    change.new_length = static_cast<uint32_t>(image.size());
    heap += image;
    changes.push_back(change);
  }

  void AddMessageAlone(uint64_t position, uint32_t first_change) {
    VarveChange message = {};
    message.op = VARVE_OP_MESSAGE;
    message.relation = VARVE_NO_RELATION;
    changes.push_back(message);
    transactions.push_back(
        {position, 0, 0, first_change, 1,
         VARVE_TRANSACTION_BEGIN | VARVE_TRANSACTION_COMMIT | VARVE_TRANSACTION_NON_TRANSACTIONAL});
  }

  std::string Finish() {
    VarveBatchParts parts = {};
    parts.session_high = session.high;
    parts.session_low = session.low;
    parts.sequence = sequence;
    parts.handshake = sequence == 0 ? &handshake : nullptr;
    parts.refs = refs.data();
    parts.ref_count = refs.size();
    parts.transactions = transactions.data();
    parts.transaction_count = transactions.size();
    parts.changes = changes.data();
    parts.change_count = changes.size();
    parts.heap = heap.data();
    parts.heap_length = heap.size();
    parts.origins = origins.data();
    parts.origin_count = origins.size();
    size_t length = 0;
    REQUIRE(varve_wire_finish(wire.get(), &parts, &length) == VARVE_WIRE_OK);
    std::string message(length, '\x55');
    varve_wire_write(wire.get(), &parts, message.data());
    // Every byte is written: none is left as it was in the server's memory.
    std::string again(length, '\xAA');
    varve_wire_write(wire.get(), &parts, again.data());
    REQUIRE(message == again);
    ++sequence;
    transactions.clear();
    changes.clear();
    heap.clear();
    return message;
  }
};

}  // namespace

TEST_CASE("the sidecar's decoder reads what the plugin builds") {
  Fixture fixture;
  fixture.refs.push_back({fixture.relation.version, kTableOid, 0});
  REQUIRE(varve_wire_add_relation(fixture.wire.get(), &fixture.relation, &fixture.described) ==
          VARVE_WIRE_OK);
  fixture.AddInsert(0);
  fixture.transactions.push_back({0x100, 42, 700, 0, 1, VARVE_TRANSACTION_BEGIN});

  wire::Decoder decoder(kSession);
  const auto batch = decoder.Decode(fixture.Finish());
  REQUIRE(batch.has_value());
  REQUIRE(batch->handshake->plugin_version == "0.1.0");
  REQUIRE(batch->handshake->server_version_num == 150020);
  REQUIRE(batch->handshake->system_identifier == 7);
  REQUIRE(batch->handshake->timeline == 3);
  REQUIRE(batch->handshake->database_oid == 5);
  REQUIRE(batch->handshake->database == "db");
  REQUIRE(batch->handshake->slot == "slot");
  REQUIRE(batch->handshake->encoding == "UTF8");
  REQUIRE(batch->handshake->next_full_xid == uint64_t{1} << 40);

  REQUIRE(batch->relations.size() == 1);
  const model::Relation& relation = *batch->relations[0];
  REQUIRE(relation.version == model::ComputeVersion(relation));
  REQUIRE(relation.QualifiedName() == "public.t");
  REQUIRE(relation.columns.size() == 2);
  const model::Column& id = relation.columns[0];
  REQUIRE(id.width == 4);
  REQUIRE(id.form == model::Form::kBinary);
  REQUIRE(id.not_null);
  REQUIRE_FALSE(id.missing.has_value());
  REQUIRE(id.key_position == 1);
  const model::Column& v = relation.columns[1];
  REQUIRE(v.attnum == 3);
  REQUIRE(v.form == model::Form::kText);
  REQUIRE(v.typmod == 9);
  REQUIRE(v.base_type_oid == 25);
  REQUIRE(v.generated == 's');
  REQUIRE(v.missing == "");
  REQUIRE(v.default_expression == "'x'::text");
  REQUIRE(relation.types.size() == 1);
  const model::Type expected_type{16399, "public", "a\"b", 'c', 25, ';', {{"x", 23}}, true};
  REQUIRE(relation.types[0] == expected_type);

  REQUIRE(batch->pieces.size() == 1);
  REQUIRE(batch->pieces[0].end_lsn == base::Lsn{0x100});
  REQUIRE(batch->pieces[0].commit_time == base::Timestamp{42});
  REQUIRE(batch->pieces[0].xid == 700);
  REQUIRE(batch->pieces[0].begin);
  REQUIRE_FALSE(batch->pieces[0].commit);
  REQUIRE(batch->changes.size() == 1);
  REQUIRE(batch->changes[0].op == model::Op::kInsert);
  REQUIRE(batch->changes[0].table.value == kTableOid);
}

TEST_CASE("each transaction of a batch says where it comes from, and one from here says nothing") {
  constexpr uint32_t kWhole = VARVE_TRANSACTION_BEGIN | VARVE_TRANSACTION_COMMIT;
  Fixture fixture;
  fixture.refs.push_back({fixture.relation.version, kTableOid, 0});
  REQUIRE(varve_wire_add_relation(fixture.wire.get(), &fixture.relation, &fixture.described) ==
          VARVE_WIRE_OK);
  fixture.AddInsert(0);
  fixture.transactions.push_back({0x100, 0, 700, 0, 1, VARVE_TRANSACTION_BEGIN});
  wire::Decoder decoder(kSession);
  const auto first = decoder.Decode(fixture.Finish());
  REQUIRE(first.has_value());
  CHECK_FALSE(first->pieces[0].origin.has_value());

  fixture.AddInsert(1);
  fixture.AddInsert(0);
  fixture.AddInsert(0);
  fixture.transactions.push_back({0x100, 0, 700, 0, 1, VARVE_TRANSACTION_COMMIT});
  fixture.transactions.push_back({0x200, 0, 701, 1, 1, kWhole});
  fixture.transactions.push_back({0x300, 0, 702, 2, 1, kWhole});
  fixture.origins.push_back({0x123456789, 0, 1, static_cast<uint32_t>(fixture.heap.size()), 9});
  fixture.heap += "elsewhere";
  fixture.origins.push_back({0, 2, 65000, 0, 0});
  const auto second = decoder.Decode(fixture.Finish());
  REQUIRE(second.has_value());
  CHECK(second->pieces[0].origin == model::Origin{1, "elsewhere", base::Lsn{0x123456789}});
  CHECK_FALSE(second->pieces[1].origin.has_value());
  CHECK(second->pieces[2].origin == model::Origin{65000, "", base::Lsn{}});
}

TEST_CASE("a wire starts the next batch afresh and keeps relations out of it") {
  Fixture fixture;
  fixture.refs.push_back({fixture.relation.version, kTableOid, 0});
  wire::Decoder decoder(kSession);
  REQUIRE(varve_wire_add_relation(fixture.wire.get(), &fixture.relation, &fixture.described) ==
          VARVE_WIRE_OK);
  fixture.AddInsert(0);
  fixture.transactions.push_back({0x100, 0, 700, 0, 1, VARVE_TRANSACTION_BEGIN});
  REQUIRE(decoder.Decode(fixture.Finish()).has_value());
  for (uint32_t seq = 1; seq < 100; ++seq) {
    fixture.AddInsert(seq);
    fixture.transactions.push_back({0x100, 0, 700, 0, 1, (seq == 99) * uint32_t{VARVE_TRANSACTION_COMMIT}});
    const auto batch = decoder.Decode(fixture.Finish());
    REQUIRE(batch.has_value());
    REQUIRE(batch->relations.empty());
    REQUIRE(batch->changes.size() == 1);
    REQUIRE(batch->pieces[0].commit == (seq == 99));
  }
}

TEST_CASE("a batch without definitions reads the same whatever it holds") {
  for (const wire::SessionId session : {kSession, wire::SessionId{}}) {
    Fixture fixture;
    fixture.session = session;
    wire::Decoder decoder(session);
    REQUIRE(varve_wire_add_relation(fixture.wire.get(), &fixture.relation, &fixture.described) ==
            VARVE_WIRE_OK);
    fixture.refs.push_back({fixture.relation.version, kTableOid, 0});
    fixture.AddInsert(0);
    fixture.transactions.push_back({0x100, 0, 700, 0, 1, VARVE_TRANSACTION_BEGIN | VARVE_TRANSACTION_COMMIT});
    REQUIRE(decoder.Decode(fixture.Finish()).has_value());
    for (uint32_t count = 0; count < 40; ++count) {
      // Messages of every length beside rows, and more refs and transactions: all alignments come up.
      fixture.refs.assign(count % 3, {fixture.relation.version, kTableOid, 0});
      const uint64_t position = 0x200 + uint64_t{count} * 0x100;
      for (uint32_t i = 0; i < count % 3; ++i) fixture.AddInsert(i);
      const std::string content(count, static_cast<char>(count));
      VarveChange message = {};
      message.op = VARVE_OP_MESSAGE;
      message.flags = VARVE_CHANGE_MESSAGE_TRANSACTIONAL;
      message.relation = VARVE_NO_RELATION;
      message.seq = static_cast<uint32_t>(fixture.changes.size());
      message.new_offset = static_cast<uint32_t>(fixture.heap.size());
      message.new_length = count;
      fixture.heap += content;
      fixture.changes.push_back(message);
      const auto change_count = static_cast<uint32_t>(fixture.changes.size());
      fixture.transactions.push_back(
          {position, 9, 800 + count, 0, change_count, VARVE_TRANSACTION_BEGIN | VARVE_TRANSACTION_COMMIT});
      if (count % 2 == 1) {
        fixture.AddMessageAlone(position + 8, change_count);
      }
      const auto batch = decoder.Decode(fixture.Finish());
      if (!batch.has_value()) FAIL(batch.error().message);
      REQUIRE(batch->pieces.size() == 1 + count % 2);
      REQUIRE(batch->pieces[0].end_lsn == base::Lsn{position});
      REQUIRE(batch->pieces[0].commit_time == base::Timestamp{9});
      REQUIRE(batch->changes.size() == change_count + count % 2);
      REQUIRE(batch->changes[change_count - 1].new_image == content);
      for (uint32_t i = 0; i + 1 < change_count; ++i) REQUIRE(batch->changes[i].table.value == kTableOid);
    }
  }
}

TEST_CASE("a transaction of one row is a small message") {
  Fixture fixture;
  fixture.session = {};
  fixture.refs.push_back({fixture.relation.version, kTableOid, 0});
  REQUIRE(varve_wire_add_relation(fixture.wire.get(), &fixture.relation, &fixture.described) ==
          VARVE_WIRE_OK);
  fixture.AddInsert(0);
  fixture.transactions.push_back({0x100, 0, 700, 0, 1, VARVE_TRANSACTION_BEGIN | VARVE_TRANSACTION_COMMIT});
  (void)fixture.Finish();
  fixture.AddInsert(0);
  const size_t image = fixture.heap.size();
  fixture.transactions.push_back({0x200, 0, 701, 0, 1, VARVE_TRANSACTION_BEGIN | VARVE_TRANSACTION_COMMIT});
  const size_t structs = sizeof(VarveTransaction) + sizeof(VarveChange) + sizeof(VarveRelationRef);
  REQUIRE(fixture.Finish().size() == 76 + structs + image);
}

TEST_CASE("a giant row does not stay in the builder, and one beyond the limit is a status") {
  Fixture fixture;
  fixture.heap.assign(size_t{40} * 1024 * 1024, 'x');
  VarveChange message = {};
  message.op = VARVE_OP_MESSAGE;
  message.relation = VARVE_NO_RELATION;
  message.new_length = static_cast<uint32_t>(fixture.heap.size());
  fixture.changes.push_back(message);
  fixture.transactions.push_back({0x100, 0, 700, 0, 1, VARVE_TRANSACTION_BEGIN | VARVE_TRANSACTION_COMMIT});
  wire::Decoder decoder(kSession);
  const auto batch = decoder.Decode(fixture.Finish());
  REQUIRE(batch.has_value());
  REQUIRE(batch->changes[0].new_image.size() == size_t{40} * 1024 * 1024);

  VarveBatchParts parts = {};
  parts.heap = "";
  parts.heap_length = VARVE_MESSAGE_BYTES_MAX;  // refused before a byte of it is read
  size_t length = 0;
  REQUIRE(varve_wire_finish(fixture.wire.get(), &parts, &length) == VARVE_WIRE_TOO_LARGE);
}

}  // namespace varve
