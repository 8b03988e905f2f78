-- A table that is followed, and for a moment is not: every change that is not sent must be told, or what the
-- client has of the table would be wrong without anybody knowing.
create table m (id int primary key, v text);
create schema z;
create table z.q (id int primary key, v text);
create publication m for table m;
create publication zs for tables in schema z;
create publication whole for all tables;
select varve_slot('membership');
create function told(publications text) returns table (kind text, "table" text, new jsonb, reason text) language sql as $$
  select line->>'kind', coalesce(line->>'table', case (line->>'oid')::oid when to_regclass('m') then 'm'
      when coalesce(to_regclass('z.q'), to_regclass('q')) then 'q' end), line->'new', line->>'reason'
  from (select data::jsonb as line from pg_logical_slot_peek_changes('membership', null, null,
    'publication_names', publications, 'format', 'json')) l
  where line->>'kind' not in ('begin', 'commit', 'relation') $$;
create function done() returns boolean language sql as
  $$ select pg_replication_slot_advance('membership', pg_current_wal_lsn()) is not null $$;
insert into m values (1, 'a');
insert into z.q values (1, 'a');
select done();

-- Out of the publication and back within one transaction, in every way.
begin;
alter publication m drop table m;
update m set v = 'lost';
alter publication m add table m;
commit;
select * from told('m');
select done();
begin;
alter publication zs drop tables in schema z;
truncate z.q;
alter publication zs add tables in schema z;
commit;
select * from told('zs');
select done();
begin;
alter table z.q set schema public;
insert into q values (2, 'lost');
alter table q set schema z;
commit;
select * from told('zs') where "table" = 'q';
select done();
begin;
alter publication m drop table m;
alter table m alter v type int using 7;
alter publication m add table m;
commit;
select * from told('m');
select done();

-- What a publication publishes of a table does not count.
alter publication m set (publish = 'insert');
update m set v = 8;
truncate m;
select * from told('m');
alter publication m set (publish = 'insert, update, delete, truncate');
select done();

-- Another name, and none.
alter publication m rename to other;
insert into m values (3, 3);
select * from told('m');
alter publication other rename to m;
select done();
drop publication whole;
insert into m values (4, 4);
select kind, "table" from told('whole') where "table" in ('m', 'q') order by 2;
create publication whole for all tables;
select done();

-- A table whose changes are not logged.
alter table z.q set unlogged;
insert into z.q values (5, 'lost');
alter table z.q set logged;
select * from told('zs') where "table" = 'q';
select done();

-- A filter for a while: the table is not followed any further, all others are, and the slot goes on.
alter publication m set table m where (id > 100);
insert into m values (6, 6);
alter publication m set table m;
insert into m values (7, 7);
select * from told('m');
select done();

-- The value that rows from before a column have got goes with the new heap of CLUSTER, and no change says so.
begin;
alter table m add c int default 5;
cluster m using m_pkey;
commit;
begin;
alter table m add d int default 5;
commit;
begin;
alter table m add e float8 default random();
commit;
select * from told('m');
select done();
-- Not so where there is nothing to lose: no rows, none left, none that got a value.
truncate m;
select done();
alter table m add f float8 default random();
begin;
alter table m add g int;
cluster m;
commit;
begin;
truncate m;
alter table m add h int default 5;
commit;
select * from told('m');

select pg_drop_replication_slot('membership');
drop publication m, zs, whole;
drop function told, done;
drop table m;
drop schema z cascade;
