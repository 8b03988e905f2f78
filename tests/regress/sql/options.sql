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
-- Of ZeroMQ the SQL functions see only what it needs: peeking must not publish.
select varve_changes('options', 'transport', 'zmq');
select count(*) from pg_logical_slot_peek_binary_changes('options', null, null, 'publication_names', 'varve', 'transport', 'zmq');
select count(*) from pg_logical_slot_peek_binary_changes('options', null, null, 'publication_names', 'varve', 'transport', 'zmq',
  'session', '0123456789abcdef0123456789abcdef');
-- Whoever may start replication shall not choose where the server writes.
set varve.ingest_endpoint = 'ipc:///tmp/x';
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
-- Of a long name or value the beginning is told, up to a whole letter.
select data from pg_logical_slot_peek_changes('options', null, null, 'publication_names', 'varve', 'format', repeat('x', 63) || repeat('ü', 500000));
select varve_changes('options', 'batch_bytes', repeat('9', 1000000));
select varve_changes('options', repeat('n', 1000000), '1');
select varve_changes('options', 'session', repeat('"', 1000000));
select data from pg_logical_slot_peek_changes('options', null, null, 'publication_names', repeat('"', 999999));
select data from pg_logical_slot_peek_changes('options', null, null, 'publication_names', ',');
select data from pg_logical_slot_peek_changes('options', null, null, 'publication_names', '""');
-- Names of publications are as in SQL: quoted, cut at 63 bytes, in any number.
create publication "a,""b c" for table plain;
create publication "äöüäöüäöüäöüäöüäöüäöüäöüäöüäöüäöüäöüäöü" for table plain;
select count(*) from pg_logical_slot_peek_changes('options', null, null, 'publication_names', '"a,""b c"', 'format', 'json');
select count(*) from pg_logical_slot_peek_changes('options', null, null, 'publication_names', ' Nothing , "äöüäöüäöüäöüäöüäöüäöüäöüäöüäöüäöüäöüäöü"', 'format', 'json');
select count(*) from pg_logical_slot_peek_changes('options', null, null, 'publication_names',
  (select string_agg('p' || g, ',') from generate_series(1, 1000) g) || ',"a,""b c"', 'format', 'json');
drop publication "a,""b c", "äöüäöüäöüäöüäöüäöüäöüäöüäöüäöüäöüäöüäöü";
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
