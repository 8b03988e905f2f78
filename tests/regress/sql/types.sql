-- Values of every kind of type, against to_jsonb of the row under the settings that the plugin promises.
create extension hstore;
create extension citext;
create extension ltree;
create type colour as enum ('red', 'green "x"');
create domain hstore_domain as hstore;
create domain int_domain as int;
create domain text_domain as text check (value <> 'no');
create type pair as (x int, y text, z int_domain[]);
create type float_range as range (subtype = float8);
create function corpus_table(name text) returns void language plpgsql as $$
begin
  execute format('create table %I (
    id int primary key, t_bool bool, t_char "char", t_int2 int2, t_int4 int4, t_int8 int8, t_oid oid, t_float4 float4,
    t_float8 float8, t_numeric numeric, t_numeric_scale numeric(30, 4), t_numeric_wide numeric(1000, 500), t_text text,
    t_varchar varchar(20), t_bpchar char(5), t_name name, t_bytea bytea, t_json json, t_jsonb jsonb, t_uuid uuid,
    t_date date, t_time time, t_timetz timetz, t_timestamp timestamp, t_timestamptz timestamptz, t_interval interval,
    a_bool bool[], a_char "char"[], a_int2 int2[], a_int4 int4[], a_int8 int8[], a_oid oid[], a_float4 float4[],
    a_float8 float8[], a_numeric numeric[], a_text text[], a_varchar varchar(9)[], a_bpchar char(3)[], a_name name[],
    a_bytea bytea[], a_json json[], a_jsonb jsonb[], a_uuid uuid[], a_date date[], a_time time[], a_timetz timetz[],
    a_timestamp timestamp[], a_timestamptz timestamptz[], a_interval interval[], d_int int_domain, d_text text_domain,
    o_money money, o_inet inet, o_cidr cidr, o_macaddr macaddr, o_macaddr8 macaddr8, o_bit bit(5), o_varbit varbit,
    o_point point, o_box box, o_circle circle, o_path path, o_lseg lseg, o_line line, o_polygon polygon,
    o_int4range int4range, o_numrange numrange, o_tstzrange tstzrange, o_daterange daterange,
    o_multirange int4multirange, o_ranges int4range[], o_float_range float_range, o_pg_lsn pg_lsn, o_tid tid,
    o_xid xid, o_xid8 xid8, o_tsvector tsvector, o_tsquery tsquery, o_regclass regclass, o_regtype regtype, o_xml xml,
    o_enum colour, o_enums colour[], o_pair pair, o_pairs pair[], o_hstore hstore, o_hstore_domain hstore_domain,
    o_citext citext, o_ltree ltree, o_inets inet[], o_domains int_domain[], o_oidvector oidvector,
    o_int2vector int2vector)', name);
end $$;
select corpus_table('corpus');
alter publication varve add table corpus;
select varve_slot('values');

insert into corpus (id) values (0);
insert into corpus values (
  1, true, 'q', -32768, -2147483648, 9223372036854775807, 4294967295, 1.1, 0.1::float8 + 0.2::float8,
  12345678901234567890.0100, 1.5, -12345678901234567890.5, 'plain', 'v', 'ab', 'nm', '\x00ff5c', '{ "a" :1, "b":2}',
  '{"a":1, "a":2, "n":1.00}', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '2000-01-01', '24:00:00', '12:00:00+05:30',
  '294276-12-31 23:59:59.999999', '2024-07-01 12:00:00.123456+05:30', '1 year 2 mons -3 days 04:05:06.789',
  '{t,f,NULL}', '{a,b}', '{1,-1}', '{1,NULL,3}', '[2:3]={7,8}', '{0,4294967295}', '{1.5,NaN}', '{-Infinity,0.1}',
  '{1.10,NaN,-0.00,1e-20}', '{{a,"b c"},{NULL,"NULL"}}', '{"",x}', '{a,bcd}', '{n}', '{"\\x00","\\x"}',
  array['{"a": 1}', 'null']::json[], array['{"a":1}', 'null']::jsonb[], '{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}',
  '{infinity,2024-02-29}', '{00:00:00.000001}', '{23:59:59-15}', '{-infinity}', '{2024-01-01 00:00:00+00}', '{1 mon}',
  7, 'yes', '-12.34', '10.0.0.1/8', '10.0.0.0/8', '08:00:2b:01:02:03', '08:00:2b:01:02:03:04:05', '10101', '1',
  '(1.5,-2)', '((0,0),(1,1))', '<(0,0),5>', '[(0,0),(1,1)]', '[(0,0),(1,1)]', '{1,-1,0}', '((0,0),(1,1),(2,0))',
  '[1,5]', '[1.0,2.5)', '["2024-01-01 00:00+00",)', '[2024-01-01,2024-02-01)', '{[1,3),[7,9)}', '{"[1,2)",empty}',
  '[0.1,0.3)', '16/B374D848', '(42,7)', '4294967290', '18446744073709551615', 'a:1A fat:2B,4C', 'fat & (rat | !cat)',
  'pg_class', 'int4[]', '<a b="1">&amp;</a>', 'green "x"', '{red,"green \"x\""}', '(1,"a""b,c","{1,2}")',
  '{"(1,x,{})","(,,)"}', 'a=>1,b=>NULL', 'c=>"d e"', 'CiText', 'Top.Science', '{10.0.0.1,::1}', '{1,2}', '1 2 3', '4 5');
insert into corpus (id, t_char, t_int2, t_oid, t_float4, t_float8, t_numeric, t_numeric_wide, t_text, t_bpchar, t_bytea,
  t_json, t_jsonb, t_date, t_time, t_timetz, t_timestamp, t_timestamptz, t_interval, a_int4, a_text, o_int4range,
  o_multirange, o_money, o_regclass)
values
  (2, '', 0, 0, 'NaN', 'NaN', 'NaN', 'NaN', '', '', '', 'null', 'null', 'infinity', '23:59:59.999999', '00:00:00-15:59',
   'infinity', 'infinity', '-1 year', '{}', '{}', 'empty', '{}', '0', 'corpus'),
  (3, '\377', 32767, 1, 'Infinity', 'Infinity', 'Infinity', 0, e'\t\n\r\b\f\\"''/', 'é', '\xdeadbeef', '"FIRST"',
   '"FIRST"', '-infinity', '00:00', '00:00+00', '-infinity', '-infinity', '1 mon -2 days 03:04:05.5', '[0:1]={1,2}',
   array['', 'a"b', 'c\d', '{x}', e'\n'], '(,5)', null, null, null),
  (4, 'x', 1, 2, '-Infinity', '-Infinity', '-Infinity', 1e-500, '😀 zoë', 'abcde', '\x00', '{"isDemo":false}', '[1, 2.50, 1e3]',
   '4713-01-01 BC', '12:34:56.789', '12:34:56.789+01:02:03', '4713-01-01 00:00:00 BC', '0001-01-01 00:00:00+00', '0',
   '{{{1},{2}}}', '{NULL}', null, null, null, null),
  (5, 'x', 1, 2, '-0', '-0', -0.00, -1, 'a', 'a', '\x', '[]', '{}', '5874897-12-31', null, null,
   '1900-01-01 00:00:00.000001', '1900-01-01 00:00:00.000001+00', '178000000 years', null, null, null, null, null, null),
  (6, 'x', 1, 2, 1e-45, 5e-324, 1e-20, 1e499, 'a', 'a', '\x', '1.10', '1e400', '2000-01-01', null, null, null, null,
   '-178000000 years -11 mons -2147483648 days', null, null, null, null, null, null),
  (7, 'x', 1, 2, 3.4028235e38, 1.7976931348623157e308, 9999999999999999999999999999.0000000000000001, 12, 'a', 'a', '\x',
   '1', '1', null, null, null, null, null, null, null, null, null, null, null, null),
  (8, 'x', 1, 2, 1e15, 1e15, 1e131071, 12, 'a', 'a', '\x', '1', '1', null, null, null, null, null, null, null, null, null,
   null, null, null),
  (9, 'x', 1, 2, 123456.7, 100000, 0.0001, 10000, 'a', 'a', '\x', '1', '1', null, null, null, null, null, null, null,
   null, null, null, null, null);

-- Every value as the plugin prints it is what to_jsonb prints.
create table as_json (settings text, id int, image text);
set timezone = 'UTC';
set datestyle = 'ISO';
set intervalstyle = 'postgres';
set bytea_output = 'hex';
set extra_float_digits = 1;
set lc_monetary = 'C';
set xmlbinary = 'base64';
set search_path = pg_catalog;
create temp table expected as select id, to_jsonb(c)::text as image from public.corpus c;
set search_path = public;
insert into as_json select 'promised', (line->'new'->>'id')::int, (line->'new')::text from varve_changes('values') line;
set timezone = 'Asia/Kolkata';
set datestyle = 'SQL, DMY';
set intervalstyle = 'iso_8601';
set bytea_output = 'escape';
set extra_float_digits = -5;
set xmlbinary = 'hex';
set quote_all_identifiers = on;
insert into as_json select 'others', (line->'new'->>'id')::int, (line->'new')::text from varve_changes('values') line
  where line->>'kind' = 'insert';
reset all;
select settings, count(*) as rows, count(*) filter (where a.image = e.image) as equal from as_json a join expected e
  using (id) group by 1 order by 1;
select id, key, value, (e.image::jsonb)->key as right_value from as_json a join expected e using (id),
  jsonb_each(a.image::jsonb) where settings = 'others' and value::text <> ((e.image::jsonb)->key)::text;

-- The same values from the binary stream: see types_stream.sql, which goes on with this table and slot.
drop table as_json;
