-- Transactions that are sent while they are in progress: in blocks, parts of which roll back.
set logical_decoding_work_mem = '64kB';
create table streamed (id int primary key, v text);
alter table streamed alter v set storage external;
alter publication varve add table streamed;
select varve_slot('stream');

-- The lines in order, those of a kind that follow each other as one; xids and subxids by when they first appear.
create function varve_stream(slot name) returns table (kind text, x bigint, sub bigint, first_id text, last_id text, other text)
language sql as $$
  with lines as (
    select n, data::jsonb as line, data::jsonb->>'kind' as kind, data::jsonb->>'xid' as xid,
      coalesce(data::jsonb->>'subxid', data::jsonb->>'xid') as subxid
    from pg_logical_slot_peek_changes(slot, null, null, 'publication_names', 'varve', 'format', 'json', 'streaming', 'on')
      with ordinality peeked (lsn, xid, data, n)),
  ranks as (
    select xid, dense_rank() over (order by min(n)) as rank from
      (select n, xid from lines union all select n + 0.5, subxid from lines) all_xids group by xid),
  shown as (
    select n, line, lines.kind, t.rank as x, nullif(s.rank, t.rank) as sub,
      count(*) filter (where lines.kind not in ('stream_start', 'stream_stop')) over (order by n) -
      row_number() over (partition by lines.kind, t.rank, s.rank order by n) as run
    from lines left join ranks t using (xid) left join ranks s on s.xid = subxid),
  -- How much was sent of what rolled back is a matter of time.
  blocks as (select shown.*, case when not exists (select from shown a where a.kind = 'stream_abort' and a.x = shown.x and
        a.sub is not distinct from shown.sub) then line->'new'->>'id' end as id
    from shown where kind not in ('stream_start', 'stream_stop'))
  select kind, x, sub, (array_agg(id order by n))[1], (array_agg(id order by n desc))[1],
    case kind when 'relation' then (select string_agg((c->>'name') || ' ' || (c->'type'->>'name'), ', ')
        from jsonb_array_elements(min(line::text)::jsonb->'columns') c) || case when min(line::text)::jsonb ? 'seq' then ' told' else '' end
      when 'message' then min(line->>'prefix') when 'insert' then count(id)::text end
  from blocks group by kind, x, sub, run order by min(n)
$$;
-- What the binary stream has of it, read with the sidecar's decoder, which holds it to the rules.
create table dumped (n serial, line jsonb);

-- Sub-transactions that roll back, TRUNCATE and messages inside, a TOASTed value, and a transaction that rolls back.
begin;
insert into streamed select g, repeat('v', 200) from generate_series(1, 300) g;
savepoint s;
insert into streamed select g, repeat('v', 200) from generate_series(301, 600) g;
select 1 from pg_logical_emit_message(true, 'voided', 'x');
rollback to s;
insert into streamed values (601, repeat('b', 9000));
truncate streamed;
select 1 from pg_logical_emit_message(true, 'kept', 'x');
insert into streamed values (602, 'last');
commit;
begin;
insert into streamed select g, repeat('v', 200) from generate_series(1001, 1300) g;
rollback;
select * from varve_stream('stream');
-- The same without the option: nothing of this shows.
select line->>'kind' as kind, min(line->'new'->>'id') as "from", max(line->'new'->>'id') as "to", count(*)
from varve_lines('stream') line group by 1 order by 1;
\copy (select encode(data, 'hex') from pg_logical_slot_peek_binary_changes('stream', null, null, 'publication_names', 'varve', 'streaming', 'on')) to program 'stream_dump --staged >stream.json'
\copy dumped (line) from stream.json with (format csv, quote e'\x01', delimiter e'\x02')
-- Without what rolled back, as a reader drops it: one row.
create view kept as
select d.n, d.line, coalesce(d.line->>'subxid', d.line->>'xid') as subxid from dumped d where d.line ? 'seq' and not exists (
  select from dumped a where a.line->>'kind' = 'stream_abort' and a.line->'xid' = d.line->'xid' and
    a.line->'subxid' in (d.line->'xid', coalesce(d.line->'subxid', d.line->'xid')));
select line->>'kind' as kind, count(*), count(line->'subxid') as subs from kept group by 1 order by 1;
select line->>'kind' as kind, (line->'subxid' = line->'xid')::text as whole, count(*) > 0 as some, bool_or((line->>'begin')::bool) as begins
from dumped where not line ? 'seq' and line->>'kind' <> 'handshake' group by 1, 2 order by 1, 2;
select line->'new' as new from kept where line->>'kind' = 'insert' and n > (select max(n) from kept where line->>'kind' = 'truncate');
-- A reader that did not ask for them refuses them.
\copy (select encode(data, 'hex') from pg_logical_slot_peek_binary_changes('stream', null, null, 'publication_names', 'varve', 'streaming', 'on')) to stream.hex
\! stream_dump <stream.hex 2>&1 | grep -o 'stream_dump.*(flags'
select pg_replication_slot_advance('stream', pg_current_wal_lsn()) is not null as advanced;

-- Values that an update does not touch, and keys that change, in a stream.
insert into streamed values (1, repeat('x', 5000));
select pg_replication_slot_advance('stream', pg_current_wal_lsn()) is not null as advanced;
begin;
insert into streamed select g, repeat('y', 3000) from generate_series(2, 200) g;
update streamed set id = 1000 where id = 1;
delete from streamed where id = 2;
insert into streamed select g, repeat('z', 100) from generate_series(2001, 3000) g;
commit;
select line->>'kind' as kind, min(length(line->'new'->>'v')) as shortest, max(length(line->'new'->>'v')) as longest,
  max((line->'unchanged')::text) as unchanged, max((line->'key')::text) as key, count(*), max((line->>'seq')::int) as seq
from varve_lines('stream', 'streaming', 'on') line where line ? 'seq' group by 1 order by 1;
select pg_replication_slot_advance('stream', pg_current_wal_lsn()) is not null as advanced;
truncate streamed;

-- DDL inside: what the table is at the end of each block; DDL that rolls back is taken back.
begin;
insert into streamed select g, repeat('v', 200) from generate_series(1, 300) g;
alter table streamed add c int default 7;
insert into streamed select g, repeat('v', 200) from generate_series(301, 600) g;
savepoint s;
alter table streamed add d int;
create table made (id int primary key);
alter publication varve add table made;
insert into made select generate_series(1, 1000);
insert into streamed select g, repeat('v', 200) from generate_series(601, 1200) g;
rollback to s;
commit;
select * from varve_stream('stream') where kind not in ('insert');
truncate dumped;
\copy (select encode(data, 'hex') from pg_logical_slot_peek_binary_changes('stream', null, null, 'publication_names', 'varve', 'streaming', 'on')) to program 'stream_dump --staged >stream.json'
\copy dumped (line) from stream.json with (format csv, quote e'\x01', delimiter e'\x02')
select line->>'kind' as kind, line->'table' as "table", count(*) from kept where line->>'kind' <> 'insert' group by 1, 2 order by 1, 2;
-- The last that is said of each table.
select distinct on (coalesce(line->>'table', line->>'oid')) line->>'kind' as kind, line->>'table' as "table" from kept
where line->>'kind' in ('relation', 'drop', 'untrack') order by coalesce(line->>'table', line->>'oid'), n desc;
select pg_replication_slot_advance('stream', pg_current_wal_lsn()) is not null as advanced;

-- What was told inside a transaction that rolls back holds nowhere else, nor what was told before one that commits.
begin;
alter table streamed alter c set default 8;
insert into streamed select g, repeat('v', 200) from generate_series(2001, 2600) g;
rollback;
alter table streamed alter c set default 9;
insert into streamed values (3001, 'nine');
begin;
alter table streamed alter c set default 10;
insert into streamed select g, repeat('v', 200) from generate_series(4001, 4600) g;
commit;
alter table streamed alter c set default 9;
select x, line->'columns'->2->>'default' as "default", line ? 'seq' as told from
  (select dense_rank() over (order by (data::jsonb->>'xid')::int) as x, data::jsonb as line from
    pg_logical_slot_peek_changes('stream', null, null, 'publication_names', 'varve', 'format', 'json', 'streaming', 'on')) l
where line->>'kind' = 'relation';
select pg_replication_slot_advance('stream', pg_current_wal_lsn()) is not null as advanced;

-- A rewrite is told in every subtransaction that has one. The tables in between take the places of catalog rows that
-- rolled back: the server itself mixes up what comes there next (18.6: unexpected duplicate for tablespace 0).
begin;
insert into streamed (id, v) select g, repeat('v', 200) from generate_series(5001, 5600) g;
savepoint s;
alter table streamed alter c type bigint;
insert into streamed (id, v) select g, repeat('v', 200) from generate_series(5601, 6200) g;
rollback to s;
savepoint s;
do $$ begin for i in 1..60 loop execute format('create table filler_%s (id int)', i); end loop; end $$;
alter table streamed alter c type numeric;
do $$ begin for i in 1..60 loop execute format('drop table filler_%s', i); end loop; end $$;
commit;
truncate dumped;
\copy (select encode(data, 'hex') from pg_logical_slot_peek_binary_changes('stream', null, null, 'publication_names', 'varve', 'streaming', 'on')) to program 'stream_dump --staged >stream.json'
\copy dumped (line) from stream.json with (format csv, quote e'\x01', delimiter e'\x02')
select count(*) > 0 as rewritten, min(line->>'table') as "table" from kept where line->>'kind' = 'rewrite';
select pg_replication_slot_advance('stream', pg_current_wal_lsn()) is not null as advanced;

-- Tables that nobody asked for, and messages that nobody wants: not a line.
create table ignored (id int primary key, v text);
begin;
insert into ignored select g, repeat('v', 200) from generate_series(1, 1000) g;
select 1 from pg_logical_emit_message(true, 'm', 'x');
savepoint s;
insert into ignored select g, repeat('v', 200) from generate_series(1001, 2000) g;
rollback to s;
commit;
begin;
insert into ignored select g, repeat('v', 200) from generate_series(2001, 3000) g;
rollback;
select count(*) from varve_lines('stream', 'streaming', 'on', 'messages', 'off');
select count(*) from pg_logical_slot_peek_binary_changes('stream', null, null, 'publication_names', 'varve', 'streaming', 'on', 'messages', 'off');
-- A subtransaction of which only a message was sent.
begin;
insert into streamed (id, v) select g, repeat('v', 200) from generate_series(7001, 7600) g;
savepoint s;
insert into ignored select g, repeat('v', 200) from generate_series(3001, 4000) g;
select 1 from pg_logical_emit_message(true, 'voided', 'x');
insert into ignored select g, repeat('v', 200) from generate_series(4001, 5000) g;
rollback to s;
savepoint t;
insert into ignored select g, repeat('v', 200) from generate_series(5001, 6000) g;
rollback to t;
commit;
select kind, x, sub, other from varve_stream('stream');
select pg_replication_slot_advance('stream', pg_current_wal_lsn()) is not null as advanced;

-- Settings that text depends on are pinned in each block and back after it, whatever happens.
create table texts (id int primary key, m money, ts timestamptz[], r tstzrange);
alter publication varve add table texts;
set timezone = 'Asia/Kolkata';
set datestyle = 'SQL, DMY';
begin;
insert into texts select g, 1.5, array['2024-01-01 00:00+00'::timestamptz], '[2024-01-01 00:00+00,)' from generate_series(1, 1000) g;
commit;
truncate dumped;
\copy (select encode(data, 'hex') from pg_logical_slot_peek_binary_changes('stream', null, null, 'publication_names', 'varve', 'streaming', 'on')) to program 'stream_dump --staged >stream.json'
\copy dumped (line) from stream.json with (format csv, quote e'\x01', delimiter e'\x02')
show timezone;
show datestyle;
select line->'new'->>'r' as r, count(*) from kept where line->>'kind' = 'insert' group by 1;
reset timezone;
reset datestyle;
select pg_replication_slot_advance('stream', pg_current_wal_lsn()) is not null as advanced;

-- A transaction that has rolled back when it is decoded: where the plugin notices, in the middle of reading what a
-- table is or which tables a publication has, it ends the block and keeps nothing half read.
create table fresh (id int primary key, r tstzrange);
create table added (id int primary key);
create publication second;
alter publication varve add table fresh;
select pg_replication_slot_advance('stream', pg_current_wal_lsn()) is not null as advanced;
insert into fresh values (1, '[2024-01-01 00:00+00,)');
insert into texts values (2001, 1.5, null, '[2024-01-01 00:00+00,)');
begin;
insert into texts select g, 1.5, null, '[2024-01-01 00:00+00,)' from generate_series(3001, 3600) g;
select 1 from pg_logical_emit_message(true, 'm', 'x');
insert into fresh select g, '[2024-01-01 00:00+00,)' from generate_series(2, 1000) g;
rollback;
alter publication varve add table added;
begin;
insert into fresh select g from generate_series(2, 1000) g;
rollback;
insert into fresh values (2000, '[2024-01-01 00:00+00,)');
alter publication second set (publish = 'insert');
begin;
insert into fresh select g from generate_series(2, 1000) g;
rollback;
insert into fresh values (3000);
set timezone = 'Asia/Kolkata';
select data::jsonb->'new'->>'id' as id from pg_logical_slot_peek_changes('stream', null, null, 'publication_names', 'second,varve',
  'format', 'json', 'streaming', 'on') where data::jsonb->'new'->>'id' in ('1', '2000', '2001', '3000');
show timezone;
reset timezone;
truncate dumped;
\copy (select encode(data, 'hex') from pg_logical_slot_peek_binary_changes('stream', null, null, 'publication_names', 'second,varve', 'streaming', 'on')) to program 'stream_dump --staged >stream.json'
\copy dumped (line) from stream.json with (format csv, quote e'\x01', delimiter e'\x02')
select line->'new' as new from kept where line->>'kind' = 'insert';
drop publication second;

-- Many that roll back leave no memory behind.
create procedure roll_back(times int) language plpgsql as $$
begin
  for i in 1..times loop
    insert into streamed (id, v) select 100000 + g, repeat('v', 200) from generate_series(1, 400) g;
    rollback;
  end loop;
end $$;
call roll_back(100);
select count(*) > -1 as decoded from varve_lines('stream', 'streaming', 'on');
select count(*) from pg_backend_memory_contexts where name like 'varve%';

select pg_drop_replication_slot('stream');
drop view kept;
drop table dumped, streamed, ignored, texts, fresh, added;
drop function varve_stream;
drop procedure roll_back;
reset logical_decoding_work_mem;
