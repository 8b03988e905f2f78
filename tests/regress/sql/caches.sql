-- What is cached: never stale, never leaked, whatever happens between and within calls.
create table cached (id int primary key, v text);
alter publication varve add table cached;
select varve_slot('caches');
insert into cached values (1, 'a');

-- Callbacks are registered once a process: hundreds of calls do not use up the server's slots for them.
set datestyle = 'SQL, DMY';
set search_path = public, pg_catalog;
do $$ begin for i in 1..300 loop perform varve_changes('caches'); end loop; end $$;
show datestyle;
show search_path;
select line->'new' as new from varve_changes('caches') line;

-- Failing calls leave nothing behind: errors while starting, and in the middle of decoding.
create type broken_type as enum ('x');
create function give_up(value broken_type) returns json language plpgsql immutable as $$ begin raise exception 'no json of this'; end $$;
create cast (broken_type as json) with function give_up(broken_type);
create table broken (id int primary key, v broken_type);
alter publication varve add table broken;
insert into broken values (1, 'x');
\set VERBOSITY default
\set SHOW_CONTEXT never
select count(*) from varve_changes('caches');
create function fail(option text) returns void language plpgsql as $$
begin
  perform varve_changes('caches', option, 'nonsense');
exception when others then null;
end $$;
do $$ begin for i in 1..500 loop perform fail('format'); perform fail('messages'); end loop; end $$;
create function fail_in_the_middle() returns void language plpgsql as $$
begin
  perform varve_changes('caches');
exception when others then null;
end $$;
do $$ begin for i in 1..1000 loop perform fail_in_the_middle(); end loop; end $$;
create function context_of_failure() returns text language plpgsql as $$
declare context text;
begin
  perform varve_changes('caches');
exception when others then
  get stacked diagnostics context = pg_exception_context;
  return context;
end $$;
select context_of_failure() like '%column "v" of table "public.broken"%' as names_the_column;
select name, count(*) from pg_backend_memory_contexts where name like 'varve%' group by 1;
-- The same bytes go through the binary stream, which has no need to understand them.
select count(*) > 0 as binary_works from pg_logical_slot_peek_binary_changes('caches', null, null,
  'publication_names', 'varve');
-- The settings that text is made under are gone again, after success and after failure.
select fail_in_the_middle();
show datestyle;
show search_path;
show timezone;
reset search_path;
reset datestyle;
drop table broken;
drop cast (broken_type as json);
drop function give_up;
drop type broken_type;
select pg_replication_slot_advance('caches', pg_current_wal_lsn()) is not null as advanced;

-- DDL of other tables and of types, in a storm, while rows of one table go by.
do $$ begin
  for i in 1..100 loop
    insert into cached values (i + 10, 'row ' || i);
    execute format('create table storm_%s (id int primary key, v text)', i);
    execute format('create type mood_%s as enum (''a'')', i);
    execute format('alter table cached alter v set default %L', i);
    execute format('drop table storm_%s', i);
    execute format('drop type mood_%s', i);
  end loop;
end $$;
select count(*), min((line->'new'->>'id')::int), max((line->'new'->>'id')::int), bool_and(line->'new'->>'v' =
  'row ' || (line->'new'->>'id')::int - 10) from varve_changes('caches') line;

select pg_drop_replication_slot('caches');
drop function fail, fail_in_the_middle, context_of_failure;
drop table cached;
