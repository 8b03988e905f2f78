-- Each kind of statement, as the changes it makes.
create table accounts (id int primary key, owner text, balance numeric(12, 2));
alter publication varve add table accounts;
select varve_slot('changes');

-- begin and commit frame what was committed; what was rolled back leaves nothing.
begin;
insert into accounts values (1, 'alice', 10), (2, 'bob', 20);
savepoint s;
insert into accounts values (3, 'carol', 30);
rollback to s;
update accounts set balance = balance + 1 where id = 1;
update accounts set id = 5 where id = 2;
delete from accounts where id = 5;
commit;
begin;
insert into accounts values (9, 'nobody', 0);
rollback;
select varve_lines - 'columns' as line from varve_lines('changes');
select pg_replication_slot_advance('changes', pg_current_wal_lsn()) is not null as advanced;

-- One COPY writes its rows at one LSN: seq tells them apart.
copy accounts from stdin;
10	dave	1
11	erin	2
12	frank	3
\.
select line->>'seq' as seq, line->'new'->>'id' as id from varve_changes('changes') line;
select count(distinct lsn) = 1 as one_lsn from pg_logical_slot_peek_changes('changes', null, null,
  'publication_names', 'varve', 'format', 'json') where data like '%"kind": "insert"%';
select pg_replication_slot_advance('changes', pg_current_wal_lsn()) is not null as advanced;

-- Statements that are not what they are called: no-op update, upsert, MERGE; FOR UPDATE changes nothing.
update accounts set owner = owner where id = 10;
insert into accounts values (10, 'x', 1) on conflict do nothing;
insert into accounts values (10, 'x', 1) on conflict (id) do update set owner = excluded.owner;
insert into accounts values (13, 'grace', 1) on conflict (id) do update set owner = excluded.owner;
merge into accounts a using (values (10), (14)) v(id) on a.id = v.id
  when matched then delete when not matched then insert values (v.id, 'heidi', 0);
select id from accounts where id = 11 for update;
create temp table t as select 1 as a;
select * from varve_changes('changes');
select pg_replication_slot_advance('changes', pg_current_wal_lsn()) is not null as advanced;

-- Cascades and triggers are ordinary changes in the order of execution.
create table orders (id int primary key, account int references accounts on delete cascade);
alter publication varve add table orders;
insert into orders values (1, 11), (2, 11);
delete from accounts where id = 11;
select line->>'kind' as kind, line->>'table' as "table", line->'key' as key from varve_changes('changes') line
where line->>'kind' = 'delete';

-- A prepared transaction counts when it commits, as an ordinary one.
select pg_replication_slot_advance('changes', pg_current_wal_lsn()) is not null as advanced;
begin;
insert into orders values (7, 12);
prepare transaction 'varve';
select count(*) from varve_changes('changes');
commit prepared 'varve';
select line->>'kind' as kind, line->'new' as new from varve_changes('changes') line;

-- Transactions that leave nothing for the client are not sent at all.
select pg_replication_slot_advance('changes', pg_current_wal_lsn()) is not null as advanced;
create temp table nothing as select 1;
insert into nothing values (2);
select count(*) from varve_lines('changes');

-- A materialized view is a copy: its refresh is not news.
create materialized view view_of as select id, owner from accounts;
create unique index on view_of (id);
select pg_replication_slot_advance('changes', pg_current_wal_lsn()) is not null as advanced;
update accounts set owner = 'ivan' where id = 12;
refresh materialized view concurrently view_of;
refresh materialized view view_of;
select * from varve_changes('changes');

select pg_drop_replication_slot('changes');
drop materialized view view_of;
drop table orders, accounts;
