// SPDX-License-Identifier: PostgreSQL
#include <random>

#include "sidecar/store/bytes.h"
#include "sidecar/store/key_format.h"
#include "sidecar/store/page.h"
#include "sidecar/store/record_format.h"
#include "tests/support/catch.h"

namespace varve::store {
namespace {

using base::Position;
using base::RelationVersion;
using base::Seq;
using base::TableOid;

std::string Hex(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const char byte : bytes) {
    out.push_back(kDigits[static_cast<uint8_t>(byte) >> 4]);
    out.push_back(kDigits[static_cast<uint8_t>(byte) & 15]);
  }
  return out;
}

model::Relation SampleRelation() {
  model::Relation relation;
  relation.oid = TableOid{16384};
  relation.schema = "public";
  relation.name = "t";
  relation.attribute_count = 3;
  model::Column id;
  id.attnum = 1;
  id.name = "id";
  id.type_oid = 23;
  id.base_type_oid = 23;
  id.form = model::Form::kBinary;
  id.width = 4;
  id.key_position = 1;
  id.not_null = true;
  model::Column note;
  note.attnum = 3;
  note.name = "note";
  note.type_oid = 25;
  note.base_type_oid = 25;
  note.form = model::Form::kBinary;
  note.missing = "none";
  note.default_expression = "'none'::text";
  note.generated = 's';
  relation.columns = {id, note};
  model::Type type;
  type.oid = 25;
  type.schema = "pg_catalog";
  type.name = "text";
  type.fields = {{"f", 23}};
  type.json_cast = true;
  relation.types = {type};
  relation.version = model::ComputeVersion(relation);
  return relation;
}

template <typename Decode>
void RefusesDamage(const std::string& bytes, const Decode& decode) {
  // Cut anywhere, decoding gives an error or (where a tail is a free-form image) a shorter record, and never
  // reads beyond its end: the sanitizer runs of this test watch that.
  for (size_t length = 0; length < bytes.size(); ++length) {
    const std::string cut = bytes.substr(0, length);
    (void)decode(cut);
  }
  std::mt19937 random(7);
  for (int i = 0; i < 2000; ++i) {
    std::string forged = bytes;
    for (int flips = 0; flips < 3; ++flips) forged[random() % forged.size()] = static_cast<char>(random());
    (void)decode(forged);
  }
}

constexpr TableOid kTable{0x01020304};
constexpr Position kPosition{0x0A0B0C0D0E0F1011};

TEST_CASE("keys of every family have these bytes and read back") {
  CHECK(Hex(RowKey(kTable, "k")) == "010203046b");
  CHECK(RowKeyBytes(RowKey(kTable, "key")) == "key");
  CHECK(RowKeyTable(RowKey(kTable, "key")) == kTable);
  CHECK_FALSE(RowKeyTable("abc").has_value());

  CHECK(Hex(RewindKey(RowKey(kTable, "k"), kPosition)) == "010203046b0a0b0c0d0e0f1011");
  CHECK(RewindKeyEnd(RewindKey(RowKey(kTable, "k"), kPosition)) == kPosition);
  CHECK_FALSE(RewindKeyEnd("short").has_value());

  CHECK(Hex(KeyframeKey(kTable, kPosition, "k")) == "010203040a0b0c0d0e0f10116b");
  CHECK(KeyframePrefix(kTable, kPosition).size() == kKeyframePrefixBytes);

  CHECK(Hex(PositionKey(kPosition)) == "0a0b0c0d0e0f1011");
  CHECK(ParsePositionKey(PositionKey(kPosition)) == kPosition);
  CHECK_FALSE(ParsePositionKey("123456789").has_value());

  const Place place{kPosition, Seq{5}};
  CHECK(Hex(LogKey(place)) == "0a0b0c0d0e0f101100000005");
  CHECK(ParseLogKey(LogKey(place)) == place);
  CHECK_FALSE(ParseLogKey("x").has_value());

  CHECK(Hex(TimeKey(base::Timestamp{-2}, kPosition)) == "7ffffffffffffffe0a0b0c0d0e0f1011");
  CHECK(TimeKeyPosition(TimeKey(base::Timestamp{-2}, kPosition)) == kPosition);
  CHECK(TimeKey(base::Timestamp{-2}, kPosition) < TimeKey(base::Timestamp{1}, Position{}));

  const base::FullXid xid{0x0000000700000009};
  CHECK(Hex(XidKey(xid, kPosition)) == "00000009000000070a0b0c0d0e0f1011");
  CHECK(ParseXidKey(XidKey(xid, kPosition))->xid == xid);
  CHECK(ParseXidKey(XidKey(xid, kPosition))->position == kPosition);
}

TEST_CASE("keys of the catalog have these bytes and read back") {
  const Place place{kPosition, Seq{5}};
  CHECK(CatalogKey(CatalogTag::kStoreVersion) == "v");
  CHECK(CatalogKey(CatalogTag::kIdentity) == "i");
  CHECK(CatalogKey(CatalogTag::kBaseline) == "b");
  CHECK(CatalogKey(CatalogTag::kPublished) == "p");
  const RelationVersion version{0x1122334455667788};
  CHECK(Hex(RelationKey(version, 2)) == "7211223344556677880002");
  CHECK(ParseRelationKey(RelationKey(version, 2)) == RelationId{version, 2});
  CHECK_FALSE(ParseRelationKey("r").has_value());
  CHECK(Hex(ChangesKey(kTable)) == "6301020304");
  CHECK(TagKey("before") == "gbefore");
  CHECK(Hex(EventKey(kTable, place, EventKind::kTruncate)) == "65010203040a0b0c0d0e0f10110000000502");
  const auto event = ParseEventKey(EventKey(kTable, place, EventKind::kExcluded));
  REQUIRE(event.has_value());
  CHECK(event->table == kTable);
  CHECK(event->place == place);
  CHECK(event->kind == EventKind::kExcluded);
  CHECK_FALSE(ParseEventKey(EventKey(kTable, place, static_cast<EventKind>(10))).has_value());
  CHECK(PrefixEnd(std::string("a\xFF")) == "b");
  CHECK(PrefixEnd("\xFF").empty());
}

TEST_CASE("a row version has these bytes and reads back") {
  VersionRecord record;
  record.start = Place{Position{0x10}, Seq{2}};
  record.version = RelationVersion{3};
  record.previous_key = "old";
  record.image = "image";
  const std::string bytes = EncodeVersion(record);
  CHECK(Hex(bytes) ==
        "04000000000000001000000002"
        "0000000000000003"
        "036f6c64"
        "696d616765");
  const auto back = DecodeVersion(bytes);
  REQUIRE(back.has_value());
  CHECK(back->start == record.start);
  CHECK(back->version == record.version);
  CHECK(back->previous_key == "old");
  CHECK(back->image == "image");

  VersionRecord gone;
  gone.start = record.start;
  gone.tombstone = true;
  gone.moved = true;
  CHECK(Hex(EncodeVersion(gone)) ==
        "03000000000000001000000002"
        "0000000000000000");
  CHECK(DecodeVersion(EncodeVersion(gone))->moved);

  CHECK_FALSE(DecodeVersion("").has_value());
  CHECK_FALSE(DecodeVersion(EncodeVersion(gone) + "x").has_value());  // a tombstone with an image
  std::string unknown_flag = bytes;
  unknown_flag[0] = '\x44';
  CHECK_FALSE(DecodeVersion(unknown_flag).has_value());
  RefusesDamage(bytes, DecodeVersion);
}

TEST_CASE("a log entry has these bytes and reads back") {
  LogRecord record;
  record.op = model::Op::kUpdate;
  record.table = TableOid{1};
  record.version = RelationVersion{2};
  record.key = "k";
  record.previous_key = "j";
  record.before = BeforeAt::kInline;
  record.before_version = RelationVersion{4};
  record.before_image = "old";
  record.image = "new";
  const std::string bytes = EncodeLog(record);
  CHECK(Hex(bytes) ==
        "0106"
        "00000001"
        "0000000000000002"
        "016b"
        "016a"
        "0000000000000004"
        "036f6c64"
        "6e6577");
  const auto back = DecodeLog(bytes);
  REQUIRE(back.has_value());
  CHECK(back->op == record.op);
  CHECK(back->table == record.table);
  CHECK(back->version == record.version);
  CHECK(back->key == "k");
  CHECK(back->previous_key == "j");
  CHECK(back->before == BeforeAt::kInline);
  CHECK(back->before_version == record.before_version);
  CHECK(back->before_image == "old");
  CHECK(back->image == "new");

  LogRecord message;
  message.op = model::Op::kMessage;
  message.key = "prefix";
  message.image = "content";
  message.transactional = true;
  CHECK(Hex(EncodeLog(message)) ==
        "0408"
        "00000000"
        "0000000000000000"
        "06707265666978"
        "636f6e74656e74");
  LogRecord truncate;
  truncate.op = model::Op::kTruncate;
  truncate.cascade = true;
  truncate.restart_identity = true;
  CHECK(DecodeLog(EncodeLog(truncate))->cascade);
  CHECK(DecodeLog(EncodeLog(truncate))->restart_identity);

  CHECK_FALSE(DecodeLog("").has_value());
  std::string bad_op = bytes;
  bad_op[0] = 9;
  CHECK_FALSE(DecodeLog(bad_op).has_value());
  RefusesDamage(bytes, DecodeLog);
}

TEST_CASE("what is staged has these keys and bytes and reads back") {
  CHECK(Hex(StageKey(2)) == "730000000000000002");
  CHECK(Hex(StageKey(2, StagePart::kVoid)) == "73000000000000000203");
  CHECK(Hex(StageKey(2, StagePart::kChange, 9)) == "7300000000000000020100000009");
  const auto id = ParseStageKey(StageKey(2, StagePart::kDefinition, 9));
  REQUIRE(id.has_value());
  CHECK(id->stage == 2);
  CHECK(id->part == StagePart::kDefinition);
  CHECK(id->number == 9);
  CHECK_FALSE(ParseStageKey(StageKey(2)).has_value());
  CHECK(Hex(PreparedKey(7, "gid")) == "7000000007676964");
  CHECK(ParsePreparedKey(PreparedKey(7, "gid")) == PreparedId{7, "gid"});
  CHECK_FALSE(ParsePreparedKey(StageKey(2)).has_value());

  StagedChange change;
  change.subxid = 5;
  change.op = model::Op::kUpdate;
  change.table = TableOid{1};
  change.relation = RelationId{RelationVersion{2}, 3};
  change.new_image = "new";
  change.old_image = "old";
  change.old_is_full = true;
  change.message_transactional = true;
  const std::string bytes = EncodeStagedChange(change);
  CHECK(Hex(bytes) ==
        "01"
        "09"
        "00000005"
        "00000001"
        "0000000000000002"
        "0003"
        "036f6c64"
        "6e6577");
  const auto read = DecodeStagedChange(bytes);
  REQUIRE(read.has_value());
  CHECK(EncodeStagedChange(*read) == bytes);
  RefusesDamage(bytes, DecodeStagedChange);

  const StagedDefinition definition{5, model::Op::kDrop, TableOid{1}};
  CHECK(Hex(EncodeStagedDefinition(definition)) == "000000050600000001");
  CHECK(DecodeStagedDefinition(EncodeStagedDefinition(definition)).value() == definition);
  RefusesDamage(EncodeStagedDefinition(definition), DecodeStagedDefinition);

  const PreparedRecord prepared{2, base::FullXid{0x100000007}, Position{9}, base::Timestamp{5}, 4, true};
  CHECK(Hex(EncodePrepared(prepared)) ==
        "0000000000000002"
        "0000000100000007"
        "0000000000000009"
        "8000000000000005"
        "0000000000000004"
        "01");
  CHECK(DecodePrepared(EncodePrepared(prepared)).value() == prepared);
  RefusesDamage(EncodePrepared(prepared), DecodePrepared);
}

TEST_CASE("transactions have these bytes") {
  TransactionRecord transaction;
  transaction.in_log = true;
  transaction.xid = base::FullXid{0x100000002};
  transaction.commit_time = base::Timestamp{5};
  transaction.running_max = base::Timestamp{6};
  transaction.messages = 1;
  transaction.tables[TableOid{7}] = TableCountsRecord{1, 2, 300, 4, 5};
  const std::string bytes = EncodeTransaction(transaction);
  CHECK(Hex(bytes) ==
        "01"
        "0000000100000002"
        "8000000000000005"
        "8000000000000006"
        "01"
        "01"
        "00000007"
        "01"
        "02"
        "ac02"
        "04"
        "05");
  CHECK(DecodeTransaction(bytes).value() == transaction);
  CHECK_FALSE(DecodeTransaction(bytes + "x").has_value());
  RefusesDamage(bytes, DecodeTransaction);

  transaction.tables.clear();
  transaction.origin = model::Origin{3, "far", base::Lsn{9}};
  const std::string from_elsewhere = EncodeTransaction(transaction);
  CHECK(Hex(from_elsewhere) ==
        "05"
        "0000000100000002"
        "8000000000000005"
        "8000000000000006"
        "01"
        "00"
        "00000003"
        "03666172"
        "0000000000000009");
  CHECK(DecodeTransaction(from_elsewhere).value() == transaction);
  RefusesDamage(from_elsewhere, DecodeTransaction);
}

TEST_CASE("read points, the published position and the identity have these bytes") {
  ReadPointRecord point{Position{9}, base::Timestamp{8}, base::FullXid{7}};
  CHECK(Hex(EncodeReadPoint(point)) ==
        "0000000000000009"
        "8000000000000008"
        "01"
        "0000000000000007");
  CHECK(DecodeReadPoint(EncodeReadPoint(point)).value() == point);
  point.xid.reset();
  CHECK(Hex(EncodeReadPoint(point)) ==
        "0000000000000009"
        "8000000000000008"
        "00");
  CHECK(DecodeReadPoint(EncodeReadPoint(point)).value() == point);
  RefusesDamage(EncodeReadPoint(point), DecodeReadPoint);

  const PublishedRecord published{Position{10}, point, base::Timestamp{11}};
  CHECK(Hex(EncodePublished(published)) ==
        "000000000000000a"
        "800000000000000b"
        "0000000000000009"
        "8000000000000008"
        "00");
  CHECK(DecodePublished(EncodePublished(published)).value() == published);
  RefusesDamage(EncodePublished(published), DecodePublished);

  const IdentityRecord identity{1, 2, 3, "db", "slot", "pub", "UTF8"};
  CHECK(Hex(EncodeIdentity(identity)) ==
        "0000000000000001"
        "00000002"
        "00000003"
        "026462"
        "04736c6f74"
        "03707562"
        "0455544638");
  CHECK(DecodeIdentity(EncodeIdentity(identity)).value() == identity);
  RefusesDamage(EncodeIdentity(identity), DecodeIdentity);

  const EventRecord event{RelationVersion{1}, 2, "why"};
  CHECK(Hex(EncodeEvent(event)) ==
        "0000000000000001"
        "0002"
        "03776879");
  CHECK(DecodeEvent(EncodeEvent(event)).value() == event);
  RefusesDamage(EncodeEvent(event), DecodeEvent);

  CHECK(Hex(EncodeNumber(258)) == "0000000000000102");
  CHECK(DecodeNumber(EncodeNumber(258)).value() == 258);
  CHECK_FALSE(DecodeNumber("abc").has_value());
}

TEST_CASE("a relation version has these bytes, reads back and is refused when it is not what its hash says") {
  const model::Relation relation = SampleRelation();
  const std::string bytes = EncodeRelation(relation);
  CHECK(Hex(bytes).substr(16) ==
        "00004000"
        "067075626c6963"
        "0174"
        "64"
        "0003"
        "02"
        "0001"
        "026964"
        "00000017"
        "00000017"
        "ffffffff"
        "00"
        "0004"
        "0001"
        "0000"
        "01"
        "00"
        "00"
        "0003"
        "046e6f7465"
        "00000019"
        "00000019"
        "ffffffff"
        "00"
        "0000"
        "0000"
        "0000"
        "02"
        "73"
        "046e6f6e65"
        "0c276e6f6e65273a3a74657874"
        "01"
        "00000019"
        "0a70675f636174616c6f67"
        "0474657874"
        "62"
        "00000000"
        "2c"
        "01"
        "01"
        "0166"
        "00000017");
  CHECK(DecodeRelation(bytes).value() == relation);
  std::string forged = bytes;
  forged[8 + 3] = '\x7F';  // the OID
  CHECK_FALSE(DecodeRelation(forged).has_value());
  CHECK_FALSE(DecodeRelation(bytes + "x").has_value());
  RefusesDamage(bytes, DecodeRelation);
}

TEST_CASE("a keyframe page has these bytes and finds its rows") {
  PageBuilder builder(RelationVersion{0x0102030405060708});
  builder.Add("b", "1");
  builder.Add("d", "22");
  CHECK(builder.first_key() == "b");
  const std::string bytes = builder.Finish();
  CHECK(builder.empty());
  CHECK(Hex(bytes) ==
        "01"
        "0102030405060708"
        "0002"
        "00000003"
        "00000007"
        "016231"
        "01643232");
  const auto page = PageView::Parse(bytes);
  REQUIRE(page.has_value());
  CHECK(page->version() == RelationVersion{0x0102030405060708});
  CHECK(page->LowerBound("a").value() == 0);
  CHECK(page->LowerBound("b").value() == 0);
  CHECK(page->LowerBound("c").value() == 1);
  CHECK(page->LowerBound("e").value() == 2);
  CHECK(page->Row(1)->key == "d");
  CHECK(page->Row(1)->image == "22");

  CHECK_FALSE(PageView::Parse("").has_value());
  CHECK_FALSE(PageView::Parse(bytes + "x").has_value());
  RefusesDamage(bytes, [](const std::string& forged) {
    const auto view = PageView::Parse(forged);
    if (!view) return;
    for (size_t i = 0; i < view->size(); ++i) (void)view->Row(i);
    (void)view->LowerBound("c");
  });
}

TEST_CASE("a page is full by rows and by bytes, and takes one row of any size") {
  PageBuilder builder(RelationVersion{1});
  CHECK_FALSE(builder.IsFull(1, PageBuilder::kBytesMax * 2));
  for (size_t i = 0; i < PageBuilder::kRowsMax; ++i) {
    REQUIRE_FALSE(builder.IsFull(4, 4));
    builder.Add(std::string(1, static_cast<char>(i)), "x");
  }
  CHECK(builder.IsFull(4, 4));
  builder.Finish();
  builder.Add("a", std::string(PageBuilder::kBytesMax, 'x'));
  CHECK(builder.IsFull(1, 1));
}

}  // namespace
}  // namespace varve::store
