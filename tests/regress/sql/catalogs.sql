-- What happens to the server's own tables while changes wait to be decoded; values that are TOASTed in every way; who
-- may decode, where to, and from which slot.
create table watched (id serial primary key, v text, w text);
alter table watched alter v set storage external, alter w set storage external;
create table wide_keys (id text primary key, v text, w text);
alter table wide_keys alter id set storage external, alter v set storage external;
create table wide_rows (id serial primary key, k text, v text, w text);
alter table wide_rows replica identity full;
alter table wide_rows alter k set storage external, alter v set storage external, alter w set storage external;
alter publication varve add table watched, wide_keys, wide_rows;
select varve_slot('catalogs');

-- Catalogs are written anew, those with a TOAST table of their own, of this database and of all, and their indexes.
create role regress_varve_described nologin;
select repeat(string_agg(md5(g::text), ''), 5) as long from generate_series(1, 1000) g \gset
create function long_function() returns text language sql immutable as $$ select 'x' $$;
comment on function long_function() is :'long';
comment on role regress_varve_described is :'long';
insert into watched (v) values ('before');
begin;
insert into watched (v) values ('then');
alter table watched add x int;
insert into watched (v, x) values ('after it', 1);
commit;
vacuum full pg_type;
vacuum full pg_attribute;
vacuum full pg_description;
vacuum full pg_shdescription;
insert into watched (v, x) values ('between', 2);
begin;
cluster pg_class using pg_class_oid_index;
cluster pg_class using pg_class_oid_index;
rollback;
begin;
cluster pg_class using pg_class_oid_index;
insert into watched (v, x) values ('in the middle', 3);
alter table watched add y int;
cluster pg_class using pg_class_oid_index;
insert into watched (v, x, y) values ('in the middle', 3, 4);
commit;
vacuum full pg_class;
reindex table pg_class;
reindex index pg_class_tblspc_relfilenode_index;
alter table watched drop y;
insert into watched (v, x) values ('at last', 4);
checkpoint;
select * from varve_replays('catalogs', 'watched');
select pg_replication_slot_advance('catalogs', pg_current_wal_lsn()) is not null as advanced;
truncate watched;
select pg_replication_slot_advance('catalogs', pg_current_wal_lsn()) is not null as advanced;
drop function long_function;
drop role regress_varve_described;

-- Values that are TOASTed or not, beside each other, by INSERT, by COPY in one record for many rows, by UPDATE, by an
-- upsert that needs the old value, as a key, as an old row larger than a page.
insert into watched (v, w) select string_agg(g::text, ''), string_agg((g * 2)::text, '') from generate_series(1, 2000) g;
insert into watched (w) select repeat(string_agg(to_char(g, 'FM0000'), ''), 50) from generate_series(1, 500) g;
update watched set v = (select string_agg(g::text, ' ') from generate_series(1, 1500) g) where id % 2 = 0;
update watched set x = 1;
insert into watched (id, w) select max(id), 'upsert' from watched on conflict (id) do update set w = excluded.w || watched.w;
delete from watched where id = (select min(id) from watched);
copy watched (v, x) from program 'for i in $(seq 300); do if [ $((i % 50)) = 7 ]; then printf "%s%03000d\t%s\n" long $i $i; else printf "%s\t%s\n" short $i; fi; done';
update watched set x = -x where x % 3 = 0;
insert into wide_keys (id, v) values (repeat('1234567890', 250), repeat('9876543210', 250)), ('short', repeat('0', 3000));
update wide_keys set w = v;
update wide_keys set id = id || '1';
update wide_keys set id = 's' where id = 'short1';
insert into wide_rows (k) values (repeat('9876543210', 10000)), ('short');
update wide_rows set v = k;
update wide_rows set w = v;
set logical_decoding_work_mem = '64kB';
begin;
insert into wide_rows (k) select g from generate_series(1, 1500) g;
update wide_rows set v = w || 'w' where id <= 2;
delete from wide_rows where id % 10 = 1;
commit;
select * from varve_replays('catalogs', 'watched');
select * from varve_replays('catalogs', 'wide_keys');
select * from varve_replays('catalogs', 'wide_rows');
reset logical_decoding_work_mem;
-- The same once the values are nowhere but in the WAL.
create temp table expected as select md5(string_agg(l::text, ' ' order by n)) as lines
from varve_changes('catalogs') with ordinality as c (l, n);
drop table watched, wide_keys, wide_rows;
checkpoint;
select (select md5(string_agg(l::text, ' ' order by n)) from varve_changes('catalogs') with ordinality as c (l, n)) = lines as same from expected;
select pg_replication_slot_advance('catalogs', pg_current_wal_lsn()) is not null as advanced;

-- Decoded in a transaction that has written, and into a table: nothing is decoded twice or of itself.
create table decoded (id int primary key, line text);
create table plain (id int primary key);
alter publication varve add table decoded, plain;
select pg_replication_slot_advance('catalogs', pg_current_wal_lsn()) is not null as advanced;
insert into plain values (1);
begin;
insert into plain values (2);
create temp table made as select count(*) filter (where l->>'kind' = 'insert') as rows from varve_lines('catalogs') l;
select * from made;
commit;
insert into decoded select row_number() over (), data from pg_logical_slot_get_changes('catalogs', null, null, 'publication_names',
  'varve', 'format', 'json') where data like '%"insert"%';
select id, line::jsonb->'new' as new from decoded;
select line->>'table' as "table", line->'new'->'id' as id from varve_changes('catalogs') line;

-- Two slots in one session, one of them temporary: each goes its own way.
select pg_create_logical_replication_slot('other', 'varve', true) is not null as created;
insert into plain values (3);
select slot, (select jsonb_agg(line->'new'->'id') from varve_changes(slot::name) line where line->>'table' = 'plain') as ids
from unnest('{catalogs,other,catalogs}'::text[]) slot;
select pg_drop_replication_slot('other');

-- The time of a commit is when it committed.
select pg_replication_slot_advance('catalogs', pg_current_wal_lsn()) is not null as advanced;
select clock_timestamp() as before \gset
insert into plain values (4);
select count(*) as commits, bool_and((data::jsonb->>'time')::timestamptz between :'before' and clock_timestamp()) as in_time
from pg_logical_slot_peek_changes('catalogs', null, null, 'publication_names', 'varve', 'format', 'json') where data like '%"commit"%';

-- Who may replicate may decode, whatever he may read; who may not, may not. What sends it asks for no more.
create role regress_varve_plain;
create role regress_varve_replicates replication;
create function try(statement text) returns text language plpgsql as $$
begin
  execute statement;
  return 'done';
exception when insufficient_privilege then return 'refused';
end $$;
set role regress_varve_plain;
select try($$select count(*) from varve_changes('catalogs')$$) as decodes,
  try($$select pg_create_logical_replication_slot('refused', 'varve')$$) as makes_a_slot;
set role regress_varve_replicates;
select try('select count(*) from plain') as reads, (select count(*) from varve_changes('catalogs')) as changes;
reset role;
drop function try;
drop role regress_varve_plain, regress_varve_replicates;

select pg_drop_replication_slot('catalogs');
drop table decoded, plain;
