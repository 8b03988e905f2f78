-- format=flatbuffers, read with the sidecar's decoder: bytes against the server's own send functions. Goes on with
-- the table and the slot of types.sql.
create table dumped (n serial, line jsonb);
-- What a row image must hold: the send form for the types of schemas/README.md and arrays of them, else the text.
create function expected_image(t regclass, row_id int) returns jsonb language plpgsql as $$
declare
  short_list constant regtype[] := '{bool,"\"char\"",int2,int4,int8,oid,float4,float8,date,time,timestamp,timestamptz,
    timetz,interval,uuid,numeric,text,varchar,bpchar,name,bytea,json,jsonb}';
  names text;
  cells text;
  image jsonb;
begin
  select string_agg(quote_literal(attname), ', '), string_agg(
    case when coalesce(element.oid, base.oid) = any (short_list) then format('encode(%s(%I), ''hex'')', base.typsend, attname)
    else format('case when %1$I is not null then format(''%%s'', %1$I) end', attname) end, ', ')
  into names, cells
  from pg_attribute join pg_type declared on declared.oid = atttypid
  join pg_type base on base.oid = case when declared.typtype = 'd' then declared.typbasetype else declared.oid end
  left join pg_type element on element.typarray = base.oid
  where attrelid = t and attnum > 0 and not attisdropped;
  execute format('select jsonb_object(array[%s], array[%s]) from %s where id = %s', names, cells, t, row_id) into image;
  return image;
end $$;
set timezone = 'UTC';
set datestyle = 'ISO';
set intervalstyle = 'postgres';
set bytea_output = 'hex';
set extra_float_digits = 1;
set lc_monetary = 'C';
set xmlbinary = 'base64';
set search_path = pg_catalog;
create temp table expected_images as select id, public.expected_image('public.corpus', id) as image from public.corpus;
reset all;
-- Under other settings than those, and with a client encoding that send functions would turn text into.
set timezone = 'Asia/Kolkata';
set datestyle = 'SQL, DMY';
set intervalstyle = 'iso_8601';
set bytea_output = 'escape';
set extra_float_digits = -5;
set client_encoding = 'LATIN1';
\copy (select encode(data, 'hex') from pg_logical_slot_peek_binary_changes('values', null, null, 'publication_names', 'varve', 'session', '00000000000000010123456789abcdef')) to program 'stream_dump 00000000000000010123456789abcdef >stream.json'
reset all;
\copy dumped (line) from stream.json with (format csv, quote e'\x01', delimiter e'\x02')
select count(*) as rows, count(*) filter (where d.line->'new' = e.image) as equal
from dumped d join expected_images e on d.line->'new'->>'id' = lpad(to_hex(e.id), 8, '0') where d.line->>'kind' = 'insert';
select e.id, key, value, e.image->key as right_value
from dumped d join expected_images e on d.line->'new'->>'id' = lpad(to_hex(e.id), 8, '0'), jsonb_each(d.line->'new')
where value <> e.image->key;
select line->'database' as database, line->'slot' as slot, line->'encoding' as encoding,
  line->'server_version_num' = to_jsonb(current_setting('server_version_num')::int) as version,
  line->'system_identifier' = to_jsonb((select system_identifier from pg_control_system())) as system,
  line->'timeline' = to_jsonb((select timeline_id from pg_control_checkpoint())) as timeline
from dumped where line->>'kind' = 'handshake';
select count(*) filter (where c.value->>'form' = 'binary') as binary_columns,
  count(*) filter (where c.value->>'form' = 'text') as text_columns
from dumped, jsonb_each(line->'columns') c where line->>'kind' = 'definition';

-- The same bytes from a walsender whose role and database have other settings.
select pg_copy_logical_replication_slot('values', 'values_json') is not null as copied;
select pg_current_wal_lsn() as "end" \gset
\setenv END :end
\setenv PGHOST :HOST
alter role postgres set datestyle = 'SQL, DMY';
alter role postgres set intervalstyle = 'sql_standard';
alter role postgres set bytea_output = 'escape';
alter role postgres set extra_float_digits = -5;
alter role postgres set xmlbinary = 'hex';
alter role postgres set quote_all_identifiers = on;
alter role postgres set standard_conforming_strings = off;
alter database varve_regress set timezone = 'Asia/Kolkata';
alter database varve_regress set search_path = 'public';
alter database varve_regress set lc_monetary = 'POSIX';
alter database varve_regress set xmloption = 'document';
alter database varve_regress set client_encoding = 'LATIN1';
\! pg_recvlogical -d varve_regress --slot values_json --start --no-loop -f walsender.json --endpos $END -o publication_names=varve -o format=json
select convert_from(pg_read_binary_file('../walsender.json'), 'UTF8') = string_agg(data || e'\n', '' order by n) as json
from pg_logical_slot_peek_changes('values', null, null, 'publication_names', 'varve', 'format', 'json') with ordinality as m (lsn, xid, data, n);
create temp table peeked as select data, n from pg_logical_slot_peek_binary_changes('values', null, null, 'publication_names', 'varve') with ordinality as m (lsn, xid, data, n);
\! pg_recvlogical -d varve_regress --slot values --start --no-loop -f walsender.bin --endpos $END -o publication_names=varve
-- But for the first message, which says how far the server is.
select length(sent) > 1000 as some, substr(sent, 1 + length(sent) - length(rest)) = rest as bytes
from pg_read_binary_file('../walsender.bin') sent, (select string_agg(data || '\x0a'::bytea, '' order by n) as rest from peeked where n > 1) r;
alter role postgres reset all;
alter database varve_regress reset timezone;
alter database varve_regress reset search_path;
alter database varve_regress reset xmloption;
alter database varve_regress reset client_encoding;
select pg_drop_replication_slot('values_json');

-- Each type alone in a transaction: whether its text obeys settings is told by the type.
create procedure store_alone() language plpgsql as $$
declare
  name text;
begin
  for name in select attname from pg_attribute where attrelid = 'corpus'::regclass and attnum > 1 loop
    execute format('create table %I as select id, %I from corpus with no data', 'alone_' || name, name);
    execute format('alter publication varve add table %I', 'alone_' || name);
    commit;
    execute format('insert into %I select id, %I from corpus', 'alone_' || name, name);
    commit;
  end loop;
end $$;
select pg_replication_slot_advance('values', pg_current_wal_lsn()) is not null as advanced;
call store_alone();
set timezone = 'Asia/Kolkata';
set datestyle = 'SQL, DMY';
set intervalstyle = 'iso_8601';
set bytea_output = 'escape';
set extra_float_digits = -5;
set quote_all_identifiers = on;
\copy (select encode(data, 'hex') from pg_logical_slot_peek_binary_changes('values', null, null, 'publication_names', 'varve', 'session', '00000000000000010123456789abcdef')) to program 'stream_dump 00000000000000010123456789abcdef >stream.json'
reset all;
truncate dumped;
\copy dumped (line) from stream.json with (format csv, quote e'\x01', delimiter e'\x02')
select count(distinct key) > 90 as many_columns, count(*) > 200 as many_values from dumped, jsonb_each(line->'new') where line->>'kind' = 'insert';
select e.id, key, value, e.image->key as right_value
from dumped d join expected_images e on d.line->'new'->>'id' = lpad(to_hex(e.id), 8, '0'), jsonb_each(d.line->'new')
where d.line->>'kind' = 'insert' and value is distinct from e.image->key;
do $$ declare name text; begin
  for name in select relname from pg_class where relname like 'alone\_%' and relkind = 'r' loop execute format('drop table %I', name); end loop;
end $$;
drop procedure store_alone;
select pg_drop_replication_slot('values');
alter publication varve drop table corpus;

-- Transactions over many batches; identities; unchanged values; values that older rows never had.
create table many (id int primary key, v text not null, big text);
alter table many alter big set storage external;
create table full_rows (id int, v text);
alter table full_rows replica identity full;
insert into many values (-1, 'old', repeat('x', 3000)), (-2, 'older', null);
alter table many add c int default 7, add d numeric default 1.50, add e inet default '10.0.0.1';
alter publication varve add table many, full_rows;
select varve_slot('stream');
begin;
insert into many select g, repeat('v', g % 50), null from generate_series(1, 5000) g;
update many set v = 'x' where id % 2 = 0;
savepoint s;
delete from many where id > 4000;
rollback to s;
delete from many where id > 4500;
commit;
update many set v = 'y' where id = -1;
update many set id = -3 where id = -2;
insert into full_rows values (1, null);
update full_rows set v = 'w';
delete from full_rows;
select 1 from pg_logical_emit_message(true, 'p"', '\x00ff'::bytea);
select 1 from pg_logical_emit_message(false, 'p', '');
truncate many restart identity;
begin;
alter table full_rows add w int;
insert into full_rows values (2, 'b', 3);
alter table full_rows alter w type text using w || '!';
commit;
truncate dumped restart identity;
\copy (select encode(data, 'hex') from pg_logical_slot_peek_binary_changes('stream', null, null, 'publication_names', 'varve', 'batch_bytes', '1024')) to program 'stream_dump >stream.json'
\copy dumped (line) from stream.json with (format csv, quote e'\x01', delimiter e'\x02')
select kind, "table", count(*), min(seq), max(seq), count(distinct seq), count(distinct xid) from (
  select line->>'kind' as kind, line->>'table' as "table", (line->>'seq')::int as seq, line->>'xid' as xid from dumped) l
where kind not in ('handshake', 'drop', 'untrack') group by 1, 2 order by 1, 2;
select line - 'xid' as line from dumped where line->>'kind' not in ('handshake', 'drop', 'untrack') 
  and n > (select min(n) from dumped where line->>'kind' = 'commit') order by n;
select line from dumped where line->>'kind' = 'definition' and line->>'table' = 'public.many';
select line - 'xid' as line from dumped where line->'new'->>'id' in ('ffffffff', 'fffffffe') and line->>'kind' = 'update' order by n;
-- The batches of one transaction are cut at their size, and the smallest ones hold the same changes.
select count(*) > 100 as many_batches from pg_logical_slot_peek_binary_changes('stream', null, null,
  'publication_names', 'varve', 'batch_bytes', '1024');
select max(length(data)) between 64 * 1024 and 80 * 1024 as batches_of_64_kb from pg_logical_slot_peek_binary_changes(
  'stream', null, null, 'publication_names', 'varve');
-- Read again, the changes are the same bytes.
select md5(string_agg(encode(data, 'hex'), '')) = (select md5(string_agg(encode(data, 'hex'), '')) from
  pg_logical_slot_peek_binary_changes('stream', null, null, 'publication_names', 'varve')) as same
from pg_logical_slot_peek_binary_changes('stream', null, null, 'publication_names', 'varve');

select pg_drop_replication_slot('stream');
drop table many, full_rows, dumped, corpus;
drop function expected_image, corpus_table;
