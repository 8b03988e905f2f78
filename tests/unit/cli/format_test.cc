// SPDX-License-Identifier: PostgreSQL
#include "cli/change_text.h"
#include "cli/csv.h"
#include "cli/json.h"
#include "cli/session.h"
#include "cli/table.h"
#include "tests/support/catch.h"

namespace varve::cli {
namespace {

std::string Table(std::vector<std::string> columns, const std::vector<Cells>& rows) {
  std::string out;
  TablePrinter table(std::move(columns), [&out](std::string_view text) { out += text; });
  for (const Cells& row : rows) table.Add(row);
  table.Finish();
  return out;
}

// The expected texts are what psql 15 prints for the same rows.
TEST_CASE("tables look as in psql") {
  CHECK(Table({"id", "email"}, {{"1", "a@b"}, {"22", std::nullopt}}) ==
        " id | email \n"
        "----+-------\n"
        "  1 | a@b\n"
        " 22 | \n"
        "(2 rows)\n");
  CHECK(Table({"a"}, {}) == " a \n---\n(0 rows)\n");
  CHECK(Table({"n", "long name"}, {{"-1.5", "x"}}) ==
        "  n   | long name \n"
        "------+-----------\n"
        " -1.5 | x\n"
        "(1 row)\n");
}

TEST_CASE("cells with several lines are continued with a plus") {
  CHECK(Table({"t", "u"}, {{"a\nbc", "x"}}) ==
        " t  | u \n"
        "----+---\n"
        " a +| x\n"
        " bc | \n"
        "(1 row)\n");
}

TEST_CASE("widths count what is seen, and controls are written out") {
  CHECK(Table({"w"}, {{"日本"}, {"é"}}) == "  w   \n------\n 日本\n é\n(2 rows)\n");
  CHECK(DisplayText("a\x1b[31mb\rc\x7f") == "a\\x1B[31mb\\rc\\x7F");
  CHECK(DisplayText("\xff") == "\\xFF");
  CHECK(DisplayText("\xc2\x9b") == "\\x9B");
  CHECK(DisplayText("a\tb") == "a       b");
  CHECK(DisplayText("a\nb") == "a\\nb");
}

TEST_CASE("names made of digits stay on the left") {
  CHECK(Table({"zip"}, {{"01067"}, {"2"}}).find(" 01067\n 2\n") != std::string::npos);
}

TEST_CASE("a table of any length is printed with the widths of its beginning") {
  std::vector<Cells> rows(2500, Cells{"1"});
  rows.back() = {"123456"};
  const std::string text = Table({"n"}, rows);
  CHECK(text.substr(0, 14) == " n \n---\n 1\n 1\n");
  CHECK(text.find("\n 1\n 1\n 123456\n(2500 rows)\n") != std::string::npos);
}

TEST_CASE("a wide cell is cut, with every character whole") {
  std::string wide;
  for (int i = 0; i < 100'000; ++i) wide += "ü";
  std::string shown;
  for (int i = 0; i < 199; ++i) shown += "ü";
  const std::string text = Table({"id", "t"}, {{"1", wide}, {"2", "b\n" + std::string(200, 'x')}});
  CHECK(text.find(" | " + shown + "…\n") != std::string::npos);
  CHECK(text.find(std::string(200, 'x') + "\n") != std::string::npos);
  CHECK(text.size() < 2000);
  CHECK(ExpandedRow({"t"}, {wide}).find(wide + "\n") != std::string::npos);
  CHECK(ExpandedRow({"t"}, {wide}).size() < wide.size() + 300);
}

TEST_CASE("one row is expanded as in psql") {
  CHECK(ExpandedRow({"id", "email"}, {"1", std::nullopt}) ==
        "-[ RECORD 1 ]\n"
        "id    | 1\n"
        "email | \n");
  CHECK(ExpandedRow({"id", "description"}, {"1", "a rather long text"}) ==
        "-[ RECORD 1 ]-------------------\n"
        "id          | 1\n"
        "description | a rather long text\n");
}

TEST_CASE("CSV is read in parts of any size") {
  const std::string text = "id,e\n1,\"a,\"\"b\"\"\nc\"\n2,\n3,\"\"\n";
  for (size_t size = 1; size <= text.size(); ++size) {
    std::vector<Cells> lines;
    CsvReader reader([&lines](Cells cells) { lines.push_back(std::move(cells)); });
    for (size_t at = 0; at < text.size(); at += size) reader.Add(std::string_view(text).substr(at, size));
    CHECK(lines == std::vector<Cells>{{"id", "e"}, {"1", "a,\"b\"\nc"}, {"2", std::nullopt}, {"3", ""}});
  }
}

TEST_CASE("JSON is taken apart without being changed") {
  const auto object = JsonObject::Parse(R"({"a": 1.50e400, "b\u00e9": {"x": [1, "]}"]}, "c": null, )"
                                        R"("d": "\ud834\udd1e\n\"", "n": 18446744073709551615})");
  REQUIRE(object);
  CHECK(object->Raw("a") == "1.50e400");
  CHECK(object->Raw("bé") == R"({"x": [1, "]}"]})");
  CHECK(object->Object("bé").Items("x").at(1) == R"("]}")");
  CHECK_FALSE(JsonForPeople(object->Raw("c")));
  CHECK(object->Text("d") == "𝄞\n\"");
  CHECK(object->Count("n") == UINT64_MAX);
  CHECK(object->Text("none").empty());
  CHECK(JsonObject::Parse(" {} ")->members().empty());
  CHECK(JsonItems("[]")->empty());
  for (const char* bad : {"", "{", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{\"a\":1}x", "{a:1}", "[1]",
                          "{\"a\":\"}", "{\"a\":[1}"}) {
    INFO(bad);
    CHECK_FALSE(JsonObject::Parse(bad));
  }
  std::string out;
  AppendJsonString("a\"\\\n", &out);
  CHECK(JsonString(out) == "a\"\\\n");
}

TEST_CASE("nested JSON of any depth is walked without recursion") {
  const std::string deep = "{\"a\":" + std::string(9000, '[') + std::string(9000, ']') + "}";
  CHECK(JsonObject::Parse(deep));
  CHECK_FALSE(JsonObject::Parse("{\"a\":" + std::string(2'000'000, '[') + "}"));
}

TEST_CASE("lines are found in parts of any size") {
  const std::string text = "a\n\nbc\nrest";
  for (size_t size = 1; size <= text.size(); ++size) {
    std::vector<std::string> lines;
    LineSplitter splitter([&lines](std::string_view line) {
      lines.emplace_back(line);
      return true;
    });
    for (size_t at = 0; at < text.size(); at += size) splitter.Add(std::string_view(text).substr(at, size));
    CHECK(lines == std::vector<std::string>{"a", "", "bc"});
  }
}

std::string Change(std::string_view json) {
  std::string out, err;
  return ChangeText(*JsonObject::Parse(json), Output::Captured(&out, &err));
}

TEST_CASE("changes are shown as a diff, by row and cell") {
  CHECK(Change(R"({"op":"update","table":"public.a","key":1,"changed":["b","c"],)"
               R"("before":{"b": 1, "c": null},"after":{"b": 2.50, "c": "x\u001b"}})") ==
        "@@ a 1 update @@\n- b: 1\n+ b: 2.50\n- c: null\n+ c: \"x\\u001b\"\n");
  CHECK(Change(R"({"op":"insert","table":"s.a","key":[1,"x"],"after":{"b": 1}})") ==
        "@@ s.a [1,\"x\"] insert @@\n+ {\"b\": 1}\n");
  CHECK(Change(R"({"op":"delete","table":"public.a","key":1,"before":{"b": 1}})") ==
        "@@ a 1 delete @@\n- {\"b\": 1}\n");
  CHECK(Change(R"({"op":"truncate","table":"public.a"})") == "@@ a truncate @@\n");
  CHECK(Change(R"({"op":"schema","table":"public.a","detail":"column b added"})") ==
        "@@ a schema @@\ncolumn b added\n");
  CHECK(Change(R"({"op":"message","prefix":"app","content_base64":"aGVsbG8="})") ==
        "@@ app message @@\nhello\n");
  CHECK(
      Change(R"({"op":"insert","position":"0/200","xid":7,"seq":0,"table":"public.a","key":1,"after":{}})") ==
      "@@ xid:7 0/200 a 1 insert @@\n+ {}\n");
}

TEST_CASE("counts and versions are short") {
  CHECK(CountsText(*JsonObject::Parse(R"({"inserts":1,"updates":0,"deletes":3,"truncates":1})")) ==
        "+1 -3 truncated");
  CHECK(VersionText(*JsonObject::Parse(
            R"({"op":"update","changed":["b"],"before":{"b": 1},"after":{"b": 2}})")) == "b: 1 -> 2");
  CHECK(VersionText(*JsonObject::Parse(R"({"op":"insert","after":{"b": 2}})")) == "{\"b\": 2}");
  CHECK(TimeText("2026-01-01T00:00:00Z") == "2026-01-01 00:00:00Z");
}

}  // namespace
}  // namespace varve::cli
