-- Rows and messages that are large, and rows that are too large for any message: these end what is known of their
-- table, with the reason, and nothing else. An error would come again at each start, for ever.
create table huge (id int primary key, bits varbit, v text);
alter table huge alter bits set compression lz4;
create table beside (id int primary key);
alter publication varve add table huge, beside;
create function sent(streaming text default 'off') returns table (kind text, what text)
language sql as $$
  select line->>'kind', coalesce(line->'new'->>'id', line->'key'->>'id', line->>'reason') from varve_lines('large',
    'streaming', streaming) line where line->>'kind' not in ('relation', 'stream_start', 'stream_stop')
$$;
create table dumped (n serial, line jsonb);
-- Bits are characters as text: 128 MB become more than the server ever allocates at once.
do $$ declare bits varbit := repeat('0', 1 << 20)::varbit; begin
  for i in 1..9 loop bits := bits || bits; end loop;
  insert into huge values (-2, bits || bits, 'v');
end $$;
select varve_slot('large');
begin;
insert into beside values (1);
insert into huge values (2, '1', 'v');
insert into huge select 3, bits, 'v' from huge where id = -2;
insert into huge values (4, '1', 'v');
insert into beside values (2);
commit;
update huge set v = 'w' where id = -2;
insert into beside values (3);
select * from sent();
\copy (select encode(data, 'hex') from pg_logical_slot_peek_binary_changes('large', null, null, 'publication_names', 'varve')) to program 'stream_dump >stream.json'
\copy dumped (line) from stream.json with (format csv, quote e'\x01', delimiter e'\x02')
select line->>'kind' as kind, coalesce(line->>'table', case when line ? 'oid' then (line->>'oid')::oid::regclass::text end) as "table", (line->>'seq')::int as seq
from dumped where line->>'kind' not in ('handshake', 'definition') order by n;
-- The slot moves on.
select pg_replication_slot_advance('large', pg_current_wal_lsn()) is not null as gone_on;
select * from sent();

-- The same in the middle of a streamed transaction.
set logical_decoding_work_mem = '64kB';
begin;
savepoint s;
insert into huge select 5, bits, 'v' from huge where id = -2;
insert into beside select generate_series(1001, 1400);
release s;
insert into huge values (6, '1', 'v');
commit;
select kind, case when kind = 'insert' and what::int > 1000 then 'many' else what end as what, count(*) > 1 as several
from sent('on') group by 1, 2 order by 1, 2;
reset logical_decoding_work_mem;
select pg_replication_slot_advance('large', pg_current_wal_lsn()) is not null as advanced;

-- A large value goes in one message.
create table long (id int primary key, content bytea);
alter table long alter content set storage external;
alter publication varve add table long;
insert into long values (1, convert_to(repeat('x', 64 * 1024 * 1024), 'UTF8'));
select octet_length(data) / (1024 * 1024) as mib from pg_logical_slot_get_binary_changes('large', null, null, 'publication_names', 'varve');
update long set id = 2;
select 1 from pg_logical_emit_message(true, repeat('p', 1024 * 1024), repeat('m', 1024 * 1024));
select line->>'kind' as kind, length(line->>'prefix') as prefix, length(line->>'content_base64') as content, line->'unchanged' as unchanged
from varve_changes('large', 'messages', 'on') line;

select pg_drop_replication_slot('large');
drop function sent;
drop table huge, beside, long, dumped;
