-- publish_via_partition_root: rows of partitions as rows of their root, in the root's order of columns.
create table r (id int, day date, v text, note text default 'n', primary key (id, day)) partition by range (day);
create table r_2023 partition of r for values from ('2023-01-01') to ('2024-01-01');
-- Another order of columns, a dropped one, and a value for rows from before ADD COLUMN.
create table r_2024 (note text, gone int, v text, day date not null, id int not null, primary key (id, day));
alter table r_2024 drop gone;
alter table r attach partition r_2024 for values from ('2024-01-01') to ('2025-01-01');
-- Partitions of partitions.
create table r_late partition of r for values from ('2025-01-01') to ('2030-01-01') partition by list (id);
create table r_late_a partition of r_late for values in (3, 4);
create table r_late_rest partition of r_late default;
create table audit (id int primary key, what text);
create publication roots for table r, audit with (publish_via_partition_root);
select varve_slot('roots');
create function root_changes() returns setof jsonb language sql as $$
  select data::jsonb - '{xid,schema,identity,oid,version,columns,time,position,cascade,restart_identity}'::text[]
  from pg_logical_slot_get_changes('roots', null, null, 'publication_names', 'roots', 'format', 'json')
  where data::jsonb->>'kind' not in ('begin', 'commit')
$$;

insert into r values (1, '2023-05-01', 'x', 'n1'), (2, '2024-05-01', 'y', 'n2'), (3, '2025-05-01', 'a', null),
  (4, '2026-01-01', 'q', 'n4');
update r set v = 'c' where id = 2;
delete from r where id = 4;
select * from root_changes();

-- A row that moves to another partition stays the row that it is, also within the same statement as others.
update r set day = '2024-06-06' where id = 1;
update r set day = day + interval '1 year' where id in (1, 2);
update r set v = 'b', day = '2025-06-06' where id = 3;
update r set id = 30 where id = 3;
update r set id = 3 where id = 30;
-- What a user deletes and inserts is not moved.
begin;
delete from r where id = 3;
insert into r values (3, '2023-07-07', 'z');
commit;
select * from root_changes();

-- Old rows whole.
alter table r replica identity full;
alter table r_2023 replica identity full;
alter table r_2024 replica identity full;
alter table r_late_a replica identity full;
alter table r_late_rest replica identity full;
update r set day = '2024-07-07' where id = 3;
update r set note = 'w' where id = 3;
delete from r where id = 3;
select * from root_changes();
-- A primary key is enough for a root that has one.
alter table r_2024 replica identity default;
insert into r values (5, '2024-01-01', 'five');
update r set day = '2023-01-01' where id = 5;
select * from root_changes();

-- New and empty partitions come and go; ADD COLUMN gives its default to all rows.
create table r_2022 partition of r for values from ('2022-01-01') to ('2023-01-01');
alter table r_2022 replica identity full;
insert into r values (6, '2022-01-01', 'six');
begin;
create table r_2021 (like r);
alter table r_2021 add primary key (id, day), replica identity full;
alter table r attach partition r_2021 for values from ('2021-01-01') to ('2022-01-01');
insert into r values (7, '2021-01-01', 'seven');
commit;
begin;
create table r_2020 partition of r for values from ('2020-01-01') to ('2021-01-01');
drop table r_2020;
commit;
alter table r add column extra int default 7;
insert into r (id, day, v) values (8, '2024-02-02', 'eight');
update r set v = 'SIX' where id = 6;
select root_changes() - 'new';
-- TRUNCATE of all of it.
truncate r;
select * from root_changes();
select pg_drop_replication_slot('roots');

-- What changes the rows of the root without changes of rows ends what the client has of it.
\set VERBOSITY terse
select varve_slot('roots');
create table filled (like r);
insert into filled values (9, '2019-01-01', 'nine');
create table filled_too (like filled);
insert into filled_too values (10, '2018-01-01', 'ten');
select * from root_changes();
create function how_it_ended() returns table (kind text, "table" text, reason text) language sql as $$
  select j->>'kind', j->>'table', j->>'reason' from root_changes() j
$$;
alter table r attach partition filled for values from ('2019-01-01') to ('2020-01-01');
select * from how_it_ended();
alter table r detach partition filled;
select * from how_it_ended();
alter table r detach partition r_2021 concurrently;
select * from how_it_ended();
drop table r_2022;
select * from how_it_ended();
truncate r_2023;
select * from how_it_ended();
truncate r_late;
select * from how_it_ended();
alter table r detach partition r_late;
select * from how_it_ended();
-- In one transaction: rows before a partition is one, and while it is none.
begin;
create table early (like r);
insert into early values (11, '2017-01-01', 'eleven');
alter table r attach partition early for values from ('2017-01-01') to ('2018-01-01');
commit;
select * from how_it_ended();
begin;
create table r_2016 partition of r for values from ('2016-01-01') to ('2017-01-01');
insert into r values (12, '2016-01-01', 'twelve');
alter table r detach partition r_2016;
commit;
select * from how_it_ended();
begin;
alter table r detach partition early;
insert into early values (13, '2017-01-01', 'thirteen');
alter table r attach partition early for values from ('2017-01-01') to ('2018-01-01');
commit;
select * from how_it_ended();
begin;
delete from r where id = 11;
alter table r detach partition early;
insert into early values (14, '2017-01-01', 'fourteen');
alter table r attach partition early for values from ('2017-01-01') to ('2018-01-01');
commit;
select * from how_it_ended();
-- A partition in a tree that comes as a whole.
create table tree (like r) partition by list (id);
create table tree_20 partition of tree for values in (20);
alter table r attach partition tree for values from ('2015-01-01') to ('2016-01-01');
select * from how_it_ended();
begin;
create table tree_21 partition of tree for values in (21);
insert into r values (21, '2015-05-05', 'inside');
commit;
select * from how_it_ended();
drop table tree;
select * from how_it_ended();
-- Empty, as far as PostgreSQL logs it.
begin;
create table r_2014 partition of r for values from ('2014-01-01') to ('2015-01-01');
truncate r_2014;
alter table r detach partition r_2014;
drop table r_2014;
rollback;
begin;
create table r_2014 partition of r for values from ('2014-01-01') to ('2015-01-01');
truncate r_2014;
savepoint s;
insert into r values (15, '2014-01-01', 'fifteen');
rollback to s;
insert into r values (16, '2014-01-01', 'sixteen');
commit;
select * from how_it_ended();

-- Partitions whose rows are not logged, or not with what rows of the root are known by.
create unlogged table r_unlogged partition of r for values from ('2013-01-01') to ('2014-01-01');
select * from how_it_ended();
insert into r values (17, '2024-01-01', 'seventeen');
select * from how_it_ended();
drop table r_unlogged;
alter table r_2024 replica identity nothing;
select * from how_it_ended();
insert into r values (18, '2024-01-01', 'eighteen');
select * from how_it_ended();
alter table r_2024 replica identity default;
select * from how_it_ended();
-- Without a key nothing keeps foreign tables away.
create foreign data wrapper no_wrapper;
create server no_server foreign data wrapper no_wrapper;
create table bag (a int, b text) partition by list (a);
create table bag_1 partition of bag for values in (1);
create table bag_2 partition of bag for values in (2);
alter publication roots add table bag;
alter table bag replica identity full;
alter table bag_1 replica identity full;
select * from how_it_ended();
alter table bag_2 replica identity full;
insert into bag values (1, 'x'), (1, 'x');
update bag set a = 2;
select j->>'kind', j->>'table', j->'old', j->'new' from root_changes() j;
create foreign table bag_3 partition of bag for values in (3) server no_server;
select * from how_it_ended();
drop table bag;
drop foreign data wrapper no_wrapper cascade;
select * from how_it_ended();

-- A trigger may return no row: then nothing tells what a DELETE was half of.
create function skip() returns trigger language plpgsql as $$begin if new.id = 17 then return null; end if; return new; end$$;
create trigger skip before insert on r_2023 for each row execute function skip();
begin;
update r set day = '2023-01-01' where id = 17;
insert into r values (19, '2023-01-01', 'not 17');
update r set day = '2024-01-01' where id = 19;
commit;
select * from root_changes();
drop trigger skip on r_2023;
-- Another trigger may change other rows in between.
create function note() returns trigger language plpgsql as $$begin insert into audit values (new.id, tg_op); return null; end$$;
create trigger note after insert on r for each row execute function note();
update r set day = '2023-01-01' where id = 19;
select * from root_changes();

-- In blocks of a transaction in progress too, but for a row whose INSERT is in the next block.
drop trigger note on r;
insert into r select n, '2023-02-02', repeat('x', 100) from generate_series(1001, 2000) n;
select count(*) > 0 as sent from root_changes();
set logical_decoding_work_mem = '64kB';
update r set day = '2024-02-02' where day = '2023-02-02';
with changes as (select data::jsonb->>'kind' as kind, count(*) from pg_logical_slot_get_changes('roots', null, null,
    'publication_names', 'roots', 'format', 'json', 'streaming', 'on') group by 1),
  counts as (select coalesce(sum(count) filter (where kind = 'update'), 0) as updates,
    coalesce(sum(count) filter (where kind = 'delete'), 0) as deletes,
    coalesce(sum(count) filter (where kind = 'insert'), 0) as inserts,
    coalesce(sum(count) filter (where kind = 'stream_start'), 0) as blocks from changes)
select updates + deletes as rows, inserts = deletes as whole, deletes < blocks as moved, blocks > 1 as streamed from counts;
reset logical_decoding_work_mem;
-- A rewrite of partitions is one of the root.
alter table r alter extra type bigint;
select * from how_it_ended();

-- The publication decides what a partition is sent as.
alter publication roots set (publish_via_partition_root = false);
select * from root_changes() j where j->>'kind' <> 'untrack';
alter publication roots set (publish_via_partition_root = true);
insert into r values (22, '2023-01-01', 'x');
select * from root_changes() j order by j->>'kind', j->>'table', (j->>'seq')::int;
alter publication roots set table r where (id > 3), audit;
select * from how_it_ended();
select pg_drop_replication_slot('roots');
drop function root_changes cascade;
drop publication roots;
drop table r, audit, filled, filled_too, r_2021, r_late, r_2016;
drop function skip, note;
