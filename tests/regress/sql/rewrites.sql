-- The rows that ALTER TABLE writes anew: what the option rewrites sends of them, against the table itself.
create table r (id int primary key, a int, note text);
alter table r alter note set storage external;
alter table r replica identity full;
create table stray (id int primary key, a int);
create table empty (id int primary key, a int);
alter publication varve add table r, stray, empty;
insert into r select g, g * 5, repeat('n', g * 1500) from generate_series(1, 3) g;
insert into stray values (1, 1);
create table under (id int primary key);
insert into under values (1);
create materialized view seen as select * from under;
set timezone = 'UTC';
select varve_slot('rewrites');

-- The changes with long texts cut, a rewrite's rows among them.
create function rewrite_changes(variadic options text[] default '{}') returns setof text
language sql as $$
  select concat_ws(' ', line->>'seq', line->>'kind', line->>'table', case when (line->>'rows')::boolean then 'with rows' end,
    regexp_replace(line->>'old', '(n{4})n+', '\1~', 'g'), regexp_replace(line->>'new', '(n{4})n+', '\1~', 'g'), line->>'unchanged')
  from varve_changes('rewrites', variadic options) line
$$;
-- What the newest rewrite of the table said that it holds, and what it does hold.
create function rewrite_holds(t regclass) returns table (sent bigint, held bigint, equal bool)
language plpgsql as $$
begin
  return query execute format($q$
    with lines as (select line, row_number() over () as n from varve_lines('rewrites', 'rewrites', 'on') line),
    sent as (select line->'new' as row from lines where line->>'kind' = 'rewrite' and line->>'table' = %L and line ? 'new'
      and n > (select max(n) from lines where (line->>'rows')::boolean and line->>'table' = %L)),
    held as (select to_jsonb(t) as row from %s t)
    select (select count(*) from sent), (select count(*) from held), not exists
      (select row from sent except all select row from held) and not exists (select row from held except all select row from sent)
    $q$, t, t, t);
end $$;

-- Other values in a column; then a change that has them as its old ones.
alter table r alter a type text using a || '!';
update r set id = 4 where id = 1;
select * from rewrite_changes();
select * from rewrite_changes('rewrites', 'on');
update r set id = 1 where id = 4;
select * from rewrite_holds('r');
select pg_replication_slot_advance('rewrites', pg_current_wal_lsn()) is not null as advanced;

-- A volatile default; a stored column; other types, also of the key; several at once and a name.
alter table r add at timestamptz default clock_timestamp();
select * from rewrite_holds('r');
alter table r add twice int generated always as (id * 2) stored;
select * from rewrite_holds('r');
alter table r drop twice;
alter table r alter id type bigint, drop column a, alter note type varchar(5000), add column u uuid default gen_random_uuid();
select * from rewrite_holds('r');
begin;
alter table r alter id type numeric;
alter table r rename to renamed;
alter table renamed rename to r;
commit;
select * from rewrite_holds('r');
-- A constant default is in no row until a rewrite.
alter table r add fixed int default 7;
insert into r (id, note) values (10, 'n');
alter table r alter fixed type text using fixed || '.';
select * from rewrite_holds('r');
select pg_replication_slot_advance('rewrites', pg_current_wal_lsn()) is not null as advanced;

-- Changes before, between and after rewrites of one transaction, which are told one by one; one that rolls back is not.
begin;
insert into stray values (2, 2), (3, 3);
alter table stray alter a type bigint using a + 100;
update stray set a = a + 1 where id = 2;
savepoint s;
alter table stray alter a type text;
insert into stray values (9, 'nine');
rollback to s;
delete from stray where id = 1;
alter table stray add b int default (random() * 0)::int;
insert into stray values (4, 4, 4);
commit;
select * from rewrite_changes('rewrites', 'on');
select * from rewrite_changes();
select pg_replication_slot_advance('rewrites', pg_current_wal_lsn()) is not null as advanced;
-- Another column with a default after a rewrite, then CLUSTER: the default's values are lost, and that is said. Not when
-- the rewrite came after it.
begin;
alter table stray alter a type int;
alter table stray add c int default 5;
cluster stray using stray_pkey;
commit;
select * from rewrite_changes('rewrites', 'on');
select pg_replication_slot_advance('rewrites', pg_current_wal_lsn()) is not null as advanced;
begin;
alter table stray add d int default 6;
alter table stray alter a type bigint;
cluster stray using stray_pkey;
commit;
select * from rewrite_changes('rewrites', 'on');
select * from rewrite_holds('stray');
select pg_replication_slot_advance('rewrites', pg_current_wal_lsn()) is not null as advanced;

-- No rewrites: VACUUM FULL, CLUSTER, a table without rows, a materialized view, a wider varchar.
vacuum full r;
cluster r using r_pkey;
alter table empty alter a type text;
refresh materialized view seen;
alter table r alter note type text;
create table made as select * from stray;
select * from rewrite_changes('rewrites', 'on');
select pg_replication_slot_advance('rewrites', pg_current_wal_lsn()) is not null as advanced;

-- In blocks of a transaction that is in progress: one rewrite, however many blocks there are.
set logical_decoding_work_mem = '64kB';
create table big (id int primary key, v text);
alter publication varve add table big;
insert into big select g, repeat('v', 200) from generate_series(1, 2000) g;
select pg_replication_slot_advance('rewrites', pg_current_wal_lsn()) is not null as advanced;
begin;
savepoint s;
alter table big alter v type varchar using v || '!';
update big set v = 'changed' where id = 1;
commit;
with lines as (select line, line->>'kind' as kind, line->>'subxid' as subxid
  from varve_lines('rewrites', 'rewrites', 'on', 'streaming', 'on') line),
  lost as (select subxid from lines where kind = 'stream_abort')
select count(*) filter (where kind = 'stream_start') > 1 as in_blocks,
  count(*) filter (where kind = 'rewrite' and line ? 'rows') as markers,
  count(*) filter (where kind = 'rewrite' and line ? 'new') as rows,
  count(*) filter (where kind = 'rewrite' and line->'new'->>'v' = repeat('v', 200) || '!') as right_rows,
  count(*) filter (where kind = 'update') as updates
from lines where subxid is null or subxid not in (select subxid from lost where subxid is not null);
-- The same in the binary stream, which the sidecar's decoder holds to its rules.
create table dumped_rewrites (n serial, line jsonb);
\copy (select encode(data, 'hex') from pg_logical_slot_peek_binary_changes('rewrites', null, null, 'publication_names', 'varve', 'rewrites', 'on', 'session', '00000000000000010123456789abcdef', 'batch_bytes', '2048')) to program 'stream_dump 00000000000000010123456789abcdef >rewrites.json'
\copy dumped_rewrites (line) from rewrites.json with (format csv, quote e'\x01', delimiter e'\x02')
select line->>'kind' as kind, line ? 'rows' as rows, count(*), count(distinct line->'new'->'id') as keys from dumped_rewrites
where line->>'table' = 'public.big' and line->>'kind' <> 'definition' group by 1, 2 order by 1, 2;
reset logical_decoding_work_mem;

select pg_drop_replication_slot('rewrites');
drop materialized view seen;
drop table r, stray, empty, made, under, big, dumped_rewrites;
drop function rewrite_changes, rewrite_holds;
