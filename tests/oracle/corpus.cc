// SPDX-License-Identifier: PostgreSQL
#include "tests/oracle/corpus.h"

namespace varve::oracle {
namespace {

std::vector<Corpus> Numbers() {
  return {
      {"bool", {"t", "f"}},
      {"int2", {"-32768", "-1", "0", "7", "32767"}},
      {"int4", {"-2147483648", "-1", "0", "42", "2147483647"}},
      {"int8", {"-9223372036854775808", "0", "10", "9223372036854775807"}},
      {"oid", {"0", "1", "4294967295"}},
      {"numeric", {"NaN",      "Infinity",  "-Infinity",      "0",     "-0.00",   "12345678901234567890.0100",
                   "1e-20",    "1.5",       "1.50",           "100",   "1000",    "10000",
                   "0.0001",   "0.00001",   "-99999999.9999", "1e400", "-1e-400", "1e131071",
                   "1e-16383", "9999.9999", "10000.00010000"}},
      {"numeric(10,2)", {"1.5", "-0.01", "99999999.99"}},
      {"float8",
       {"NaN",
        "Infinity",
        "-Infinity",
        "-0",
        "0",
        "0.1",
        "1e20",
        "1e15",
        "1e14",
        "123456789012345",
        "1e-4",
        "1e-5",
        "1e23",
        "5e-324",
        "2.2250738585072014e-308",
        "1.7976931348623157e308",
        "9007199254740993",
        "-1.5e-7",
        "5.6843418860808015e-14",
        "9.5367431640625e-7"}},
      {"float4",
       {"NaN", "Infinity", "-Infinity", "-0", "1.1", "1e6", "999999", "123456.7", "1e-4", "1e-5", "1e-45",
        "3.4028235e38", "16777216", "33554432", "8.589935e9"}},
      {"money", {"-12.34", "0", "12345678.90", "-92233720368547758.08"}},
      {"xid", {"4294967290"}},
      {"xid8", {"18446744073709551615"}},
      {"pg_lsn", {"16/B374D848", "0/0"}},
      {"tid", {"(42,7)"}},
      {"regclass", {"pg_class"}},
      {"regtype", {"int4[]"}},
      {"int2vector", {"", "1", "1 -2 3"}},
      {"oidvector", {"", "1 4294967295"}},
  };
}

std::vector<Corpus> Clocks() {
  return {
      {"date",
       {"infinity", "-infinity", "4713-01-01 BC", "4714-11-24 BC", "0001-12-31 BC", "0001-01-01",
        "1900-02-28", "2000-01-01", "2000-02-29", "10000-01-01", "5874897-12-31"}},
      {"timestamp",
       {"infinity", "-infinity", "4713-01-01 00:00:00 BC", "4714-11-24 00:00:00 BC", "0001-01-01",
        "1900-01-01 00:00:00.000001", "1999-12-31 23:59:59.999999", "2024-07-01 12:00:00.5",
        "294276-12-31 23:59:59.999999", "0044-03-15 12:34:56.789 BC"}},
      {"timestamptz",
       {"infinity", "-infinity", "2024-07-01 12:00:00.123456+05:30", "4713-01-01 00:00:00+00 BC",
        "294276-12-31 23:59:59.999999+00", "1999-12-31 23:00:00-05"}},
      {"time", {"00:00:00", "24:00:00", "23:59:59.999999", "12:30:00.10"}},
      {"timetz",
       {"12:00:00+05:30", "00:00:00+00", "24:00:00-15:59:59", "23:59:59.999999+15:59", "12:00:00-00:30"}},
      {"interval",
       {"1 year 2 mons -3 days 04:05:06.789", "0", "-1 mons +2 days", "1 day -00:00:00.000001",
        "-1 year -1 mons", "100 years", "1 mon", "30 days", "-3 days 01:00:00", "2562047788:00:54.775807",
        "-2562047788:00:54.775807", "178956970 years 7 mons", "-178956970 years -8 mons", "00:00:01.5",
        "1 year -1 days 00:00:00"}},
  };
}

std::vector<Corpus> Texts() {
  return {
      {"text",
       {"", "a", "NULL", "null", "a\"b\\c/d", "\b\f\n\r\t\x01\x1f\x7f", "Grüße, мир, 你好, 🙂",
        "a,b{c}", " x ", "(1,2)", "\xE2\x80\xA8"}},
      {"varchar(20)", {"", "short", "exactly twenty chars"}},
      {"bpchar(5)", {"ab", "abcde", "", " a"}},
      {"bpchar", {"ab ", "ab"}},
      {"name", {"nm", "", "with \"quotes\""}},
      {"\"char\"", {"q", "", "\"", "\\", "\\200", "\\377"}},
      {"bytea", {"\\x00ff5c", "\\x", "\\x0001", "\\x22"}},
      {"uuid", {"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "00000000-0000-0000-0000-000000000000"}},
      {"citext", {"Abc", "aBC", "x y"}},
      {"ltree", {"Top.Science.Astronomy", ""}},
      {"xml", {"<a b=\"1\">x</a>", "<?xml version=\"1.0\"?><a/>"}},
      {"tsvector", {"a:1A fat:2B,4C", "", "'it''s \"x\"'"}},
      {"tsquery", {"fat & (rat | !cat)"}},
      {"mood", {"sad", "very happy", "\"quoted\""}},
      {"bit(5)", {"10101"}},
      {"varbit", {"1", "", "0101010101"}},
      {"inet", {"10.0.0.1/8", "10.0.0.1", "::1", "2001:db8::/32", "::ffff:1.2.3.4"}},
      {"cidr", {"10.0.0.0/8", "10.0.0.1/32", "2001:db8::/32"}},
      {"macaddr", {"08:00:2b:01:02:03"}},
      {"macaddr8", {"08:00:2b:01:02:03:04:05"}},
      {"point", {"(1.5,-2)"}},
      {"box", {"((0,0),(1,1))"}},
      {"circle", {"<(0,0),5>"}},
      {"path", {"[(0,0),(1,1)]"}},
      {"lseg", {"[(0,0),(1,1)]"}},
      {"line", {"{1,-1,0}"}},
      {"polygon", {"((0,0),(1,1),(2,0))"}},
      {"hstore", {"", "a=>1, b=>NULL, \"k \\\"q\\\\\"=>\"v, =>\\n\"", "bb=>\"NULL\",a=>\"\"", "zz=>1,é=>2"}},
  };
}

std::vector<Corpus> Documents() {
  return {
      {"json",
       {R"({ "a" :1, "a":2})", "null", "true", R"("x\u00e9\ud83d\ude00\/\b\u001f")",
        "[1e2, 1.50, -0, -0.0, 1E-3]", R"({"bb":1,"a":{"d":[],"c":{}},"":null,"é":1,"zz":[ [ ] , { } ]})",
        "  [ 1 ,2 ]  ", "1e400", "0e100", "{}", R"({"b":1,"a":2,"b":{"x":[1,{"y":2,"y":3}]}})",
        "123456789012345678901234567890.000", R"(["\"","\\","\u0041\u000a"])"}},
      {"jsonb",
       {R"({"a":1, "a":2, "n":1.00})", "null", "\"FIRST\"", "1e400", "[]", "{}", R"({"k":[1,{"z":null}]})",
        R"("\u00e9\n")"}},
  };
}

std::vector<Corpus> Containers() {
  return {
      {"int4[]",
       {"{1,NULL,3}", "[2:3]={7,8}", "{}", "{{1,2},{3,4}}", "[0:0][-1:1]={{1,2,3}}", "{{{{{{1}}}}}}"}},
      {"text[]",
       {R"({{a,"b c"},{NULL,"NULL"}})", R"({"","a\"b","c\\d","{x}"})", R"({"a,b",null," "})",
        "{Null,nulL,\"nULL\"}"}},
      {"bool[]", {"{t,f,NULL}"}},
      {"numeric[]", {"{1.50,NaN,-Infinity,1e10}"}},
      {"float8[]", {"{1e20,NaN,-0,1e-7}"}},
      {"timestamptz[]", {"{2024-07-01 12:00:00+00,infinity,\"0044-03-15 00:00:00+00 BC\"}"}},
      {"json[]", {R"({"{\"a\":1, \"a\":2}","[1]"})"}},
      {"jsonb[]", {R"({"{\"b\": [1.0]}",null})"}},
      {"bytea[]", {R"({"\\x00ff","\\x"})"}},
      {"\"char\"[]", {"{a,\"\"}"}},
      {"oid[]", {"{1,4294967295}"}},
      {"interval[]", {"{1 day,\"-1 mons +2 days\"}"}},
      {"name[]", {"{a,\"b c\"}"}},
      {"bpchar[]", {"{\"a  \",b}"}},
      {"box[]", {"{(1,1),(0,0);(2,2),(1,1)}"}},
      {"point[]", {R"~({"(1,2)",NULL})~"}},
      {"mood[]", {"{sad,\"very happy\"}"}},
      {"mood[]", {"[5:6]={sad,NULL}"}},
      {"citext[]", {"{A,\"b c\"}"}},
      {"int4range[]", {R"~({"[1,6)",empty})~"}},
      {"int4range", {"[1,5]", "empty", "(,5)", "(,)"}},
      {"numrange", {"[1.0,2.5)"}},
      {"tstzrange", {"[2024-01-01 00:00+00,)"}},
      {"daterange", {"[2024-01-01,2024-02-01]"}},
      {"int4multirange", {"{[1,3),[7,9)}", "{}"}},
      {"positive", {"1", "2147483647"}},
      {"positive[]", {"{1,NULL,3}"}},
      {"tags", {"{a,b}", "{}"}},
      {"tags[]", {R"({"{a,b}","{}"})"}},
      {"flag[]", {"{t,NULL,f}"}},
      {"json_document", {R"({ "b":1, "a":[ ]})"}},
      {"pair", {R"~((1,"a""b,c"))~", "(,)", R"~((2,""))~", R"~((3,"(x)\\"))~"}},
      {"pair[]", {R"~({"(1,\"a b\")",NULL,"(,)"})~"}},
      {"single", {"()", "(t)"}},
      {"empty_type", {"()"}},
      {"wide",
       {R"~((t,1.50,1e+20,"2024-07-01 12:00:00.5",)~"
        R"~("0044-03-15 12:00:00+00 BC","{""b"": 1, ""b"": 2.0}","{""z"": [1e2]}","{1,NULL}",)~"
        R"~("{""(1,x)"",NULL}","(7,""in ner"")","\\x00ff",infinity,NaN,)~"
        R"~("a=>1",q,"1 day 02:00:00",3,"{{a,b},{c,NULL}}",24:00:00))~",
        "(" + std::string(18, ',') + ")"}},
      {"odd_names", {"(1,2,3,4,5)"}},
      {"wide[]", {"{NULL}"}},
      {"hstore[]", {R"({"\"a\"=>\"1\", \"b\"=>NULL",""})"}},
      {"pair_domain", {"(5,five)"}},
      {"nested_range", {"[1.0,2.50)"}},
  };
}

void Append(std::vector<Corpus> more, std::vector<Corpus>* all) {
  for (Corpus& corpus : more) all->push_back(std::move(corpus));
}

}  // namespace

const std::vector<std::string>& SetupStatements() {
  static const std::vector<std::string> statements = {
      "create schema if not exists varve_test",
      "set search_path = pg_catalog, pg_temp, varve_test",
      "create extension if not exists hstore schema varve_test",
      "create extension if not exists citext schema varve_test",
      "create extension if not exists ltree schema varve_test",
      "create type varve_test.mood as enum ('sad', 'very happy', '\"quoted\"')",
      "create domain varve_test.positive as int4 check (value > 0)",
      "create domain varve_test.tags as text[]",
      "create domain varve_test.flag as bool",
      "create domain varve_test.json_document as json",
      "create type varve_test.pair as (n int4, \"the text\" text)",
      "create type varve_test.single as (b bool)",
      "create type varve_test.empty_type as ()",
      "create domain varve_test.pair_domain as pair",
      "create type varve_test.odd_names as (\"z\" int, \"é\" int, \"A \"\"b\" int, \"aa\\\" int2, \"\n\" "
      "int8)",
      "create type varve_test.wide as (b bool, n numeric, f float8, ts timestamp, tz timestamptz, j "
      "json, jb "
      "jsonb, a int4[], ps pair[], p pair, by bytea, d date, f4 float4, h hstore, c \"char\", i "
      "interval, dom "
      "positive, tt text[], ti time)",
      "create type varve_test.nested_range as range (subtype = numeric)",
  };
  return statements;
}

const std::vector<Corpus>& AllCorpora() {
  static const std::vector<Corpus> all = [] {
    std::vector<Corpus> corpora;
    Append(Numbers(), &corpora);
    Append(Clocks(), &corpora);
    Append(Texts(), &corpora);
    Append(Documents(), &corpora);
    Append(Containers(), &corpora);
    return corpora;
  }();
  return all;
}

}  // namespace varve::oracle
