-- What the other tests share: the plugin's lines without what differs between two runs.
create function varve_lines(slot name, variadic options text[] default '{}') returns setof jsonb
language sql as $$
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

create publication varve;
