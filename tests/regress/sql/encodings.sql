-- Databases in other encodings: bytes go as they are, the stream says in which encoding, format=json is JSON in that one.

-- One byte above ASCII.
create database encoded template template0 encoding 'LATIN1' lc_collate 'C' lc_ctype 'C';
\c encoded
set client_encoding = 'LATIN1';
select odd, odd || 'type' as odd_type from convert_from('\xe9', 'LATIN1') odd \gset
create type :"odd_type" as enum (:'odd');
create table :"odd" (id int primary key, :"odd" text, e :"odd_type", j json, b jsonb);
create publication varve for all tables;
create temp table dumped (line jsonb);
select pg_create_logical_replication_slot('encoding', 'varve') is not null as created;
insert into :"odd" values (1, :'odd', :'odd', to_json(:'odd'::text), to_jsonb(:'odd'::text));
select pg_logical_emit_message(true, :'odd', :'odd') is not null as sent;
create temp table lines as select data::jsonb as line from pg_logical_slot_peek_changes('encoding', null, null, 'publication_names', 'varve', 'format', 'json');
select line->'new' = to_jsonb(t) as "row", line->>'table' = :'odd' as "table" from lines, :"odd" t where line->>'kind' = 'insert';
select line->>'prefix' = :'odd' as prefix, decode(line->>'content_base64', 'base64') as content from lines where line->>'kind' = 'message';
select line->'columns'->1->>'name' = :'odd' as "column", line->'columns'->2->'type'->>'name' = :'odd_type' as type from lines where line->>'kind' = 'relation';
\copy (select encode(data, 'hex') from pg_logical_slot_peek_binary_changes('encoding', null, null, 'publication_names', 'varve')) to program 'stream_dump >stream.json'
\copy dumped (line) from stream.json with (format csv, quote e'\x01', delimiter e'\x02')
select line->>'encoding' as encoding from dumped where line->>'kind' = 'handshake';
select line->>'table' = 'public.' || :'odd' as "table", decode(line->'new'->>:'odd', 'hex') as text, line->'new'->>'e' = :'odd' as enum,
  decode(line->'new'->>'j', 'hex') as json, decode(line->'new'->>'b', 'hex') as jsonb from dumped where line->>'kind' = 'insert';
select line->>'prefix' = :'odd' as prefix, decode(line->>'content', 'hex') as content from dumped where line->>'kind' = 'message';
select pg_drop_replication_slot('encoding');
\c varve_regress
drop database encoded;

-- Two bytes a letter.
create database encoded template template0 encoding 'EUC_JP' lc_collate 'C' lc_ctype 'C';
\c encoded
set client_encoding = 'EUC_JP';
select odd, odd || 'type' as odd_type from convert_from('\xb0a1', 'EUC_JP') odd \gset
create type :"odd_type" as enum (:'odd');
create table :"odd" (id int primary key, :"odd" text, e :"odd_type", j json, b jsonb);
create publication varve for all tables;
create temp table dumped (line jsonb);
select pg_create_logical_replication_slot('encoding', 'varve') is not null as created;
insert into :"odd" values (1, :'odd', :'odd', to_json(:'odd'::text), to_jsonb(:'odd'::text));
select pg_logical_emit_message(true, :'odd', :'odd') is not null as sent;
create temp table lines as select data::jsonb as line from pg_logical_slot_peek_changes('encoding', null, null, 'publication_names', 'varve', 'format', 'json');
select line->'new' = to_jsonb(t) as "row", line->>'table' = :'odd' as "table" from lines, :"odd" t where line->>'kind' = 'insert';
select line->>'prefix' = :'odd' as prefix, decode(line->>'content_base64', 'base64') as content from lines where line->>'kind' = 'message';
select line->'columns'->1->>'name' = :'odd' as "column", line->'columns'->2->'type'->>'name' = :'odd_type' as type from lines where line->>'kind' = 'relation';
\copy (select encode(data, 'hex') from pg_logical_slot_peek_binary_changes('encoding', null, null, 'publication_names', 'varve')) to program 'stream_dump >stream.json'
\copy dumped (line) from stream.json with (format csv, quote e'\x01', delimiter e'\x02')
select line->>'encoding' as encoding from dumped where line->>'kind' = 'handshake';
select line->>'table' = 'public.' || :'odd' as "table", decode(line->'new'->>:'odd', 'hex') as text, line->'new'->>'e' = :'odd' as enum,
  decode(line->'new'->>'j', 'hex') as json, decode(line->'new'->>'b', 'hex') as jsonb from dumped where line->>'kind' = 'insert';
select line->>'prefix' = :'odd' as prefix, decode(line->>'content', 'hex') as content from dumped where line->>'kind' = 'message';
select pg_drop_replication_slot('encoding');
\c varve_regress
drop database encoded;

-- Bytes without a meaning, and not UTF-8.
create database encoded template template0 encoding 'SQL_ASCII' lc_collate 'C' lc_ctype 'C';
\c encoded
set client_encoding = 'SQL_ASCII';
select odd, odd || 'type' as odd_type from convert_from('\xc3ff28', 'SQL_ASCII') odd \gset
create type :"odd_type" as enum (:'odd');
create table :"odd" (id int primary key, :"odd" text, e :"odd_type", j json, b jsonb);
create publication varve for all tables;
create temp table dumped (line jsonb);
select pg_create_logical_replication_slot('encoding', 'varve') is not null as created;
insert into :"odd" values (1, :'odd', :'odd', to_json(:'odd'::text), to_jsonb(:'odd'::text));
select pg_logical_emit_message(true, :'odd', :'odd') is not null as sent;
create temp table lines as select data::jsonb as line from pg_logical_slot_peek_changes('encoding', null, null, 'publication_names', 'varve', 'format', 'json');
select line->'new' = to_jsonb(t) as "row", line->>'table' = :'odd' as "table" from lines, :"odd" t where line->>'kind' = 'insert';
select line->>'prefix' = :'odd' as prefix, decode(line->>'content_base64', 'base64') as content from lines where line->>'kind' = 'message';
select line->'columns'->1->>'name' = :'odd' as "column", line->'columns'->2->'type'->>'name' = :'odd_type' as type from lines where line->>'kind' = 'relation';
\copy (select encode(data, 'hex') from pg_logical_slot_peek_binary_changes('encoding', null, null, 'publication_names', 'varve')) to program 'stream_dump >stream.json'
\copy dumped (line) from stream.json with (format csv, quote e'\x01', delimiter e'\x02')
select line->>'encoding' as encoding from dumped where line->>'kind' = 'handshake';
select line->>'table' = 'public.' || :'odd' as "table", decode(line->'new'->>:'odd', 'hex') as text, line->'new'->>'e' = :'odd' as enum,
  decode(line->'new'->>'j', 'hex') as json, decode(line->'new'->>'b', 'hex') as jsonb from dumped where line->>'kind' = 'insert';
select line->>'prefix' = :'odd' as prefix, decode(line->>'content', 'hex') as content from dumped where line->>'kind' = 'message';
select pg_drop_replication_slot('encoding');
\c varve_regress
drop database encoded;
