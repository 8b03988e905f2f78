-- Every option: what is accepted, what is refused and how it is said.
create table plain (id int primary key);
alter publication varve add table plain;
select varve_slot('options');
insert into plain values (1);
\set VERBOSITY default
\set SHOW_CONTEXT never

select data from pg_logical_slot_peek_changes('options', null, null);
select data from pg_logical_slot_peek_changes('options', null, null, 'publication_names', '');
select data from pg_logical_slot_peek_changes('options', null, null, 'publication_names', 'a,,b');
select data from pg_logical_slot_peek_changes('options', null, null, 'publication_names', 'varve', 'nonsense', '1');
\set VERBOSITY terse
select data from pg_logical_slot_peek_changes('options', null, null, 'publication_names', 'varve', 'format', 'xml');
select data from pg_logical_slot_peek_changes('options', null, null, 'publication_names', 'varve', 'publication_names', 'x');
select varve_changes('options', 'transport', 'zmq');
select varve_changes('options', 'transport', 'carrier pigeon');
select varve_changes('options', 'streaming', 'parallel');
select varve_changes('options', 'two_phase', 'perhaps');
select varve_changes('options', 'messages', 'perhaps');
select varve_changes('options', 'origin', 'elsewhere');
select varve_changes('options', 'session', '12');
select varve_changes('options', 'session', 'g0000000000000000000000000000000');
select varve_changes('options', 'batch_bytes', '1023');
select varve_changes('options', 'batch_bytes', '16777217');
select varve_changes('options', 'batch_bytes', '64kB');
select varve_changes('options', 'batch_bytes', '');
select varve_changes('options', 'transport', 'stream', 'streaming', 'off', 'two_phase', 'false', 'messages', 'on',
  'origin', 'any', 'session', '00112233445566778899aabbccddeeff', 'batch_bytes', '1024');
-- Only a slot that is read with two_phase becomes one for prepared transactions.
select two_phase from pg_replication_slots where slot_name = 'options';
select varve_changes('options', 'streaming', 'on', 'two_phase', 'on');
select two_phase from pg_replication_slots where slot_name = 'options';
-- A binary stream is not text.
select data from pg_logical_slot_peek_changes('options', null, null, 'publication_names', 'varve');

-- Options of one call are forgotten in the next.
select 1 from pg_logical_emit_message(true, 'm', 'x');
select count(*) from varve_changes('options', 'messages', 'off');
select count(*) from varve_changes('options');

-- origin: what replication brought in is left out on demand.
select pg_replication_slot_advance('options', pg_current_wal_lsn()) is not null as advanced;
select pg_replication_origin_create('elsewhere') is not null as created;
select pg_replication_origin_session_setup('elsewhere');
insert into plain values (2);
select pg_replication_origin_session_reset();
insert into plain values (3);
select line->'new' as new from varve_changes('options', 'origin', 'any') line;
select line->'new' as new from varve_changes('options', 'origin', 'none') line;
select pg_replication_origin_drop('elsewhere');

select pg_drop_replication_slot('options');
drop table plain;
