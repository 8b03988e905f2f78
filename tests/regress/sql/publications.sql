-- What the client gets is what its publications have, as the catalogs were at the change.
create table inside (id int primary key, v int);
create table outside (id int primary key, v int);
create schema "whole schema";
create table "whole schema".member (id int primary key);
create publication "one, two" for table inside;
create publication whole for tables in schema "whole schema";
create publication deletes for table inside, outside with (publish = 'delete, truncate');
create publication everything for all tables;
select varve_slot('publications');
create function changes_of(names text) returns table(kind text, "table" text, image jsonb) language sql as $$
  select line->>'kind', line->>'table', coalesce(line->'new', line->'key')
  from (select data::jsonb as line from pg_logical_slot_peek_changes('publications', null, null,
    'publication_names', names, 'format', 'json')) l
  where line->>'kind' not in ('begin', 'commit', 'relation', 'drop', 'untrack')
$$;

insert into inside values (1, 1);
insert into outside values (1, 1);
insert into "whole schema".member values (1);
update inside set v = 2;
delete from outside;
truncate inside;
select * from changes_of('"one, two"');
select * from changes_of('whole');
select * from changes_of('deletes');
select * from changes_of('"one, two", deletes,whole');
select * from changes_of('everything');
-- One that does not exist has no tables; that is no error.
select * from changes_of('missing');
select * from changes_of('missing, whole');

-- Created after the changes: it did not exist when they were made.
create publication late for table inside;
select * from changes_of('late');
insert into inside values (2, 2);
select * from changes_of('late');
drop publication late;
insert into inside values (3, 3);
create publication late for table inside;
insert into inside values (4, 4);
select * from changes_of('late');

-- Membership changes inside a transaction.
select pg_replication_slot_advance('publications', pg_current_wal_lsn()) is not null as advanced;
begin;
insert into outside values (2, 2);
alter publication late add table outside;
insert into outside values (3, 3);
alter publication late drop table outside;
insert into outside values (4, 4);
create schema other;
alter table "whole schema".member set schema other;
insert into other.member values (2);
commit;
select * from changes_of('late, whole');

-- Actions change too.
alter publication late set (publish = 'delete');
insert into inside values (5, 5);
delete from inside where id = 5;
alter publication late set (publish = 'insert');
insert into inside values (6, 6);
delete from inside where id = 6;
select kind, image from changes_of('late') where image->>'id' in ('5', '6');

-- What cannot be honoured is refused by name, never ignored.
select pg_replication_slot_advance('publications', pg_current_wal_lsn()) is not null as advanced;
create publication filtered for table inside where (id > 5);
create publication columns for table inside (id);
select pg_replication_slot_advance('publications', pg_current_wal_lsn()) is not null as advanced;
insert into inside values (7, 7);
\set VERBOSITY terse
create function reasons_of(publications text) returns setof text language sql as $$
  select line->>'reason' from (select data::jsonb as line from pg_logical_slot_peek_changes('publications', null, null,
    'publication_names', publications, 'format', 'json')) l where line->>'kind' = 'untrack' $$;
select * from reasons_of('filtered');
select * from reasons_of('columns');
select * from changes_of('filtered');
-- A publication that has the whole table is enough.
select * from reasons_of('"one, two", columns');
select * from changes_of('"one, two", columns');
drop function reasons_of;
select * from changes_of('"one, two"');
-- Nor does a publication with a filter for another table matter here.
select * from changes_of('whole');

select pg_drop_replication_slot('publications');
drop function changes_of;
drop publication "one, two", whole, deletes, everything, late, filtered, columns;
drop table inside, outside, other.member;
drop schema "whole schema", other;
