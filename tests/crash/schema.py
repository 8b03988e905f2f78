# SPDX-License-Identifier: PostgreSQL
"""The tables of the history check."""

import subprocess

import values

PGBENCH_TABLES = {
    "pgbench_accounts": "aid",
    "pgbench_branches": "bid",
    "pgbench_tellers": "tid",
    "pgbench_history": "hid",
}
# Table: the key's columns. Every key column is an integer or plain text, so it can be read from a row's JSON.
TABLES = {
    **PGBENCH_TABLES,
    "every_type": "id",
    "wide": "id",
    "wide_full": "id",
    "by_index": "code",
    "shifting": "id",
    "spare": "id",
}
EXTRA_COLUMNS = {
    "x_mood": ("mood", lambda rng: values.quote(rng.choice(["sad", "ok", "happy"]))),
    "x_positive": ("positive", lambda rng: str(rng.randint(1, 99))),
    "x_pair": ("pair", lambda rng: f"row({rng.randint(0, 9)}, {values.quote(values.text(rng))})::pair"),
    "x_numeric": ("numeric(12,3)", lambda rng: f"{rng.uniform(-1e8, 1e8)}"),
    "x_bit": ("bit(9)", lambda rng: f"b'{rng.getrandbits(9):09b}'"),
    "x_bpchar": ("char(5)", lambda rng: values.quote(rng.choice(["", "ab", "abcde"]))),
    "x_timestamp": ("timestamp(3)", lambda rng: values.quote(values.timestamp(rng))),
    "x_bounds": ("int4[]", lambda rng: "'[2:3]={7,8}'"),
}


class Column:
    def __init__(self, name, kind, draw):
        self.name = name
        self.kind = kind
        self.draw = draw


def every_type_columns(session):
    """A column for every built-in type and for its array. A type that this test does not know is an error."""
    known = {
        row[0]
        for row in session.execute(
            "select typname from pg_type t "
            "where typnamespace = 'pg_catalog'::regnamespace and typtype in ('b', 'r', 'm') "
            "and not exists (select from pg_type e where e.typarray = t.oid)"
        )
    }
    missing = known - values.GENERATORS.keys() - values.WITHOUT_INPUT
    if missing:
        raise AssertionError(f"tests/crash/values.py draws no values of {sorted(missing)}")
    columns = []
    for name in sorted(known & values.GENERATORS.keys()):
        columns.append(Column(f"c_{name}", values.sql_name(name), lambda rng, n=name: values.literal(rng, n)))
        columns.append(
            Column(
                f"a_{name}", values.sql_name(name) + "[]", lambda rng, n=name: values.array_literal(rng, n)
            )
        )
    columns += [Column(name, kind, draw) for name, (kind, draw) in EXTRA_COLUMNS.items()]
    return columns


def create(cluster, scale):
    """Makes and fills the tables and the publication; returns the columns of every_type."""
    subprocess.run(
        [
            "pgbench",
            "-i",
            "-q",
            "-s",
            str(scale),
            "-h",
            cluster.directory,
            "-U",
            "postgres",
            cluster.database,
        ],
        check=True,
        capture_output=True,
    )
    with cluster.session() as session:
        columns = every_type_columns(session)
        listed = ", ".join(f"{column.name} {column.kind}" for column in columns)
        for statement in [
            "alter table pgbench_history add column hid bigint generated always as identity primary key",
            "create type mood as enum ('sad', 'ok', 'happy')",
            "create domain positive as int check (value > 0)",
            "create type pair as (number int, word text)",
            "create table every_type (id int primary key, doubled int generated always as (id * 2) stored, "
            f"{listed})",
            "create table wide (id int primary key, n int, body text, extra bytea, note text)",
            "alter table wide alter extra set storage external",
            "create table wide_full (like wide including all)",
            "alter table wide_full replica identity full",
            "create table by_index (id int, code text not null, n int, body text)",
            "create unique index by_index_code on by_index (code)",
            "alter table by_index replica identity using index by_index_code",
            "create table shifting (id int primary key, n int, word text)",
            "create table spare (id int primary key, n int)",
            "create schema aside",
            "create table aside.unpublished (id int primary key, n int)",
            f"create publication varve for table {', '.join(TABLES)}",
        ]:
            session.execute(statement)
    return columns
