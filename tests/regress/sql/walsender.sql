-- The plugin in a walsender: options without a value, and the same lines as the SQL functions give.
create table replicated (id int primary key, v text);
alter publication varve add table replicated;
select varve_slot('walsender');
create table lines (n serial, line jsonb);
create table ignored (id int primary key);
insert into replicated values (1, 'a'), (2, 'b');
select 1 from pg_logical_emit_message(false, 'p', 'c');
update replicated set v = 'c' where id = 1;
select pg_current_wal_lsn() as "end" \gset
\setenv END :end
\setenv PGHOST :HOST
\! pg_recvlogical -d varve_regress --slot walsender --start --no-loop -f - --endpos $END -o publication_names 2>&1 | grep -v 'disconnected$' | grep -o 'ERROR.*'
\! pg_recvlogical -d varve_regress --slot walsender --start --no-loop -f - --endpos $END -o publication_names=varve -o streaming=parallel 2>&1 | grep -o 'ERROR.*'
\! pg_recvlogical -d varve_regress --slot walsender --start --no-loop -f - --endpos $END -o publication_names=varve -o two_phase=perhaps 2>&1 | grep -o 'ERROR.*'
\! pg_recvlogical -d varve_regress --slot walsender --start --no-loop -f - --endpos $END -o publication_names=varve -o session 2>&1 | grep -o 'ERROR.*'
\! pg_recvlogical -d varve_regress --slot walsender --start --no-loop -f - --endpos $END -o publication_names=varve -o nonsense 2>&1 | grep -o 'ERROR.*'
\! for option in format transport origin batch_bytes format= origin= session= transport=zmq 'batch_bytes=1 -o batch_bytes=2' 'format=json -o format=json'; do pg_recvlogical -d varve_regress --slot walsender --start --no-loop -f - --endpos $END -o publication_names=varve -o $option 2>&1 | grep -o 'ERROR.*'; done

create temp table peeked as select row_number() over () as n, data::jsonb as line
from pg_logical_slot_peek_changes('walsender', null, null, 'publication_names', 'varve', 'format', 'json');
\! pg_recvlogical -d varve_regress --slot walsender --start --no-loop -f lines.json --endpos $END -o publication_names=varve -o format=json -o messages
\copy lines (line) from program 'grep . lines.json' with (format csv, quote e'\x01', delimiter e'\x02')
select count(*) as lines, count(*) filter (where l.line = p.line) as equal from lines l full join peeked p using (n);
select l.line, p.line from lines l full join peeked p using (n) where (l.line = p.line) is not true;

-- What is filtered moves the slot all the same: confirmed up to where the client asked to go.
begin;
insert into ignored select generate_series(1, 20000);
commit;
select pg_current_wal_lsn() as "end" \gset
\setenv END :end
\! timeout 60 pg_recvlogical -d varve_regress --slot walsender --start --no-loop -f - --endpos $END -o publication_names=varve -o format=json | grep -c insert
select confirmed_flush_lsn >= :'end' as confirmed from pg_replication_slots where slot_name = 'walsender';

-- Streamed and prepared transactions, asked for by options without a value: the same lines, and the slot moves behind them.
set logical_decoding_work_mem = '64kB';
\setenv PGOPTIONS '-c logical_decoding_work_mem=64kB'
begin;
insert into replicated select g, 'v' from generate_series(1001, 2000) g;
savepoint s;
insert into replicated select g, 'w' from generate_series(2001, 3000) g;
rollback to s;
commit;
begin;
insert into replicated select g, 'v' from generate_series(3001, 4000) g;
prepare transaction 'walsender';
commit prepared 'walsender';
begin;
insert into ignored select generate_series(20001, 30000);
commit;
truncate lines restart identity;
select pg_current_wal_lsn() as "end" \gset
\setenv END :end
\! timeout 60 pg_recvlogical -d varve_regress --slot walsender --start --no-loop -f lines.json --endpos $END -o publication_names=varve -o format=json -o streaming -o two_phase
\copy lines (line) from program 'grep . lines.json' with (format csv, quote e'\x01', delimiter e'\x02')
select line->>'kind' as kind, line->'gid' as gid, count(*) > 1 as several from lines where line->>'kind' <> 'relation' group by 1, 2 order by 1, 2;
select count(*) filter (where line->>'kind' = 'stream_start') = count(*) filter (where line->>'kind' = 'stream_stop') as paired from lines;
select confirmed_flush_lsn >= :'end' as confirmed, two_phase from pg_replication_slots where slot_name = 'walsender';
\setenv PGOPTIONS
reset logical_decoding_work_mem;

-- Messages of small transactions are sent together: none is missing or twice,
create procedure update_singly(total int) language plpgsql as $$
begin
  for i in 1 .. total loop
    update replicated set v = 'row ' || i where id = 1 + i % 2;
    commit;
    insert into ignored values (100000 + i);
    commit;
  end loop;
end $$;
call update_singly(500);
select sum(length(data) + 1) as bytes, count(*) > 400 as many from pg_logical_slot_peek_binary_changes('walsender', null, null, 'publication_names', 'varve') \gset
select pg_current_wal_lsn() as "end" \gset
\setenv END :end
\setenv BYTES :bytes
\! timeout 60 pg_recvlogical -d varve_regress --slot walsender --start --no-loop -f singly.bin --endpos $END -o publication_names=varve
\! [ "$(stat -c %s singly.bin)" = "$BYTES" ] && echo as many bytes
\echo :many
-- and the last of them comes although nothing follows it in the WAL.
\! timeout 120 pg_recvlogical -d varve_regress --slot walsender --start --no-loop -f prompt.bin -o publication_names=varve >/dev/null 2>&1 & echo $! >prompt.pid
\! for i in 1 2 3 4 5 6 7 8; do psql -XqAt -d varve_regress -c "update replicated set v = 'one' where id = 1" -c "update replicated set v = 'two' where id = 1" -c "update replicated set v = 'mark $i.' where id = 1"; for wait in $(seq 60); do grep -qa "mark $i\." prompt.bin 2>/dev/null && break; sleep 0.1; done; grep -ca "mark $i\." prompt.bin; done | sort | uniq -c
\! kill "$(cat prompt.pid)"; for wait in $(seq 100); do [ "$(psql -XqAt -d varve_regress -c "select active from pg_replication_slots where slot_name = 'walsender'")" = f ] && break; sleep 0.1; done

drop procedure update_singly;
select pg_drop_replication_slot('walsender');
drop table replicated, lines, ignored;
