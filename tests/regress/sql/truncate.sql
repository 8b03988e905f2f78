-- TRUNCATE is one change a table.
create table parent (id serial primary key);
create table child (id int primary key, parent int references parent);
create table heir (v int) inherits (parent);
create table stranger (id int primary key);
alter publication varve add table only parent, child, heir;
select varve_slot('truncate');

insert into parent values (1);
insert into child values (1, 1);
truncate child;
truncate parent, stranger restart identity cascade;
truncate only parent cascade;
begin;
insert into child values (2, null);
truncate child;
insert into child values (3, null);
commit;
select line->>'kind' as kind, line->'seq' as seq, line->>'table' as "table", line->'cascade' as "cascade",
  line->'restart_identity' as restart from varve_changes('truncate') line;

select pg_drop_replication_slot('truncate');
drop table heir, child, parent, stranger;
