-- What is known of the old row, by REPLICA IDENTITY.
create table by_key (id int primary key, v int, n text);
create table by_index (id int primary key, v int not null, w int not null);
create unique index by_index_wv on by_index (w, v);
alter table by_index replica identity using index by_index_wv;
create table by_row (id int, v int, n text);
alter table by_row replica identity full;
create table by_nothing (id int primary key, v int);
alter table by_nothing replica identity nothing;
create table by_no_key (id int, a int);
create table by_deferrable_key (id int primary key deferrable, v int);
create table by_two (b int, x text, a int, primary key (a, b));
create table by_old_row (id int primary key);
insert into by_old_row values (1), (2);
alter table by_old_row replica identity full;
alter table by_old_row add b int not null default 7, add c text default 'seven';

-- A publication of updates would refuse updates of tables without identity: two publications.
create publication varve_all for table by_key, by_index, by_row, by_two, by_old_row;
create publication varve_inserts for table by_nothing, by_no_key, by_deferrable_key
  with (publish = 'insert, truncate');
select varve_slot('identity');

insert into by_key values (1, 1, null);
update by_key set v = 2;
update by_key set id = 9;
delete from by_key;
insert into by_index values (1, 10, 20);
update by_index set id = 2;
update by_index set v = 11;
delete from by_index;
insert into by_row values (1, null, null);
update by_row set v = 1;
delete from by_row;
insert into by_two values (1, 'x', 2);
update by_two set x = 'y';
update by_two set b = 3;
delete from by_two;
update by_old_row set b = 8 where id = 1;
delete from by_old_row;
create function identity_changes(names text) returns setof jsonb language sql as $$
  select data::jsonb - '{xid,schema,seq}'::text[] from pg_logical_slot_peek_changes('identity', null, null,
    'publication_names', names, 'format', 'json')
  where data::jsonb->>'kind' not in ('begin', 'commit', 'relation')
$$;
select * from identity_changes('varve_all');
select pg_replication_slot_advance('identity', pg_current_wal_lsn()) is not null as advanced;

-- Without identity an update and a delete are still changes. The server refuses them where a publication
-- publishes updates, so such tables are members of one that does not.
insert into by_nothing values (1, 1);
update by_nothing set v = 2;
update by_nothing set id = 2;
delete from by_nothing;
insert into by_no_key values (1, 1);
update by_no_key set a = 2;
delete from by_no_key;
insert into by_deferrable_key values (1, 1);
update by_deferrable_key set id = 3;
delete from by_deferrable_key;
select * from identity_changes('varve_inserts');

-- The place of a column in its key is the index's, not the table's.
select format('%s %s: %s', line->>'table', line->>'identity', (select jsonb_object_agg(c->>'name',
    format('key %s identity %s', c->>'key', c->>'identity_position')) from jsonb_array_elements(line->'columns') c))
from (select data::jsonb as line from pg_logical_slot_peek_changes('identity', null, null,
  'publication_names', 'varve_inserts', 'format', 'json')) l
where line->>'kind' = 'relation' order by 1;

-- So is the key's where the whole row is the identity, which json has no equality for.
create table by_row_with_key (doc json, id int primary key);
alter table by_row_with_key replica identity full;
alter publication varve_all add table by_row_with_key;
select pg_replication_slot_advance('identity', pg_current_wal_lsn()) is not null as advanced;
insert into by_row_with_key values ('{"a": 1}', 1);
update by_row_with_key set doc = '{"a":  1}';
delete from by_row_with_key;
select * from identity_changes('varve_all');
select c->>'name' as name, c->'key' as key, c->'identity_position' as identity_position
from (select data::jsonb as line from pg_logical_slot_peek_changes('identity', null, null, 'publication_names', 'varve_all', 'format', 'json')) l,
  jsonb_array_elements(line->'columns') c where line->>'table' = 'by_row_with_key' and not line ? 'seq';
drop table by_row_with_key;
select pg_replication_slot_advance('identity', pg_current_wal_lsn()) is not null as advanced;

-- An identity changed within a transaction: each change has what was in force at its time.
begin;
insert into by_key values (1, 1, 'a');
update by_key set v = 2;
alter table by_key replica identity full;
update by_key set v = 3;
alter table by_key replica identity nothing;
alter publication varve_all set (publish = 'insert');
update by_key set v = 4, id = 5;
alter publication varve_all set (publish = 'insert, update, delete, truncate');
alter table by_key replica identity default;
update by_key set id = 6;
commit;
select * from identity_changes('varve_all');

select pg_drop_replication_slot('identity');
drop publication varve_all, varve_inserts;
drop function identity_changes;
drop table by_key, by_index, by_row, by_nothing, by_no_key, by_deferrable_key, by_two, by_old_row;
