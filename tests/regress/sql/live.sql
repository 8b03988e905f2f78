-- A client that listens while transactions are in progress: it hears of subtransactions before they roll back.
create table live (id int primary key, v text);
create table lines (n serial, line jsonb);
alter publication varve add table live;
select varve_slot('live');
\setenv PGHOST :HOST
\setenv PGOPTIONS '-c logical_decoding_work_mem=64kB'
\! timeout 120 pg_recvlogical -d varve_regress --slot live --start --no-loop -f live.json -o publication_names=varve -o format=json -o streaming -o two_phase >/dev/null 2>&1 & echo $! >live.pid

-- DDL in a subtransaction that rolls back: a column, a table, a table that leaves.
create table leaves (id int primary key);
alter publication varve add table leaves;
begin;
insert into live select g, repeat('v', 200) from generate_series(1, 600) g;
savepoint s;
alter table live add d int;
create table made (id int primary key);
alter publication varve add table made;
alter publication varve drop table leaves;
insert into made select generate_series(1, 1000);
insert into live select g, repeat('v', 200) from generate_series(601, 1200) g;
\! for i in $(seq 300); do grep '"seq".*"table": "live"' live.json 2>/dev/null | grep -q '"name": "d"' && grep -q '"kind": "relation".*"seq".*"table": "made"' live.json && grep -q '"kind": "untrack"' live.json && break; sleep 0.1; done
rollback to s;
commit;
\! for i in $(seq 300); do grep -q '"kind": "stream_commit"' live.json && break; sleep 0.1; done
\copy lines (line) from program 'grep . live.json' with (format csv, quote e'\x01', delimiter e'\x02')
create view tables as select oid::text, relname from pg_class;
create table told as select n, line->>'kind' as kind, coalesce(line->>'table', relname, 'made') as name,
  (select string_agg(c->>'name', ', ') from jsonb_array_elements(line->'columns') c) as columns,
  line ? 'subxid' as sub from lines left join tables on oid = line->>'oid'
where line->>'kind' in ('relation', 'drop', 'untrack') and line ? 'seq' and n >
  (select min(n) from lines where line->>'kind' = 'stream_start');
-- What was said first inside, and what holds at the end.
select distinct on (name) name, kind, columns, sub from told order by name, n;
select distinct on (name) name, kind, columns, sub from told order by name, n desc;
select count(distinct line->'xid') as transactions, count(distinct line->'subxid') filter (where line->>'kind' = 'stream_abort') as aborts,
  max((line->'new'->>'id')::int) filter (where line->>'kind' = 'insert' and not line ? 'subxid') as kept from lines where line->>'kind' like 'stream%' or line ? 'new';

-- A definition told in a transaction that rolls back is told again by the next that has it.
begin;
alter table live alter v set default 'x';
insert into live select g, repeat('v', 200) from generate_series(2001, 2600) g;
\! for i in $(seq 300); do grep '"seq".*"table": "live"' live.json | grep -q '"default": ' && break; sleep 0.1; done
rollback;
alter table live alter v set default 'x';
\! for i in $(seq 300); do grep -A1 '"kind": "begin"' live.json | grep '"seq".*"table": "live"' | grep -q '"default": ' && break; sleep 0.1; done
truncate lines restart identity;
\copy lines (line) from program 'grep . live.json' with (format csv, quote e'\x01', delimiter e'\x02')
select before.line->>'kind' as after, count(*), bool_or(l.line ? 'subxid') as sub from lines l join lines before on before.n = l.n - 1
where l.line->'columns'->1 ? 'default' and l.line ? 'seq' group by 1 order by 1;
select count(*) as aborts from lines where line->>'kind' = 'stream_abort' and line->'subxid' = line->'xid';

-- DDL that rolls back before a PREPARE, which has no block of its own: what was told of it goes with it.
begin;
insert into live select g, repeat('v', 200) from generate_series(3001, 3600) g;
savepoint s;
alter table live add e int;
insert into live select g, repeat('v', 200) from generate_series(3601, 4200) g;
\! for i in $(seq 300); do grep '"seq".*"table": "live"' live.json | grep -q '"name": "e"' && break; sleep 0.1; done
rollback to s;
prepare transaction 'ddl';
commit prepared 'ddl';
\! for i in $(seq 300); do grep -q '"kind": "commit_prepared"' live.json && break; sleep 0.1; done
truncate lines restart identity;
\copy lines (line) from program 'grep . live.json' with (format csv, quote e'\x01', delimiter e'\x02')
select count(*) > 0 as told, count(*) filter (where not exists (select from lines a where a.line->>'kind' = 'stream_abort' and
  a.line->'subxid' = l.line->'subxid')) as left_over
from lines l where line->'columns' @> '[{"name": "e"}]' and line ? 'seq';

-- The same DDL once more, after it rolled back: it is told once more.
begin;
insert into live select g, repeat('v', 200) from generate_series(6001, 6600) g;
savepoint s;
alter table live add f int;
insert into live select g, repeat('v', 200) from generate_series(6601, 7200) g;
\! for i in $(seq 300); do grep '"seq".*"table": "live"' live.json | grep -q '"name": "f"' && break; sleep 0.1; done
rollback to s;
alter table live add f int;
commit;
\! for i in $(seq 300); do [ "$(grep -c '"kind": "stream_commit"' live.json)" = 2 ] && break; sleep 0.1; done
truncate lines restart identity;
\copy lines (line) from program 'grep . live.json' with (format csv, quote e'\x01', delimiter e'\x02')
select count(*) > 1 as told, count(*) filter (where not exists (select from lines a where a.line->>'kind' = 'stream_abort' and
  a.line->'subxid' = l.line->'subxid')) as left_over
from lines l where line->'columns' @> '[{"name": "f"}]' and line ? 'seq';

-- Nothing is kept of transactions that are over.
create procedure write(times int, number int) language plpgsql as $$
begin
  for i in 1..times loop
    insert into live select number + i * 1000 + g, repeat('v', 200) from generate_series(1, 400) g;
    if i % 2 = 0 then commit; else rollback; end if;
  end loop;
end $$;
call write(40, 10000);
begin;
insert into live select g, repeat('v', 200) from generate_series(5001, 5600) g;
prepare transaction 'live';
rollback prepared 'live';
\! for i in $(seq 300); do grep -q '"kind": "rollback_prepared"' live.json && break; sleep 0.1; done
select pg_log_backend_memory_contexts(active_pid) from pg_replication_slots where slot_name = 'live';
insert into live values (100000, 'wakes');
\! for i in $(seq 300); do grep -q 'varve relations: ' server.log && break; sleep 0.1; done
\! grep -o 'varve [a-z]* *[a-z]*:' server.log | sort -u

-- DDL that may concern any table, in a transaction in progress, where all tables are published.
create publication everything for all tables;
select varve_slot('everything');
\! timeout 60 pg_recvlogical -d varve_regress --slot everything --start --no-loop -f everything.json -o publication_names=everything -o format=json -o streaming >/dev/null 2>everything.err & echo $! >everything.pid
begin;
insert into live select g, repeat('v', 200) from generate_series(200001, 200600) g;
create schema later;
insert into live select g, repeat('v', 200) from generate_series(200601, 201200) g;
\! for i in $(seq 300); do grep -q '"id": 200900,' everything.json 2>/dev/null && break; grep -q ERROR everything.err && break; sleep 0.1; done
rollback;
\! grep -o 'ERROR.*' everything.err; grep -c '"id": 200900,' everything.json
\! kill $(cat everything.pid); for i in $(seq 100); do [ "$(psql -Atq -d varve_regress -c "select active from pg_replication_slots where slot_name = 'everything'")" = f ] && break; sleep 0.1; done
select pg_drop_replication_slot('everything');
drop publication everything;

\! kill $(cat live.pid)
\! for i in $(seq 300); do psql -Atq -d varve_regress -c "select pg_drop_replication_slot('live') where not exists (select from pg_replication_slots where slot_name = 'live' and active)" >/dev/null 2>&1; [ "$(psql -Atq -d varve_regress -c "select count(*) from pg_replication_slots where slot_name = 'live'")" = 0 ] && break; sleep 0.1; done
select count(*) from pg_replication_slots where slot_name = 'live';
\setenv PGOPTIONS
drop view tables;
drop table live, lines, told, leaves;
drop procedure write;
