-- TOAST: a value that the change did not touch is "unchanged": never null, never absent, never a magic text.
create table wide (id int primary key, big text, doc jsonb, bytes bytea not null, list int[] not null, x int);
alter table wide alter big set storage external, alter doc set storage external, alter bytes set storage external,
  alter list set storage external;
create table wide_row (like wide including all);
alter table wide_row replica identity full;
alter publication varve add table wide, wide_row;
create function insert_wide(t regclass) returns void language plpgsql as $$
begin
  execute format('insert into %s select 1, repeat(''a'', 3000), jsonb_build_object(''k'', repeat(''b'', 3000)),
    decode(repeat(''00ff'', 1500), ''hex''), array(select generate_series(1, 1000)), 0', t);
end $$;
select insert_wide('wide'), insert_wide('wide_row');
select varve_slot('toast');

update wide set x = 1;
insert into wide values (2, 'unchanged-toast-datum', '"unchanged"', '\x', '{}', 0);
update wide set x = 1 where id = 2;
update wide set big = null where id = 1;
update wide set x = 2 where id = 1;
update wide_row set x = 1;
-- Whole values arrive when they change, and under FULL in the old row.
update wide set doc = jsonb_build_object('k', repeat('c', 3000)) where id = 1;
delete from wide;
vacuum wide;
create function shorten(j jsonb) returns jsonb language sql as $$
  select jsonb_object_agg(key, case when length(value::text) > 60
    then to_jsonb(format('%s bytes, md5 %s', length(value::text), md5(value::text))) else value end)
  from jsonb_each(j)
$$;
select line->>'table' as "table", line->>'kind' as kind, shorten(line->'new') as new, line->'unchanged' as unchanged,
  shorten(coalesce(line->'old', line->'key')) as old
from varve_changes('toast') line;
select pg_replication_slot_advance('toast', pg_current_wal_lsn()) is not null as advanced;

-- A key that is TOASTed itself is logged, also when it does not change.
create table wide_key (id text primary key, v int);
alter table wide_key alter id set storage external;
alter publication varve add table wide_key;
insert into wide_key values (repeat('k', 2500), 1);
update wide_key set v = 2;
select line->>'kind' as kind, shorten(line->'new') as new, line->'unchanged' as unchanged,
  shorten(line->'key') as key
from varve_changes('toast') line where line->>'table' = 'wide_key';
select pg_replication_slot_advance('toast', pg_current_wal_lsn()) is not null as advanced;

-- Compressed values, in line and out of line.
select insert_wide('wide');
alter table wide alter big set storage main, alter doc set storage extended;
insert into wide select 3, repeat('abcdefgh', 2000), jsonb_build_object('k', repeat('ijkl', 20000)), '\x00', '{1}', 0;
update wide set x = 5 where id = 3;
select (line->'new'->>'big') = repeat('abcdefgh', 2000) as big,
  (line->'new'->'doc'->>'k') = repeat('ijkl', 20000) as doc, line->'unchanged' as unchanged
from varve_changes('toast') line where line->'new'->>'id' = '3';
select pg_replication_slot_advance('toast', pg_current_wal_lsn()) is not null as advanced;

-- Thousands of updates that leave a value alone describe the table once.
insert into wide_key values ('short', 0);
do $$ begin for i in 1..2000 loop update wide set x = i where id = 1; end loop; end $$;
select line->>'kind' as kind, line->>'table' as "table", count(*) from varve_lines('toast') line
where line->>'kind' in ('update', 'relation') group by 1, 2 order by 1, 2;

select pg_drop_replication_slot('toast');
drop function shorten, insert_wide;
drop table wide, wide_row, wide_key;
