-- Rows that come about in other ways than by INSERT, UPDATE and DELETE of plain columns, in both formats.
create table generated_rows (id int primary key, a int, twice int generated always as (a * 2) stored,
  label text generated always as (coalesce(lpad(a::text, 3, '0'), 'none')) stored);
create table readded (id int primary key, a int, b text);
create table frozen (id int primary key, v text);
create table triggered (id int primary key, v text, changed int default 0);
create table trigger_log (n serial primary key, what text);
create table parents (id int primary key);
create table children (id int primary key, parent int references parents on update cascade on delete set null);
create table grandchildren (id int primary key, child int references children on delete cascade);
create table catalogs (id int primary key, v text) with (user_catalog_table = true);
create table deferred (id int primary key deferrable initially deferred, v text);
create table swapped (id int primary key, v text);
create table many_1 (id int primary key);
create table many_2 (id int primary key);
create table many_3 (id int primary key);
insert into generated_rows (id, a) values (1, 1);
insert into swapped values (1, 'one'), (2, 'two');
insert into deferred values (1, 'one'), (2, 'two');
create publication kinds for table generated_rows, readded, frozen, triggered, trigger_log, parents, children, grandchildren,
  catalogs, swapped, many_1, many_2, many_3;
-- 18 refuses updates of tables with REPLICA IDENTITY FULL otherwise.
do $$
begin
  if current_setting('server_version_num')::int >= 180000 then
    execute 'alter publication kinds set (publish_generated_columns = stored)';
  end if;
end $$;
create publication kinds_inserts for table deferred with (publish = 'insert, truncate');
select varve_slot('kinds');
create function kinds() returns table (n bigint, line jsonb) language sql as $$
  select n, data::jsonb - '{xid,position,time,version,oid,schema}'::text[]
  from pg_logical_slot_peek_changes('kinds', null, null, 'publication_names', 'kinds, kinds_inserts', 'format', 'json')
    with ordinality as l (lsn, xid, data, n)
  where data::jsonb->>'kind' not in ('begin', 'commit', 'relation', 'drop', 'untrack')
$$;
-- Changes of the two formats, one by one: the same kinds of the same tables, with values in the same columns.
create table dumped (n serial, line jsonb);
create function formats_differ() returns table (first_line jsonb, second_line jsonb) language sql as $$
  with one as (select row_number() over (order by n) as place, line from kinds() k
      where line->>'kind' in ('insert', 'update', 'delete', 'truncate')),
    two as (select row_number() over (order by n) as place, line from dumped
      where line->>'kind' in ('insert', 'update', 'delete', 'truncate'))
  select one.line, two.line from one full join two using (place)
  where one.line->>'kind' is distinct from two.line->>'kind' or two.line->>'table' <> 'public.' || (one.line->>'table')
    or array(select jsonb_object_keys(one.line->'new') order by 1)
      is distinct from array(select jsonb_object_keys(two.line->'new') order by 1)
    or array(select jsonb_object_keys(coalesce(one.line->'old', one.line->'key')) order by 1)
      is distinct from array(select jsonb_object_keys(coalesce(two.line->'old', two.line->'key')) order by 1)
$$;

-- Stored generated columns have values, new and old.
insert into generated_rows (id, a) values (2, 7), (3, null);
update generated_rows set a = 5 where id = 1;
alter table generated_rows replica identity full;
update generated_rows set a = 6 where id = 1;
alter table generated_rows alter label drop expression;
update generated_rows set label = 'free', a = 8 where id = 1;
-- A column that is dropped and comes again is another one; a default that nobody wrote is there all the same.
insert into readded values (1, 1, 'x');
alter table readded replica identity full;
alter table readded drop a, add a text default 'again';
update readded set b = 'y';
alter table readded drop b;
delete from readded;
-- COPY FREEZE.
begin;
truncate frozen;
copy frozen from stdin with (freeze);
1	cold
2	colder
\.
commit;
-- Triggers: what BEFORE makes of a row, and what AFTER does besides.
create function note_change() returns trigger language plpgsql as $$
begin
  if tg_when = 'BEFORE' then
    if new.id = 13 then return null; end if;
    new.changed := new.changed + 1;
    return new;
  end if;
  insert into trigger_log (what) values (tg_op || ' ' || new.id);
  return null;
end $$;
create trigger first before insert or update on triggered for each row execute function note_change();
create trigger then_note after insert or update on triggered for each row execute function note_change();
insert into triggered values (12, 'a'), (13, 'never'), (14, 'b');
update triggered set v = 'c' where id = 12;
-- Cascades, in the order of execution.
insert into parents values (1), (2);
insert into children values (1, 1), (2, 2);
insert into grandchildren values (1, 1), (2, 2);
update parents set id = 10 where id = 1;
delete from parents where id = 2;
delete from children where id = 1;
-- Tables that plugins may read are tables.
insert into catalogs values (1, 'x');
update catalogs set v = 'y';
-- CREATE TABLE AS: rows of a table that is published only afterwards are not its first ones.
create table made as select 1 as id, 'a' as v;
alter table made add primary key (id);
alter publication kinds add table made;
insert into made values (2, 'b');
-- Keys that change places: without an identity nobody knows which was which.
update swapped set id = -id;
update swapped set id = 3 + id;
begin;
update deferred set id = 3 - id;
commit;
delete from deferred where id = 1;
-- TRUNCATE of many tables is one change a table.
begin;
insert into many_1 values (1);
truncate many_1, many_2, many_3;
insert into many_3 values (1);
commit;
-- Locks and what is given up leave nothing.
begin;
select id from swapped where id = 1 for update;
lock table many_1 in access exclusive mode;
savepoint s;
insert into many_1 values (5);
rollback to s;
commit;
select line from kinds() k order by n;
\copy (select encode(data, 'hex') from pg_logical_slot_peek_binary_changes('kinds', null, null, 'publication_names', 'kinds, kinds_inserts')) to program 'stream_dump >stream.json'
\copy dumped (line) from stream.json with (format csv, quote e'\x01', delimiter e'\x02')
select * from formats_differ();
select count(*) > 30 as compared from dumped where line->>'kind' in ('insert', 'update', 'delete', 'truncate');
select pg_replication_slot_advance('kinds', pg_current_wal_lsn()) is not null as advanced;

-- A publication of all tables has those that CREATE TABLE AS and SELECT INTO make, from their first row.
create publication everything for all tables;
create table made_too as select g as id from generate_series(1, 2) g;
select 3 as id into made_three;
create table like_made (like made_too including all);
insert into like_made select * from made_too;
select data::jsonb->>'kind' as kind, data::jsonb->>'table' as "table", data::jsonb->'new' as new
from pg_logical_slot_peek_changes('kinds', null, null, 'publication_names', 'everything', 'format', 'json')
where data::jsonb->>'kind' = 'insert';
drop publication everything;

-- Virtual generated columns (18): not in the row, so neither null nor a value; before 18 there are none.
select pg_replication_slot_advance('kinds', pg_current_wal_lsn()) is not null as advanced;
do $$
begin
  if current_setting('server_version_num')::int >= 180000 then
    create table virtual_rows (id int primary key, a int);
    execute 'alter table virtual_rows add v int generated always as (a + 1) virtual, add b text default ''b''';
  else
    create table virtual_rows (id int primary key, a int, gone int);
    alter table virtual_rows drop gone, add b text default 'b';
  end if;
end $$;
alter publication kinds add table virtual_rows;
insert into virtual_rows (id, a) values (1, 1);
update virtual_rows set a = 2;
delete from virtual_rows;
select line - 'absent' as line from kinds() k order by n;
select count(*) filter (where line->'absent' = '["v"]') = case
  when current_setting('server_version_num')::int >= 180000 then 3 else 0 end as absent from kinds() k;
truncate dumped;
\copy (select encode(data, 'hex') from pg_logical_slot_peek_binary_changes('kinds', null, null, 'publication_names', 'kinds, kinds_inserts')) to program 'stream_dump >stream.json'
\copy dumped (line) from stream.json with (format csv, quote e'\x01', delimiter e'\x02')
select * from formats_differ();

select pg_drop_replication_slot('kinds');
drop publication kinds, kinds_inserts;
drop function kinds, formats_differ, note_change cascade;
drop table generated_rows, readded, frozen, triggered, trigger_log, grandchildren, children, parents, catalogs, deferred, swapped,
  many_1, many_2, many_3, made, made_too, made_three, like_made, virtual_rows, dumped;
