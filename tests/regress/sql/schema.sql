-- DDL between and inside transactions: every row goes by the description that was in force when it was written.
create table renamed (id int primary key, x varchar(10));
create schema s;
create table s.moved (id int primary key);
alter publication varve add table renamed, s.moved;
select varve_slot('schema');
create function schema_lines() returns setof text language sql as $$
  select case when line->>'kind' = 'relation' then
      format('relation %s.%s%s: %s', line->>'schema', line->>'table', ' at ' || (line->>'seq'),
        (select string_agg(format('%s %s %s', c->>'attnum', c->>'name',
            regexp_replace(c->'type'->>'name' || ' ' || (c->>'typmod'), ' -1$', '')), ', ')
         from jsonb_array_elements(line->'columns') c))
    else (line - 'schema' - 'identity')::text end
  from varve_lines('schema') line where line->>'kind' not in ('begin', 'drop', 'untrack')
$$;

-- Inside a transaction.
begin;
insert into renamed values (1, 'a');
alter table renamed rename x to y;
alter table renamed alter y type varchar(20);
alter table renamed add z int not null default 7;
insert into renamed (id, y) values (2, 'b');
commit;
select * from schema_lines();
select pg_replication_slot_advance('schema', pg_current_wal_lsn()) is not null as advanced;

-- Between transactions the new description is told where the DDL committed, rows or not.
insert into renamed values (3, 'c');
alter table renamed drop y;
alter table renamed add y text;
comment on table renamed is 'this changes nothing';
insert into renamed values (4, 8, 'd');
alter table renamed rename to again;
alter table again rename to renamed;
begin;
alter table renamed add nothing int;
rollback;
select * from schema_lines();
select pg_replication_slot_advance('schema', pg_current_wal_lsn()) is not null as advanced;

-- A renamed schema, and what is dropped before the changes are read.
insert into s.moved values (1);
alter schema s rename to s2;
insert into s2.moved values (2);
update s2.moved set id = 3 where id = 2;
drop schema s2 cascade;
select * from schema_lines();
select pg_replication_slot_advance('schema', pg_current_wal_lsn()) is not null as advanced;

-- Enumerations: labels as they were, types renamed under way.
create type mood as enum ('ok', 'bad');
create table moods (id int primary key, m mood, ms mood[]);
alter publication varve add table moods;
select pg_replication_slot_advance('schema', pg_current_wal_lsn()) is not null as advanced;
insert into moods values (1, 'ok', '{ok,bad}');
alter type mood rename value 'bad' to 'worse';
insert into moods values (2, 'worse', '{ok,worse}');
alter type mood add value 'best';
insert into moods values (3, 'best', '{best}');
alter type mood rename to humour;
insert into moods values (4, 'ok', null);
select line->'new' as new from varve_changes('schema') line;
-- A label is part of the version, the name of a type is not, but the table is described again.
select count(*) as lines, count(distinct line->>'version') as versions, string_agg(line->'columns'->1->'type'->>'name', ', ' order by n)
from (select n, data::jsonb as line from pg_logical_slot_peek_changes('schema', null, null, 'publication_names', 'varve',
  'format', 'json') with ordinality as l (lsn, xid, data, n)) l where line->>'kind' = 'relation' and line->>'table' = 'moods';
-- So it is when a default or a composite type changes.
create type pair as (x int, y int);
create table pairs (id int primary key, p pair, d int default 1);
alter publication varve add table pairs;
select pg_replication_slot_advance('schema', pg_current_wal_lsn()) is not null as advanced;
insert into pairs values (1, '(1,2)');
alter type pair rename attribute y to z;
insert into pairs values (2, '(3,4)');
alter type pair add attribute w text;
insert into pairs values (3, '(5,6,7)');
alter table pairs alter d set default 2;
insert into pairs values (4);
select line->'new' as new, line->'columns'->2->>'default' as "default" from varve_lines('schema') line
where line->>'kind' in ('insert', 'relation') and line->>'table' = 'pairs';
select count(*) as lines, count(distinct line->>'version') as versions
from (select data::jsonb as line from pg_logical_slot_peek_changes('schema', null, null, 'publication_names', 'varve',
  'format', 'json')) l where line->>'kind' = 'relation' and line->>'table' = 'pairs';
-- A session that has met no table yet learns from the commit itself that a value would now read otherwise:
-- fields of a composite type and of a table's row, labels, the name of a schema. It hears of no other table.
create schema s3;
create table s3.address (street text, town text);
create table people (id int primary key, home s3.address, homes s3.address[], m humour);
alter publication varve add table people;
select pg_replication_slot_advance('schema', pg_current_wal_lsn()) is not null as advanced;
create function told() returns setof text language sql as $$
  select line->>'schema' || '.' || (line->>'table') from varve_lines('schema') line where line->>'kind' = 'relation'
    and line->>'table' = 'people'
  union all
  select 'advanced' where pg_replication_slot_advance('schema', pg_current_wal_lsn()) is not null $$;
alter table s3.address rename street to road;
select told();
alter table s3.address add country text;
select told();
alter type humour rename value 'ok' to 'fine';
select told();
alter schema s3 rename to s4;
select told();
alter table pairs add other int;
select told();
drop function told;

-- A table that is dropped, one that leaves the publication, one that was never in it.
select pg_replication_slot_advance('schema', pg_current_wal_lsn()) is not null as advanced;
create table leaving (id int primary key);
alter publication varve add table leaving;
create table outside (id int primary key);
create temp table oids as select 'leaving'::regclass::oid as leaving, 'outside'::regclass::oid as outside,
  'renamed'::regclass::oid as renamed;
select pg_replication_slot_advance('schema', pg_current_wal_lsn()) is not null as advanced;
insert into leaving values (1);
alter publication varve drop table leaving;
insert into leaving values (2);
alter table outside add c int;
alter table outside add d int;
alter publication varve add table leaving;
insert into leaving values (3);
drop table renamed;
drop table outside;
create view kinds as
  select n, line->>'kind' as kind, coalesce(line->>'table', case line->>'oid' when oids.leaving::text then 'leaving'
    when oids.outside::text then 'outside' when oids.renamed::text then 'renamed' end) as "table", line->'new' as new
  from oids, (select row_number() over () as n, data::jsonb as line from pg_logical_slot_peek_changes('schema', null, null,
    'publication_names', 'varve', 'format', 'json')) l
  where line->>'kind' not in ('begin', 'commit');
select kind, "table", new from kinds where "table" is not null order by n;
drop view kinds;
select pg_replication_slot_advance('schema', pg_current_wal_lsn()) is not null as advanced;

-- What nobody was told of is dropped in silence: indexes, temporary tables, what lived in one transaction only.
create table quiet (id int primary key, v text);
create index quiet_v on quiet (v);
create temp table passing (id int primary key, v text);
create unlogged table unsafe (id int primary key);
create view looking as select * from quiet;
select pg_replication_slot_advance('schema', pg_current_wal_lsn()) is not null as advanced;
drop index quiet_v;
drop table passing;
drop table unsafe;
drop view looking;
begin;
create table fleeting (id int primary key, v text);
insert into fleeting values (1);
create temp table fleeting_too (id int) on commit drop;
drop table fleeting;
commit;
alter table quiet alter v type int using 1;
select line - 'seq' as line, count(*) from varve_lines('schema') line where line->>'kind' not in ('begin', 'commit')
group by 1;
drop table quiet;
select line - 'seq' as line, count(*) from varve_lines('schema') line where line->>'kind' not in ('begin', 'commit')
group by 1 order by 1;
select pg_replication_slot_advance('schema', pg_current_wal_lsn()) is not null as advanced;

-- A rewrite makes values that no change carries: it is marked, in its own transaction.
create table rewritten (id int primary key, a int);
alter table rewritten replica identity full;
insert into rewritten values (1, 5), (2, 6);
alter publication varve add table rewritten;
create table rewritten_outside (id int primary key, a int);
insert into rewritten_outside values (1, 1);
select pg_replication_slot_advance('schema', pg_current_wal_lsn()) is not null as advanced;
begin;
alter table rewritten alter a type text using a || '!';
alter table rewritten add b timestamptz default clock_timestamp();
alter table rewritten drop b;
alter table rewritten_outside alter a type text using a || '!';
commit;
update rewritten set id = 3 where id = 1;
vacuum full rewritten;
cluster rewritten using rewritten_pkey;
select * from schema_lines();
select pg_replication_slot_advance('schema', pg_current_wal_lsn()) is not null as advanced;

-- What a table is made of in its first transaction; rows of CREATE TABLE AS; unlogged tables are not there.
alter publication varve set table rewritten;
create publication varve_all for all tables;
select pg_replication_slot_advance('schema', pg_current_wal_lsn()) is not null as advanced;
create table made as select 1 as id;
create unlogged table unlogged as select 1 as id;
select data::jsonb - '{xid,position,time,version,oid,columns}'::text[]
from pg_logical_slot_peek_changes('schema', null, null, 'publication_names', 'varve_all', 'format', 'json')
where data::jsonb->>'kind' not in ('drop', 'untrack');

select pg_drop_replication_slot('schema');
drop publication varve_all;
drop function schema_lines;
drop table people, pairs, moods, leaving, rewritten, rewritten_outside, made, unlogged;
drop type humour, pair;
drop schema s4 cascade;
