-- What transactions are made of: subtransactions in every order, locks, DDL between rows, more than memory holds. What a
-- reader has of it who applies the stream is compared with the table itself.
set logical_decoding_work_mem = '64kB';
create table nested (id serial primary key, path text);
create table shaped (id serial primary key, a int, t varchar(120));
alter table shaped replica identity full;
create table spilled (id serial primary key, v text);
alter publication varve add table nested, shaped, spilled;
select varve_slot('transactions');

-- Rows in the order in which they were written, whichever subtransaction wrote them.
begin;
insert into nested (path) values ('top 1');
savepoint a;
insert into nested (path) values ('a 1'), ('a 2');
release a;
savepoint b;
savepoint c;
insert into nested (path) values ('c 1');
release c;
insert into nested (path) values ('b 1');
release b;
insert into nested (path) values ('top 2');
commit;
-- More of them than one record assigns to a transaction, each inside of the one before.
begin;
select format('savepoint %I', 's' || n) from generate_series(1, 80) n \gexec
insert into nested (path) values ('innermost 1'), ('innermost 2');
release s40;
insert into nested (path) values ('39');
release s1;
insert into nested (path) values ('top');
commit;
-- Each with a row, half of them rolled back.
begin;
select format('savepoint s; insert into nested (path) values (%L); %s s', n, case n % 2 when 0 then 'rollback to' else 'release' end)
from generate_series(1, 150) n \gexec
commit;
-- A transaction that has a number before it has written anything; one whose first row is a subtransaction's.
begin;
select pg_current_xact_id() is not null as numbered;
savepoint a;
insert into nested (path) values ('after the number');
release a;
commit;
begin;
savepoint a;
insert into nested (path) values ('before the number');
commit;
-- Only a lock was logged of the transaction when its subtransaction writes.
begin;
select id from nested where id = 1 for update;
savepoint a;
insert into nested (path) values ('after a lock');
commit;
-- Rolled back inside, around and after.
begin;
insert into nested (path) values ('kept 1');
savepoint a;
insert into nested (path) values ('voided 1');
savepoint b;
insert into nested (path) values ('voided 2');
rollback to b;
insert into nested (path) values ('voided 3');
rollback to a;
insert into nested (path) values ('kept 2');
commit;
select * from varve_replays('transactions', 'nested');
select array_agg(line->'new'->'id' order by n) = array_agg(line->'new'->'id' order by (line->'new'->>'id')::int) as in_order
from varve_changes('transactions') with ordinality l (line, n);

-- DDL between rows and transactions: columns come, change, go and are called otherwise.
begin;
insert into shaped (a, t) values (1, '1'), (1, '2');
commit;
alter table shaped add bar int;
insert into shaped (a, t, bar) values (2, '1', 4);
begin;
insert into shaped (a, t, bar) values (2, '2', 4), (2, '3', null);
alter table shaped add c1 int, add c2 text default 'two';
update shaped set c1 = id where a = 2;
insert into shaped (a, t, c1) values (6, '3', 1);
alter table shaped drop bar;
update shaped set c2 = 'three' where a = 1;
commit;
alter table shaped rename t to u;
update shaped set u = u || '0' where a = 2;
alter table shaped alter u type int using u::int;
delete from shaped where u = 20;
begin;
insert into shaped (a, u) values (8, 8);
savepoint a;
alter table shaped drop c2, add c2 int default 5;
insert into shaped (a, u) values (9, 9);
rollback to a;
insert into shaped (a, u) values (10, 10);
alter table shaped add late int default 7;
commit;
update shaped set a = a + 1;
select * from varve_replays('transactions', 'shaped');
select pg_replication_slot_advance('transactions', pg_current_wal_lsn()) is not null as advanced;

-- More rows than memory holds, in the transaction and in subtransactions beside and inside each other.
\set few 'insert into spilled (v) select repeat(chr(97 + g), 150) from generate_series(1, 2) g;'
\set many 'insert into spilled (v) select repeat(chr(97 + g % 26), 150) from generate_series(1, 500) g;'
select coalesce(sum(spill_txns), 0) as spilled_before from pg_stat_replication_slots where slot_name = 'transactions' \gset
begin; :many commit;
begin; savepoint s; :many release s; commit;
begin; savepoint s; :many release s; :few commit;
begin; :many savepoint s; :few release s; commit;
begin; :many savepoint s; :many release s; commit;
begin; savepoint s; :many release s; savepoint t; :few release t; commit;
begin; savepoint s; :few release s; savepoint t; :many release t; :many commit;
begin; savepoint s; :many savepoint t; :many release t; release s; commit;
begin; savepoint s; :few savepoint t; :many release t; release s; commit;
begin; savepoint s; :many savepoint t; :many rollback to t; savepoint u; :many release s; commit;
begin; :many savepoint s; :many rollback to s; :few commit;
begin; savepoint s; :many rollback;
begin; :many update spilled set v = v || 'x' where id % 7 = 0; delete from spilled where id % 11 = 0; update spilled set id = -id where id % 13 = 0; commit;
select * from varve_replays('transactions', 'spilled');
select sum(spill_txns) >= :spilled_before + 10 as has_spilled from pg_stat_replication_slots where slot_name = 'transactions';
select bool_and(id > before) as in_order from (select xid, id, lag(id, 1, 0) over (partition by xid order by n) as before from
  (select n, data::jsonb->>'xid' as xid, (data::jsonb->'new'->>'id')::int as id from pg_logical_slot_peek_changes('transactions', null,
    null, 'publication_names', 'varve', 'format', 'json') with ordinality as l (lsn, xid, data, n) where data like '%"kind": "insert"%') i) j;
select pg_replication_slot_advance('transactions', pg_current_wal_lsn()) is not null as advanced;
truncate spilled, nested, shaped;
select pg_replication_slot_advance('transactions', pg_current_wal_lsn()) is not null as advanced;

-- Prepared transactions: DDL inside, an exclusive lock, CLUSTER, a savepoint that rolls back; large ones in blocks.
begin;
insert into nested (path) values ('prepared');
savepoint s;
insert into nested (path) values ('voided');
rollback to s;
prepare transaction 'one';
alter table shaped add d int;
begin;
insert into shaped (a, d) values (1, 1);
alter table shaped add e text;
insert into shaped (a, d, e) values (2, 2, 'e');
cluster shaped using shaped_pkey;
update shaped set e = 'f' where e is null;
prepare transaction 'two';
-- Of another table there is something meanwhile, and the lock of the one that is prepared keeps nobody waiting.
insert into spilled (v) values ('beside');
select count(*) from pg_locks where relation = 'shaped'::regclass and mode = 'AccessExclusiveLock';
set statement_timeout = '60s';
select count(*) > 0 as decoded from varve_lines('transactions', 'two_phase', 'on');
reset statement_timeout;
commit prepared 'two';
commit prepared 'one';
begin;
:many
savepoint s;
:many
truncate spilled;
rollback to s;
:few
prepare transaction 'three';
begin;
insert into nested (path) select 'p' from generate_series(1, 1000);
prepare transaction 'four';
commit prepared 'three';
rollback prepared 'four';
insert into nested (path) values ('after all');
select * from varve_replays('transactions', 'nested', true);
select * from varve_replays('transactions', 'shaped', true);
select * from varve_replays('transactions', 'spilled', true);

reset logical_decoding_work_mem;
select pg_drop_replication_slot('transactions');
drop table nested, shaped, spilled;
