-- Changes of partitions name the leaf, in its own order of columns.
create table measures (id int, day date, v text, primary key (id, day)) partition by range (day);
create table measures_old partition of measures for values from ('2023-01-01') to ('2024-01-01');
create table measures_new (v text, dropped int, day date not null, id int not null, primary key (id, day));
alter table measures_new drop dropped;
alter table measures attach partition measures_new for values from ('2024-01-01') to ('2026-01-01');
create publication leaves for table measures;
create publication roots for table measures with (publish_via_partition_root);
select varve_slot('partitions');
create function leaf_changes() returns setof jsonb language sql as $$
  select data::jsonb - '{xid,schema,identity}'::text[] from pg_logical_slot_peek_changes('partitions', null, null,
    'publication_names', 'leaves', 'format', 'json')
  where data::jsonb->>'kind' not in ('begin', 'commit', 'relation', 'drop', 'untrack')
$$;

insert into measures values (1, '2023-05-01', 'a'), (2, '2024-05-01', 'b');
update measures set v = 'c' where id = 2;
-- From one partition to another: a delete and an insert.
update measures set day = '2025-01-01' where id = 1;
delete from measures where id = 2;
truncate measures;
select * from leaf_changes();
select pg_replication_slot_advance('partitions', pg_current_wal_lsn()) is not null as advanced;

-- A leaf that is detached is no longer published.
insert into measures values (3, '2023-06-01', 'x');
alter table measures detach partition measures_old;
insert into measures_old values (4, '2023-06-01', 'y');
alter table measures attach partition measures_old for values from ('2023-01-01') to ('2024-01-01');
insert into measures values (5, '2023-06-01', 'z');
select * from leaf_changes();

\set VERBOSITY terse
select data::jsonb->>'kind' as kind, data::jsonb->>'reason' as reason
from pg_logical_slot_peek_changes('partitions', null, null, 'publication_names', 'roots', 'format', 'json');
select pg_drop_replication_slot('partitions');
drop function leaf_changes;
drop publication leaves, roots;
drop table measures;
