-- What the other tests share: the plugin's lines without what differs between two runs.
-- Decoding waits up to 15 seconds for the rest of a record that is not flushed yet, as one may be that its own transaction
-- has written, also where it only reads: then the end of the segment brings the flush.
create function varve_flush() returns void
language sql as $$ select pg_switch_wal() where pg_current_wal_insert_lsn() > pg_current_wal_flush_lsn() $$;
create function varve_lines(slot name, variadic options text[] default '{}') returns setof jsonb
language sql as $$
  select varve_flush();
  select data::jsonb - '{xid,position,time,version,oid}'::text[]
  from pg_logical_slot_peek_changes(slot, null, null, variadic
    array['publication_names', 'varve', 'format', 'json'] || options)
$$;

-- The changes of rows, messages and tables, without the frame of their transactions.
create function varve_changes(slot name, variadic options text[] default '{}') returns setof jsonb
language sql as $$
  select line - '{schema}'::text[] from varve_lines(slot, variadic options) line
  where line->>'kind' not in ('begin', 'commit', 'relation', 'drop', 'untrack')
$$;

-- The descriptions of tables: "table: column type, ..." with what is special about each column.
create function varve_relations(slot name) returns setof text
language sql as $$
  select format('%s.%s %s: %s', line->>'schema', line->>'table', line->>'identity',
    (select string_agg(format('%s %s.%s%s%s%s%s%s%s', c->>'name', c->'type'->>'schema', c->'type'->>'name',
        case when c->>'typmod' <> '-1' then format('(%s)', c->>'typmod') end, ' base ' || (c->'base_type'->>'name'),
        ' key ' || (c->>'key'), ' identity ' || (c->>'identity_position'), ' ' || (c->>'generated'),
        ' default ' || (c->>'default')), ', ' order by (c->>'attnum')::int)
     from jsonb_array_elements(line->'columns') c))
  from varve_lines(slot) line where line->>'kind' = 'relation'
$$;

-- A slot, before whose start everything so far has happened.
create function varve_slot(slot name) returns void
language sql as $$ select pg_create_logical_replication_slot(slot, 'varve') $$;

-- What a reader applies, in the order in which transactions end: without what rolled back or has not ended.
create function varve_applied(slot name, variadic options text[] default '{}') returns setof jsonb
language sql as $$
  select varve_flush();
  with lines as materialized (
    select n, data::jsonb as line from pg_logical_slot_peek_changes(slot, null, null, variadic
      array['publication_names', 'varve', 'format', 'json'] || options) with ordinality as peeked (lsn, xid, data, n)),
  named as materialized (
    select n, line, line->>'xid' as xid, line->>'kind' as kind, coalesce(line->>'subxid', line->>'xid') as subxid from lines),
  aborts as materialized (select n, xid, subxid from named where kind = 'stream_abort'),
  ended as materialized (
    select *, min(n) filter (where kind in ('commit', 'stream_commit', 'commit_prepared')) over (partition by xid order by n desc) as ends from named)
  select line from ended e where (line ? 'seq' or kind = 'relation') and ends is not null and not exists (
    select from aborts a where a.xid = e.xid and a.n > e.n and a.subxid in (e.xid, e.subxid))
  order by ends, n
$$;

create unlogged table replayed (way text, id text, "row" jsonb);
create index on replayed (id);

-- Makes the rows that a reader has of a table who had none at the slot's start.
create function varve_replay(slot name, t text, which text, variadic options text[]) returns void
language plpgsql set enable_seqscan = off as $$
declare
  line jsonb;
  sought jsonb;
  old_columns jsonb;
  new_columns jsonb;
  was jsonb;
  c record;
begin
  delete from replayed where way = which;
  for line in select l from varve_applied(slot, variadic options) l where l->>'table' = t loop
    was := '{}';
    if line->>'kind' = 'relation' then
      select jsonb_object_agg(e->>'attnum', e) into new_columns from jsonb_array_elements(line->'columns') e;
      for c in select o.value->>'name' as old_name, n.value as new from jsonb_each(old_columns) o full join jsonb_each(new_columns) n using (key)
        where old_columns is not null and o.value->>'name' is distinct from n.value->>'name' loop
        if c.old_name is null then
          execute format('select jsonb_build_object(%L, %s)', c.new->>'name', coalesce(c.new->>'default', 'null')) into was;
          update replayed r set "row" = r."row" || was where way = which;
        elsif c.new is null then
          update replayed r set "row" = r."row" - c.old_name where way = which;
        else
          update replayed r set "row" = r."row" - c.old_name || jsonb_build_object(c.new->>'name', r."row"->c.old_name) where way = which;
        end if;
      end loop;
      old_columns := new_columns;
      continue;
    end if;
    if line->>'kind' = 'truncate' or (line->>'rows')::boolean then
      delete from replayed where way = which;
    elsif line->>'kind' in ('update', 'delete') then
      sought := coalesce(line->'old', line->'key', jsonb_build_object('id', line->'new'->'id'));
      delete from replayed r where r.ctid = (select s.ctid from replayed s
        where s.id = coalesce(sought->>'id', '') and s.way = which and s."row" @> sought limit 1)
      returning r."row" into was;
      if not found then raise exception '% of a row that is not there: %', line->>'kind', line; end if;
    end if;
    was := was || (line->'new');
    if line ? 'new' then insert into replayed values (which, coalesce(was->>'id', ''), was); end if;
  end loop;
end $$;

-- The same in each way of sending, against the table itself: how many rows there are, and those that are not alike.
create function varve_replays(slot name, t text, two_phase bool default false)
returns table (way text, rows bigint, unlike_rows bigint, one text) language plpgsql as $$
declare
  ways constant text[] := case when two_phase then '{whole,streamed,prepared,prepared and streamed}'::text[] else '{whole,streamed}' end;
begin
  foreach way in array ways loop
    perform varve_replay(slot, t, way, variadic '{rewrites,on}'::text[] || case when way like '%streamed' then '{streaming,on}'::text[] else '{}' end
      || case when way like 'prepared%' then '{two_phase,on}'::text[] else '{}' end);
  end loop;
  return query execute format($q$
    select w.way, (select count(*) from %1$I), count(u."row"), min(u."row"::text) from unnest($1) with ordinality as w (way, place) left join lateral (
      (select to_jsonb(h) as "row" from %1$I h except all select r."row" from replayed r where r.way = w.way) union all
      (select r."row" from replayed r where r.way = w.way except all select to_jsonb(h) from %1$I h)) u on true
    group by w.way, place order by place $q$, t) using ways;
end $$;

create publication varve;
