-- What replication has brought in says where it comes from, and is left out on demand.
create table t (id int primary key, v text);
alter publication varve add table t;
select pg_replication_origin_create('else"where') is not null as created;
select pg_create_logical_replication_slot('origin', 'varve', false, true) is not null as created;
create table dumped (n serial, line jsonb);
create function ends(variadic options text[]) returns table (kind text, new text, origin jsonb)
language sql as $$
  select line->>'kind', coalesce(line->'new'->>'id', line->>'prefix'), (line->'origin') - 'id' from varve_lines('origin', variadic options) line
  where line->>'kind' not in ('relation', 'begin', 'stream_start', 'stream_stop')
$$;

select pg_replication_origin_session_setup('else"where');
begin;
select pg_replication_origin_xact_setup('1A/2B3C4D5E', '2020-01-01 00:00:00+00');
insert into t values (1);
commit;
insert into t values (2);
select pg_logical_emit_message(true, 'elsewhere', 'in one') is not null as sent;
select pg_logical_emit_message(false, 'elsewhere', 'in none') is not null as sent;
begin;
select pg_replication_origin_xact_setup('1A/2B3C4D6F', '2020-01-01 00:00:01+00');
insert into t values (3);
prepare transaction 'p';
select pg_replication_origin_xact_setup('1A/2B3C4D7F', '2020-01-01 00:00:02+00');
commit prepared 'p';
begin;
insert into t values (4);
prepare transaction 'q';
rollback prepared 'q';
select pg_replication_origin_session_reset();
insert into t values (5);
select pg_logical_emit_message(false, 'here', 'in none') is not null as sent;
select pg_logical_emit_message(true, 'here', 'in one') is not null as sent;
-- The commit time is the one of the other server.
select data::jsonb->>'time' as time from pg_logical_slot_peek_changes('origin', null, null, 'publication_names', 'varve', 'format', 'json')
where data like '%"1A/2B3C4D5E"%';
select * from ends('two_phase', 'off');
select * from ends('two_phase', 'off', 'origin', 'none');
\copy (select encode(data, 'hex') from pg_logical_slot_peek_binary_changes('origin', null, null, 'publication_names', 'varve', 'two_phase', 'on')) to program 'stream_dump --staged >stream.json'
\copy dumped (line) from stream.json with (format csv, quote e'\x01', delimiter e'\x02')
select line - 'xid' - 'oid' - 'new' - 'subxid' as line from dumped where line->>'kind' not in ('handshake', 'definition') order by n;
select * from ends('two_phase', 'on');
select * from ends('two_phase', 'on', 'origin', 'none');
select pg_replication_slot_advance('origin', pg_current_wal_lsn()) is not null as advanced;

-- In a walsender the end of a streamed or prepared transaction comes outside any transaction.
set logical_decoding_work_mem = '64kB';
select pg_replication_origin_session_setup('else"where');
begin;
insert into t select g, repeat('v', 100) from generate_series(1001, 2000) g;
commit;
begin;
insert into t select g, repeat('v', 100) from generate_series(3001, 4000) g;
prepare transaction 'r';
commit prepared 'r';
select pg_replication_origin_session_reset();
insert into t values (6);
select pg_current_wal_lsn() as "end" \gset
\setenv END :end
\setenv PGHOST :HOST
\setenv PGOPTIONS '-c logical_decoding_work_mem=64kB'
truncate dumped restart identity;
\! timeout 60 pg_recvlogical -d varve_regress --slot origin --start --no-loop -f origin.json --endpos $END -o publication_names=varve -o format=json -o streaming -o two_phase
\copy dumped (line) from program 'grep . origin.json' with (format csv, quote e'\x01', delimiter e'\x02')
select line->>'kind' as kind, (line->'origin') - 'id' as origin from dumped
where line->>'kind' not in ('relation', 'begin', 'stream_start', 'stream_stop', 'insert') order by n;
\setenv PGOPTIONS
reset logical_decoding_work_mem;

-- One that is gone has no name.
select pg_replication_origin_session_setup('else"where');
insert into t values (7);
select pg_replication_origin_session_reset();
select pg_replication_origin_drop('else"where');
insert into t values (8);
select * from ends('two_phase', 'off');
select * from ends('two_phase', 'off', 'origin', 'none');

select pg_drop_replication_slot('origin');
drop function ends;
drop table t, dumped;
