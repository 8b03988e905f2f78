-- Every line of format=json is as docs/reference.md says: which members it has, in which order and of which type.
create table docs (n serial, line text);
\copy docs (line) from reference.md with (format csv, quote e'\x01', delimiter e'\x02')
create table said as
select (regexp_matches(cells[1], '`([a-z0-9_]+)`', 'g'))[1] as name, cells[2] as holds
from (select regexp_match(line, '^\| (.+?) \| (.+?) \|') as cells from docs
  where n > (select min(n) from docs where line like '`format=json` is one object a line%')) d where cells is not null;
-- Its members as a pattern: [`a`], `b` or `c` is (,a)?(,b|,c).
create table objects as
select name, '^' || (select string_agg('(,' || replace(trim(item, '[`]'), '` or `', '|,') || case when item like '[%' then ')?' else ')' end, '' order by place)
  from unnest(string_to_array(holds, ', ')) with ordinality as i (item, place)) || '$' as members
from said where holds ~ '^\[?`';
create table members as select name, string_to_array(holds, ' or ') as types from said where holds ~ '^(string|number|boolean|array|object)';
select count(*) as objects from objects;
select members from objects where name = 'message';

-- Streamed, prepared and whole transactions with everything in them.
set logical_decoding_work_mem = '64kB';
create type shade as enum ('red');
create domain positive as int check (value > 0);
create table rich (id int primary key, v text, a int[], c shade, p positive, n numeric(7, 2) default 1.50, twice int generated always as (id * 2) stored);
alter table rich alter v set storage external;
create table whole_rows (id int, v text);
alter table whole_rows replica identity full;
create table keyless (v int);
create table broken (id int primary key);
create type odd as enum ('yes', 'no');
create function to_json_or_not(value odd) returns json language plpgsql immutable as $$ begin return to_json(1 / case value when 'yes' then 1 else 0 end); end $$;
create cast (odd as json) with function to_json_or_not(odd);
create table odds (id int primary key, o odd);
alter publication varve add table rich, whole_rows, broken, odds;
create publication keyless for table keyless with (publish = 'insert, truncate');
select varve_slot('contract');
insert into rich values (1, repeat('x', 3000), '{1,null}', 'red', 7);
begin;
insert into rich select g, repeat('v', 200) from generate_series(2, 400) g;
savepoint s;
insert into rich select g, repeat('v', 200) from generate_series(401, 800) g;
select 1 from pg_logical_emit_message(true, 'voided', 'x');
rollback to s;
savepoint t;
update rich set n = 2 where id <= 300;
update rich set id = -1 where id = 1;
delete from rich where id > 300;
truncate whole_rows cascade;
truncate whole_rows restart identity;
alter table rich add w timestamptz default now();
insert into rich (id) values (0);
select 1 from pg_logical_emit_message(true, 'kept', '\x00ff'::bytea);
release t;
commit;
begin;
insert into rich (id, v) select g, repeat('v', 200) from generate_series(1001, 1600) g;
rollback;
begin;
insert into rich (id, v) select g, repeat('v', 200) from generate_series(1001, 1600) g;
prepare transaction 'streamed';
commit prepared 'streamed';
begin;
insert into whole_rows values (1, null);
update whole_rows set v = '"';
delete from whole_rows;
truncate whole_rows, rich restart identity cascade;
alter table rich alter n type text using n || '!';
alter table rich rename w to "W "" é";
prepare transaction 'whole';
rollback prepared 'whole';
select 1 from pg_logical_emit_message(false, 'lone', '');
insert into odds values (1, 'no');
begin;
insert into whole_rows values (1, null);
update whole_rows set v = '"';
delete from whole_rows;
commit;
insert into keyless values (1), (null);
select pg_replication_origin_create('contract') is not null as created;
select pg_replication_origin_session_setup('contract');
begin;
select pg_replication_origin_xact_setup('1/2', now());
insert into keyless values (3);
commit;
select pg_replication_origin_session_reset();
update keyless set v = 2;
delete from keyless;
alter table rich alter n type text using n || '!';
alter publication varve drop table whole_rows;
drop table broken;
do $$ begin
  if current_setting('server_version_num')::int >= 180000 then
    execute 'alter table rich add virtual int generated always as (id * 3) virtual';
  end if;
end $$;
insert into rich (id) values (9999);

create table lines (n serial, line json);
create procedure take(variadic options text[]) language sql as $$
  insert into lines (line) select data::json from pg_logical_slot_peek_changes('contract', null, null, variadic
    array['publication_names', 'varve, keyless', 'format', 'json'] || options) where data !~ E'[\n\r]' and data like '{%}'
$$;
call take('rewrites', 'off');
call take('rewrites', 'on', 'streaming', 'on');
call take('two_phase', 'on');
call take('two_phase', 'on', 'streaming', 'on', 'rewrites', 'on');
select count(*) = (select sum(c) from (select count(*) as c from pg_logical_slot_peek_changes('contract', null, null, 'publication_names',
  'varve, keyless', 'format', 'json', 'two_phase', 'on', 'streaming', 'on', 'rewrites', 'on')) q) as none_is_left_out
from lines where n > (select max(n) from lines) - (select count(*) from pg_logical_slot_peek_changes('contract', null, null, 'publication_names',
  'varve, keyless', 'format', 'json', 'two_phase', 'on', 'streaming', 'on', 'rewrites', 'on'));

-- What a line is made of, and its parts.
create view parts as
select line->>'kind' as name, line as part from lines union all
select 'columns', c from lines, json_array_elements(line->'columns') c union all
select 'origin', line->'origin' from lines where line->'origin' is not null union all
select t.key, t.value from lines, json_array_elements(line->'columns') c, json_each(c) t where t.key in ('type', 'base_type') union all
select 'element', c->'type'->'element' from lines, json_array_elements(line->'columns') c where c->'type'->'element' is not null;
select name, string_agg(distinct left(part::text, 300), e'\n') as not_as_said from parts left join objects using (name)
where (select string_agg(',' || k, '' order by n) from json_object_keys(part) with ordinality as m (k, n)) !~ members is not false group by 1;
select distinct key, json_typeof(value) as type, types as not_as_said from parts, json_each(part) left join members on key = members.name
where not json_typeof(value) = any (types) is not false;
select count(*) as not_as_said from lines where (line->>'position')::pg_lsn is null and line->>'kind' ~ 'commit|prepare'
  or not (line->>'time' ~ '^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?\+00:00$')
  or not (line->>'version' ~ '^[0-9a-f]{16}$') or not (line->>'identity' in ('default', 'index', 'full', 'none'))
  or decode(line->>'content_base64', 'base64') is null and line->>'kind' = 'message' and line->>'too_large' is null
  or (line->>'kind' = 'message' and (line->>'transactional')::bool <> (line->'seq' is not null))
  or (line->>'kind' = 'message' and (line->>'transactional')::bool = (line->'position' is not null));
-- Every kind and every member was there.
select name as kind_never_met from objects except select name from parts;
select name as member_never_met from members where name not in (select key from parts, json_each(part))
  and name <> 'too_large' and (name <> 'absent' or current_setting('server_version_num')::int >= 180000) order by 1;

-- What to_jsonb refuses is as to_json has it, on one line; the stream goes on.
select pg_replication_slot_advance('contract', pg_current_wal_lsn()) is not null as advanced;
create type holder as (n int, j json);
create table refused (id int primary key, j json, js json[], h holder, hs holder[]);
alter publication varve add table refused;
insert into refused values (1, '"\u0000"', array['"\u0000"', '1']::json[], row(1, '{"\u0000":1}'), array[row(1, '"\u0000"')]::holder[]),
  (2, '1e200000', array['"\ud800"']::json[], null, null), (3, E'{"a":\n "\\ud800",\r\n"a": [1.0 , 2]}', null, row(1, E'[\n"\\u0000"]'), null),
  (4, E'{"a":\n 1, "a":2}', null, row(1, '{"b" : 1}'), null);
create function on_one_line(value json) returns text language sql as $$ select coalesce(translate(value::text, E'\n\r', '  '), 'null') $$;
-- jsonb cannot be made of such lines, so their text is compared.
select id, strpos(string_agg(data, ''), '"new": ' || format('{"id": %s, "j": %s, "js": %s, "h": %s, "hs": %s}', id, on_one_line(j), on_one_line(to_json(js)),
  on_one_line(to_json(h)), on_one_line(to_json(hs))) || '}') > 0 as as_to_json, bool_and(data !~ E'[\n\r]') as on_one_line
from refused, (select data from pg_logical_slot_peek_changes('contract', null, null, 'publication_names', 'varve', 'format', 'json')
  where data like '%"insert"%') l where id < 4 and data like format('%%"id": %s,%%', id) group by id order by id;
select regexp_replace(data, '.*"new"', '"new"') as as_to_jsonb from pg_logical_slot_peek_changes('contract', null, null, 'publication_names', 'varve', 'format', 'json')
where data like '%"id": 4,%';
-- A cast that gives up ends what is known of the table, with the reason, and nothing else.
create table beside (id int primary key);
truncate odds;
alter publication varve set table odds, beside;
select pg_replication_slot_advance('contract', pg_current_wal_lsn()) is not null as advanced;
begin;
insert into odds values (1, 'yes');
insert into odds values (2, 'no'), (3, 'yes');
insert into beside values (1);
commit;
select line->>'kind' as kind, line->'new' as new, line->>'reason' as reason from varve_lines('contract') line where line->>'kind' not in ('begin', 'relation', 'commit');
select count(*) > 0 as binary_needs_no_cast from pg_logical_slot_get_binary_changes('contract', null, null, 'publication_names', 'varve');

reset logical_decoding_work_mem;
select pg_drop_replication_slot('contract');
drop publication keyless;
drop view parts;
drop procedure take;
drop function on_one_line;
drop table docs, said, objects, members, lines, rich, whole_rows, keyless, refused, odds, beside;
drop cast (odd as json);
drop function to_json_or_not;
drop type odd, holder, shade;
drop domain positive;
