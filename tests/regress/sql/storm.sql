-- Other sessions' DDL while changes are decoded: their invalidations come at any moment and say nothing about the place
-- in the WAL. What is decoded is the same as in a quiet server.
create schema weather;
create type weather.mood as enum ('a', 'b');
create type weather.pair as (x int, y text);
create table weather.rows (id int primary key, v text, m weather.mood, p weather.pair);
create table stop_storm (id int);
alter publication varve add table weather.rows;
select varve_slot('storm');
insert into weather.rows select g, 'v' || g, 'a', (g, 'y') from generate_series(1, 500) g;
alter table weather.rows add w int default 7;
update weather.rows set v = 'w' where id % 3 = 0;
begin;
alter type weather.pair add attribute z int;
insert into weather.rows values (1000, 'p', 'b', (1, 'y', 3));
alter table weather.rows rename w to u;
update weather.rows set u = 8 where id % 5 = 0;
commit;
insert into weather.rows select g, repeat('v', 100), 'b', (g, 'y', 4) from generate_series(2001, 3000) g;
delete from weather.rows where id % 2 = 0;
select pg_current_wal_lsn() as "end" \gset
-- The first message says how far the server is.
create function decoded(variadic options text[]) returns text
language sql as $$
  select md5(string_agg(encode(data, 'hex'), ' ' order by n)) from pg_logical_slot_peek_binary_changes('storm', options[1]::pg_lsn, null, variadic
    array['publication_names', 'varve'] || options[2:]) with ordinality as message (lsn, xid, data, n) where n > 1
$$;
create procedure weather.storm() language plpgsql as $$
begin
  -- A table can have 1600 columns, dropped ones included.
  for i in 1..1500 loop
    exit when exists (select from public.stop_storm);
    alter table weather.rows add x int default 1;
    commit;
    alter table weather.rows drop x, alter v set default 'd';
    commit;
    alter table weather.rows rename to renamed;
    alter type weather.mood rename value 'a' to 'c';
    alter type weather.pair rename attribute x to q;
    commit;
    alter table weather.renamed rename to rows;
    alter type weather.mood rename value 'c' to 'a';
    alter type weather.pair rename attribute q to x;
    commit;
    alter publication varve drop table weather.rows;
    create table weather.other (id int primary key, m weather.mood);
    commit;
    alter publication varve add table weather.rows, weather.other;
    alter schema weather rename to climate;
    commit;
    alter schema climate rename to weather;
    drop table weather.other;
    commit;
  end loop;
end $$;
set logical_decoding_work_mem = '64kB';
select decoded(:'end') as whole, decoded(:'end', 'format', 'json') as json, decoded(:'end', 'streaming', 'on') as streamed \gset
\setenv PGHOST :HOST
\! PGAPPNAME=storm psql -X -q -d varve_regress -c 'call weather.storm()' &
-- It has begun.
do $$ begin
  while not exists (select from pg_stat_activity where application_name = 'storm' and xact_start is not null) loop perform pg_sleep(0.01), pg_stat_clear_snapshot(); end loop;
end $$;
select count(*) as runs, count(*) filter (where decoded(:'end') = :'whole') as whole, count(*) filter (where decoded(:'end', 'format', 'json') = :'json') as json, count(*) filter (where decoded(:'end', 'streaming', 'on') = :'streamed') as streamed
from generate_series(1, 10);
insert into stop_storm values (1);
do $$ begin
  while exists (select from pg_stat_activity where application_name = 'storm') loop perform pg_sleep(0.01), pg_stat_clear_snapshot(); end loop;
end $$;
select decoded(:'end') = :'whole' as whole, decoded(:'end', 'format', 'json') = :'json' as json, decoded(:'end', 'streaming', 'on') = :'streamed' as streamed;
reset logical_decoding_work_mem;
select pg_drop_replication_slot('storm');
drop function decoded;
drop schema weather cascade;
drop table stop_storm;
