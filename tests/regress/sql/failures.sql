-- Decoding that is cut short at any moment, in every callback: nothing of ours stays in the backend, which lives on, and
-- what comes afterwards is the same.
create table cut (id int primary key, v text, m money);
alter table cut alter v set storage external;
alter publication varve add table cut;
select varve_slot('failures');
insert into cut select g, repeat('v', g % 3000), g from generate_series(1, 500) g;
update cut set id = -id, m = m + 1::money where id % 5 = 0;
begin;
insert into cut select g, repeat('w', 200), g from generate_series(1001, 1500) g;
savepoint s;
alter table cut add c int;
insert into cut select g, repeat('x', 200), g, g from generate_series(2001, 2500) g;
select 1 from pg_logical_emit_message(true, 'm', repeat('x', 1000));
rollback to s;
alter table cut alter m type text;
truncate cut;
commit;
select 1 from pg_logical_emit_message(false, 'm', 'x');
begin;
insert into cut select g, repeat('y', 200), g from generate_series(3001, 3500) g;
prepare transaction 'failures';
commit prepared 'failures';
begin;
insert into cut select g, 'z', g from generate_series(4001, 4500) g;
prepare transaction 'failures';
rollback prepared 'failures';
create function whole(format text) returns text language sql as $$
  select varve_flush();
  select count(*) || ' ' || md5(string_agg(encode(data, 'hex'), ' ' order by n)) from pg_logical_slot_peek_binary_changes('failures', null,
    null, 'publication_names', 'varve', 'streaming', 'on', 'two_phase', 'on', 'rewrites', 'on', 'format', format) with ordinality as m (lsn, xid, data, n) where n > 1
$$;
\setenv PGHOST :HOST
\setenv PGOPTIONS '-c logical_decoding_work_mem=64kB -c datestyle=SQL,DMY'
\! psql -XqAt -d varve_regress -c "select whole('json')" -c "select whole('flatbuffers')" >whole.txt
\! { for i in $(seq 120); do for format in json flatbuffers; do echo "set statement_timeout = $((i % 24 + 1)); select whole('$format');"; done; done; } >cut.sql
\! { cat cut.sql; echo "set statement_timeout = 0; select whole('json'); select whole('flatbuffers'); select 'left: ' || name from pg_backend_memory_contexts where name like 'varve%'; show datestyle; select count(*) from pg_stat_activity where backend_type = 'client backend' and state = 'active'"; } | psql -XqAt -v SHOW_CONTEXT=never -d varve_regress >cut.txt 2>&1
-- Some are cut short, and what is whole is the same.
\! grep -v 'canceling statement due to statement timeout' cut.txt | sort -u | grep -vxFf whole.txt
\! [ "$(tail -n 4 cut.txt | head -n 2)" = "$(cat whole.txt)" ] && [ "$(grep -c 'canceling statement' cut.txt)" -gt 10 ] && echo cut short and whole
\setenv PGOPTIONS
select pg_drop_replication_slot('failures');
drop function whole;
drop table cut;
