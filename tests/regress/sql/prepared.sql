-- Transactions in two phases: sent where they are prepared, ended by their identifier.
create table prepared (id int primary key, v text);
create table ignored (id int primary key);
alter publication varve add table prepared;
select varve_slot('prepared');
create function varve_prepared(slot name) returns setof jsonb language sql as $$
  select line - '{schema,identity,columns}'::text[] from varve_lines(slot, 'two_phase', 'on') line
$$;
create table dumped (n serial, line jsonb);
create view binary_lines as select line - '{xid,subxid,oid}'::text[] as line from dumped
where line->>'kind' not in ('handshake', 'definition') order by n;

begin;
insert into prepared values (1, 'a');
prepare transaction 'one';
-- It is there before it has committed.
select * from varve_prepared('prepared');
insert into prepared values (2, 'between');
commit prepared 'one';
-- The name is used again, to roll back.
begin;
insert into prepared values (3, 'b');
prepare transaction 'one';
rollback prepared 'one';
-- Nothing of interest, a savepoint that rolls back, and a message.
begin;
insert into ignored values (1);
prepare transaction 'nothing';
commit prepared 'nothing';
begin;
insert into prepared values (4, 'kept');
savepoint s;
insert into prepared values (5, 'voided');
rollback to s;
select 1 from pg_logical_emit_message(true, 'm', 'x');
prepare transaction 'savepoint';
commit prepared 'savepoint';
-- One that only locks a row is none: neither of its ends is told.
begin;
select * from prepared where id = 1 for update;
prepare transaction 'lock';
commit prepared 'lock';
-- The longest name, and characters that need care.
begin;
insert into prepared values (6, 'c');
select format('prepare transaction %L', repeat('g', 199)) \gexec
select format('rollback prepared %L', repeat('g', 199)) \gexec
begin;
insert into prepared values (7, 'd');
prepare transaction E'\\"''ä';
commit prepared E'\\"''ä';
select * from varve_prepared('prepared');
\copy (select encode(data, 'hex') from pg_logical_slot_peek_binary_changes('prepared', null, null, 'publication_names', 'varve', 'two_phase', 'on')) to program 'stream_dump --staged >stream.json'
\copy dumped (line) from stream.json with (format csv, quote e'\x01', delimiter e'\x02')
select * from binary_lines;
select count(distinct line->'xid') filter (where line->'gid' = '"one"') as xids, count(*) filter (where line->'gid' = '"one"') as lines from dumped;
-- Each end carries its place, later than what came before it.
select bool_and(position > before) as later, bool_and("time" is not null) as timed from (
  select (line->>'position')::pg_lsn as position, lag((line->>'position')::pg_lsn) over (order by n) as before, line->>'time' as "time"
  from (select data::jsonb as line, n from pg_logical_slot_peek_changes('prepared', null, null, 'publication_names', 'varve',
    'format', 'json', 'two_phase', 'on') with ordinality peeked (lsn, xid, data, n)) lines where line ? 'position') ends;
-- Without the option they come whole at their COMMIT PREPARED.
select line - '{schema,identity,columns}'::text[] from varve_lines('prepared') line where line->>'kind' <> 'relation';
select pg_replication_slot_advance('prepared', pg_current_wal_lsn()) is not null as advanced;

-- DDL inside, told where it is prepared; what was told before counts no longer when it has committed.
begin;
alter table prepared alter v set default 'x';
insert into prepared values (10, 'e');
prepare transaction 'ddl';
insert into ignored values (2);
commit prepared 'ddl';
alter table prepared alter v drop default;
begin;
alter table prepared alter v set default 'y';
create table made (id int primary key);
prepare transaction 'ddl';
rollback prepared 'ddl';
alter table prepared alter v set default 'y';
alter table prepared alter v drop default;
begin;
alter table prepared alter v set default 'z';
prepare transaction 'ddl';
commit prepared 'ddl';
alter table prepared alter v drop default;
begin;
create table made (id int primary key);
alter publication varve add table made;
insert into made values (1);
savepoint s;
alter table made add c int;
insert into made values (2, 3);
rollback to s;
prepare transaction 'ddl';
commit prepared 'ddl';
begin;
drop table made;
prepare transaction 'ddl';
commit prepared 'ddl';
select line->>'kind' as kind, line->'seq' as seq, line->'table' as "table", line->'gid' as gid,
  (select string_agg((c->>'name') || coalesce(' default ' || (c->>'default'), ''), ', ') from jsonb_array_elements(line->'columns') c) as columns
from varve_lines('prepared', 'two_phase', 'on') line;
truncate dumped;
\copy (select encode(data, 'hex') from pg_logical_slot_peek_binary_changes('prepared', null, null, 'publication_names', 'varve', 'two_phase', 'on', 'batch_bytes', '1024')) to program 'stream_dump --staged >stream.json'
\copy dumped (line) from stream.json with (format csv, quote e'\x01', delimiter e'\x02')
select * from binary_lines;
select pg_replication_slot_advance('prepared', pg_current_wal_lsn()) is not null as advanced;

-- Prepared in one session of the stream, committed in another: only the end comes, and the two belong together.
begin;
insert into prepared values (20, 'f');
prepare transaction 'split';
select count(*) from pg_logical_slot_get_changes('prepared', null, null, 'publication_names', 'varve', 'format', 'json', 'two_phase', 'on');
commit prepared 'split';
select * from varve_prepared('prepared');
begin;
insert into ignored values (3);
prepare transaction 'split';
select count(*) from pg_logical_slot_get_changes('prepared', null, null, 'publication_names', 'varve', 'format', 'json', 'two_phase', 'on');
rollback prepared 'split';
select * from varve_prepared('prepared');
truncate dumped;
\copy (select encode(data, 'hex') from pg_logical_slot_peek_binary_changes('prepared', null, null, 'publication_names', 'varve', 'two_phase', 'on')) to program 'stream_dump --staged >stream.json'
\copy dumped (line) from stream.json with (format csv, quote e'\x01', delimiter e'\x02')
select * from binary_lines;
select pg_replication_slot_advance('prepared', pg_current_wal_lsn()) is not null as advanced;

-- Prepared before the slot was one for it: the rows come at the COMMIT PREPARED, as prepared, with their old place.
select varve_slot('late');
begin;
insert into prepared values (30, 'g');
prepare transaction 'late';
select count(*) from varve_lines('late');
select pg_replication_slot_advance('late', pg_current_wal_lsn()) is not null as advanced;
select count(*) from varve_lines('late', 'two_phase', 'on');
commit prepared 'late';
select * from varve_prepared('late');
truncate dumped;
\copy (select encode(data, 'hex') from pg_logical_slot_peek_binary_changes('late', null, null, 'publication_names', 'varve', 'two_phase', 'on')) to program 'stream_dump --staged >stream.json'
\copy dumped (line) from stream.json with (format csv, quote e'\x01', delimiter e'\x02')
select * from binary_lines;
select pg_drop_replication_slot('late');
select pg_replication_slot_advance('prepared', pg_current_wal_lsn()) is not null as advanced;

-- Streamed and then prepared: what is left of it, its name, its end.
set logical_decoding_work_mem = '64kB';
begin;
insert into prepared select g, repeat('v', 200) from generate_series(1001, 1600) g;
savepoint s;
insert into prepared select g, repeat('v', 200) from generate_series(1601, 2200) g;
rollback to s;
alter table prepared add c int;
insert into prepared select g, repeat('v', 200), g from generate_series(2201, 2300) g;
prepare transaction 'streamed';
begin;
insert into ignored select generate_series(1001, 3000);
prepare transaction 'ignored';
commit prepared 'ignored';
truncate dumped;
\copy (select encode(data, 'hex') from pg_logical_slot_peek_binary_changes('prepared', null, null, 'publication_names', 'varve', 'two_phase', 'on', 'streaming', 'on')) to program 'stream_dump --staged >stream.json'
\copy dumped (line) from stream.json with (format csv, quote e'\x01', delimiter e'\x02')
select line->>'kind' as kind, line->'gid' as gid, line->'begin' as begin, (line->'gid_seq')::int =
  1 + (select max((s.line->>'seq')::int) from dumped s where s.line->'xid' = dumped.line->'xid') as follows
from dumped where line ? 'gid' order by n;
select line->>'kind' as kind, line->'gid' as gid, count(*) > 1 as several
from varve_lines('prepared', 'two_phase', 'on') line group by 1, 2 order by 1, 2;
select line->>'kind' as kind, line->'gid' as gid, count(*) > 1 as several
from varve_lines('prepared', 'two_phase', 'on', 'streaming', 'on') line group by 1, 2 order by 1, 2;
commit prepared 'streamed';
-- With streaming alone it is streamed like any other.
select line->>'kind' as kind, count(*) > 1 as several from varve_lines('prepared', 'streaming', 'on') line
where line->>'kind' <> 'stream_abort' group by 1 order by 1;
select pg_replication_slot_advance('prepared', pg_current_wal_lsn()) is not null as advanced;
begin;
insert into prepared select g, repeat('v', 200), g from generate_series(3001, 3600) g;
prepare transaction 'streamed';
select count(*) > 600 as sent from pg_logical_slot_get_changes('prepared', null, null, 'publication_names', 'varve', 'format', 'json', 'two_phase', 'on', 'streaming', 'on');
rollback prepared 'streamed';
select * from varve_prepared('prepared');
reset logical_decoding_work_mem;

select pg_drop_replication_slot('prepared');
drop view binary_lines;
drop table prepared, ignored, dumped;
drop function varve_prepared;
