-- Logical messages: content is bytes of a given length, with whatever in them.
create table beside (id int primary key);
alter publication varve add table beside;
select varve_slot('messages');

select 1 from pg_logical_emit_message(true, 'p', '\x61620063ff'::bytea);
select 1 from pg_logical_emit_message(true, 'p', '\x6162'::bytea);
select 1 from pg_logical_emit_message(true, '', '');
select 1 from pg_logical_emit_message(false, 'quo"te\', 'tëxt');
insert into beside values (0);
select line->>'prefix' as prefix, line->'transactional' as transactional, decode(line->>'content_base64', 'base64') as content
from varve_changes('messages') line where line->>'kind' = 'message';
select 1 from pg_logical_emit_message(true, 'long', repeat('x', 100000));
select length(decode(line->>'content_base64', 'base64')) = 100000 as long
from varve_changes('messages') line
where line->>'prefix' = 'long';
select pg_replication_slot_advance('messages', pg_current_wal_lsn()) is not null as advanced;

-- A transactional message has its place among the changes. One that is not comes at once: before the transaction
-- that wrote it, and even when that rolls back.
begin;
insert into beside values (1);
select 1 from pg_logical_emit_message(true, 'in', '1');
insert into beside values (2);
select 1 from pg_logical_emit_message(false, 'at once', '2');
commit;
begin;
select 1 from pg_logical_emit_message(false, 'rolled back', '3');
select 1 from pg_logical_emit_message(true, 'gone', '4');
rollback;
select 1 from pg_logical_emit_message(false, 'last', '5');
-- A message outside transactions is not flushed by itself.
insert into beside values (3);
select line - 'columns' - 'schema' as line from varve_lines('messages') line where line->>'kind' <> 'relation';
-- The position of one that stands alone is the end of its record.
select (data::jsonb->>'position')::pg_lsn = lsn as at_the_end_of_its_record, data::jsonb ? 'xid' as has_xid
from pg_logical_slot_peek_changes('messages', null, null, 'publication_names', 'varve', 'format', 'json')
where data like '%"transactional": false%';
select line->>'kind' as kind from varve_changes('messages', 'messages', 'off') line;

select pg_drop_replication_slot('messages');
drop table beside;
