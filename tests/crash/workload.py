# SPDX-License-Identifier: PostgreSQL
"""Writers for the history check. Their statements come from a seed; how they interleave does not."""

import contextlib
import random
import subprocess
import threading
from collections import Counter

import values
from varve_cluster import ConnectionLost, SqlError

# Losing a race is part of the mix: duplicate key, undefined or duplicate column, another type than a moment
# ago, deadlock, lock timeout.
LOST_RACES = {"23505", "42703", "42701", "42804", "40P01", "55P03"}
LARGEST_KEY = 300
ATTRIBUTES_MAX = 1200


class Writer(threading.Thread):
    """One session that runs random transactions until `stop`, through server crashes."""

    def __init__(self, cluster, name, seed):
        super().__init__(name=name, daemon=True)
        self.cluster = cluster
        self.rng = random.Random(f"{seed}/{name}")
        self.counts = Counter()
        self.failure = None
        self.pause_s = 0.02
        self._stopping = threading.Event()
        self.session = None

    def stop(self):
        self._stopping.set()
        self.join(60)
        if self.session:
            self.session.close()

    def run(self):
        while not self._stopping.wait(self.rng.random() * 2 * self.pause_s):
            try:
                if self.session is None:
                    self.session = self.cluster.session()
                    self._finish_prepared()
                self._transaction()
            except ConnectionLost:
                self._disconnect()
            except SqlError as error:
                if error.sqlstate[:2] == "57":
                    self._disconnect()
                elif error.sqlstate in LOST_RACES:
                    self.counts["lost race"] += 1
                    self._roll_back()
                else:
                    self.failure = error
                    return
            except Exception as error:  # pylint: disable=broad-except
                self.failure = error
                return
        with contextlib.suppress(ConnectionLost, SqlError):
            if self.session:
                self._finish_prepared()

    def _disconnect(self):
        if self.session:
            self.session.close()
            self.session = None
        self.counts["reconnect"] += 1
        self._stopping.wait(0.1)

    def _roll_back(self):
        with contextlib.suppress(ConnectionLost, SqlError):
            self.session.execute("rollback")

    def _gid(self):
        return f"history-{self.name}"

    def _finish_prepared(self):
        """What a crash between PREPARE and COMMIT PREPARED leaves would hold up every new slot."""
        if self.session.execute(f"select 1 from pg_prepared_xacts where gid = '{self._gid()}'"):
            self.session.execute(f"commit prepared '{self._gid()}'")
            self.counts["commit prepared"] += 1

    def _transaction(self):
        execute, rng = self.session.execute, self.rng
        execute("begin")
        execute("set local lock_timeout = '2s'")
        if rng.random() < 0.3:
            execute("set local synchronous_commit = off")
        for _ in range(rng.randint(1, 4)):
            if rng.random() < 0.3:
                self._under_savepoint()
            else:
                execute(self.statement())
        end = rng.random()
        if end < 0.12:
            execute("rollback")
            self.counts["rollback"] += 1
        elif end < 0.17:
            execute(f"prepare transaction '{self._gid()}'")
            self._finish_prepared()
        else:
            execute("commit")
            self.counts["commit"] += 1

    def _under_savepoint(self):
        execute, rng = self.session.execute, self.rng
        execute("savepoint a")
        execute(self.statement())
        if rng.random() < 0.3:
            execute("savepoint b")
            execute(self.statement())
        if rng.random() < 0.5:
            execute("rollback to savepoint a")
            self.counts["savepoint rolled back"] += 1
        else:
            execute("release savepoint a")
            self.counts["savepoint released"] += 1

    def statement(self):
        raise NotImplementedError

    def key(self):
        return self.rng.randint(1, LARGEST_KEY)

    def move_key(self, table, column="id", draw=None):
        """A key update that may find no row, and never a key that is taken (unless it loses a race)."""
        old, new = (draw or self.key)(), (draw or self.key)()
        self.counts["key update"] += 1
        return (
            f"update {table} set {column} = {new} where {column} = {old} "
            f"and not exists (select from {table} where {column} = {new})"
        )

    def truncate(self, tables):
        self.counts["truncate"] += 1
        return f"truncate {tables}"


class EveryType(Writer):
    def __init__(self, cluster, seed, columns):
        super().__init__(cluster, "every_type", seed)
        self.columns = columns

    def statement(self):
        rng, choice = self.rng, self.rng.random()
        if choice < 0.45:
            chosen = rng.sample(self.columns, rng.choice([1, 3, 12]))
            values_set = ", ".join(f"{column.name} = {column.draw(rng)}" for column in chosen)
            first = self.key()
            return (
                f"update every_type set {values_set} where id between {first} and {first + rng.randint(0, 9)}"
            )
        if choice < 0.80:
            names = ", ".join(column.name for column in self.columns)
            drawn = ", ".join(rng.choice([column.draw(rng)] * 9 + ["null"]) for column in self.columns)
            return (
                f"insert into every_type (id, {names}) values ({self.key()}, {drawn}) on conflict do nothing"
            )
        if choice < 0.90:
            return f"delete from every_type where id = {self.key()}"
        if choice < 0.998:
            return self.move_key("every_type")
        return self.truncate("every_type")


class Wide(Writer):
    """Rows that do not fit a page: most updates leave their big values as they are."""

    TABLES = ["wide", "wide", "wide_full"]

    def __init__(self, cluster, seed):
        super().__init__(cluster, "wide", seed)

    def statement(self):
        rng, choice, table = self.rng, self.rng.random(), self.rng.choice(self.TABLES)
        if choice < 0.30:
            body, extra = values.wide_text(rng), values.wide_text(rng)
            return (
                f"insert into {table} values ({self.key()}, 0, '{body}', '\\x{extra}', 'new') "
                f"on conflict (id) do update set body = excluded.body, n = {table}.n + 1"
            )
        if choice < 0.65:
            first, note = self.key(), values.quote(values.text(rng))
            return f"update {table} set n = n + 1, note = {note} where id between {first} and {first + 9}"
        if choice < 0.75:
            return f"update {table} set extra = null where id = {self.key()}"
        if choice < 0.83:
            extra = values.wide_text(rng)
            return f"update {table} set body = body || 'x', extra = '\\x{extra}' where id = {self.key()}"
        if choice < 0.92:
            return self.move_key(table)
        if choice < 0.997:
            return f"delete from {table} where id = {self.key()}"
        return self.truncate("wide, wide_full" if rng.random() < 0.5 else table)


class ByIndex(Writer):
    """A table known by an index that is not its primary key, and one that is mostly empty."""

    def __init__(self, cluster, seed):
        super().__init__(cluster, "by_index", seed)

    def code(self):
        rng = random.Random(self.rng.randint(1, LARGEST_KEY))
        return values.quote(f"{rng.choice('ABCDEF')}{values.text(rng, 6)}")

    def statement(self):
        rng, choice = self.rng, self.rng.random()
        if choice < 0.35:
            body = values.wide_text(rng) if rng.random() < 0.3 else "short"
            row = f"{self.key()}, {self.code()}, 0, '{body}'"
            return f"insert into by_index values ({row}) on conflict do nothing"
        if choice < 0.65:
            return f"update by_index set n = n + 1 where code = {self.code()}"
        if choice < 0.75:
            return self.move_key("by_index", "code", self.code)
        if choice < 0.83:
            return f"delete from by_index where code = {self.code()}"
        if choice < 0.833:
            return self.truncate("by_index, spare")
        if choice < 0.93:
            return (
                f"insert into spare values ({self.key()}, 0) on conflict (id) do update set n = spare.n + 1"
            )
        return f"insert into aside.unpublished values ({self.key()}, 0) on conflict (id) do update set n = 1"


class Shifting(Writer):
    """A table whose columns come and go, also in the middle of transactions and under savepoints."""

    KINDS = ["int", "text", "numeric(10,2)", "timestamptz", "jsonb", "text[]", "inet", "boolean"]
    DEFAULTS = {
        "int": "42",
        "text": "'gift'",
        "numeric(10,2)": "1.50",
        "timestamptz": "'2020-02-02 02:02:02+02'",
        "jsonb": "'{\"a\": [1, 2]}'",
        "text[]": "array['x', null]",
        "inet": "'10.0.0.1'",
        "boolean": "true",
    }
    DRAWN = {
        "int": "int4",
        "text": "text",
        "numeric(10,2)": "int2",
        "timestamptz": "timestamptz",
        "jsonb": "jsonb",
        "text[]": None,
        "inet": "inet",
        "boolean": "bool",
    }

    def __init__(self, cluster, seed, name="shifting", changes_columns=True):
        super().__init__(cluster, name, seed)
        self.changes_columns = changes_columns
        self.pause_s = 0.05 if changes_columns else 0.02

    def _columns(self):
        rows = self.session.execute(
            "select attname, format_type(atttypid, atttypmod), max(attnum) over () from pg_attribute "
            "where attrelid = 'shifting'::regclass and attnum > 0 and not attisdropped"
        )
        known = {
            "numeric(10,2)": "numeric(10,2)",
            "integer": "int",
            "timestamp with time zone": "timestamptz",
        }
        added = [(name, known.get(kind, kind)) for name, kind, _ in rows if name.startswith("c")]
        return added, int(rows[0][2])

    def statement(self):
        added, attributes = self._columns()
        if self.changes_columns and self.rng.random() < 0.03:
            return self._column_change(added, attributes)
        return self._row_change(added)

    def _column_change(self, added, attributes):
        rng, choice = self.rng, self.rng.random()
        if attributes < ATTRIBUTES_MAX and (choice < 0.45 or not added):
            kind = rng.choice(self.KINDS)
            default = f" default {self.DEFAULTS[kind]}" if rng.random() < 0.5 else ""
            # Few names, so that a dropped column's name comes back with another type.
            free = sorted({f"c{n}" for n in range(8)} - {name for name, _ in added})
            if free:
                self.counts["add column"] += 1
                return f"alter table shifting add column {rng.choice(free)} {kind}{default}"
        name = rng.choice(added)[0]
        if choice < 0.75:
            self.counts["drop column"] += 1
            return f"alter table shifting drop column {name}"
        self.counts["rename column"] += 1
        return f"alter table shifting rename column {name} to c{rng.randint(0, 9)}_{rng.randint(0, 999)}"

    def _draw(self, kind):
        name = self.DRAWN.get(kind)
        return values.literal(self.rng, name) if name else values.array_literal(self.rng, "text")

    def _row_change(self, added):
        rng, choice = self.rng, self.rng.random()
        chosen = rng.sample(added, rng.randint(0, len(added)))
        if choice < 0.40:
            names = "".join(f", {name}" for name, _ in chosen)
            drawn = "".join(f", {self._draw(kind)}" for _, kind in chosen)
            return (
                f"insert into shifting (id, n, word{names}) values ({self.key()}, 0, 'w'{drawn}) "
                "on conflict (id) do update set n = shifting.n + 1"
            )
        if choice < 0.80:
            drawn = "".join(f", {name} = {self._draw(kind)}" for name, kind in chosen)
            first = self.key()
            return f"update shifting set n = n + 1{drawn} where id between {first} and {first + 5}"
        if choice < 0.88:
            return f"delete from shifting where id = {self.key()}"
        if choice < 0.998:
            return self.move_key("shifting")
        return self.truncate("shifting")


class Pgbench(threading.Thread):
    """pgbench's TPC-B-like mix at a given rate; begun again after each server crash."""

    def __init__(self, cluster, rate, seed):
        super().__init__(name="pgbench", daemon=True)
        self.cluster = cluster
        self.rate = rate
        self.seed = seed
        self.counts = Counter()
        self.failure = None
        self._process = None
        self._stopping = threading.Event()

    def run(self):
        with open(self.cluster.path("pgbench.log"), "ab") as log:
            while not self._stopping.is_set():
                self._process = subprocess.Popen(
                    [
                        "pgbench",
                        "-n",
                        "-b",
                        "tpcb-like",
                        "-c",
                        "3",
                        "-j",
                        "1",
                        "-T",
                        "100000",
                        "--rate",
                        str(self.rate),
                        "--random-seed",
                        str(self.seed),
                        "-h",
                        self.cluster.directory,
                        "-U",
                        "postgres",
                        self.cluster.database,
                    ],
                    stdout=log,
                    stderr=log,
                )
                self.counts["started"] += 1
                self._process.wait()
                self.seed += 1
                self._stopping.wait(0.2)

    def stop(self):
        self._stopping.set()
        if self._process:
            self._process.kill()
        self.join(20)


class Workload:
    """All writers together."""

    def __init__(self, cluster, columns, seed, rate):
        self.writers = [
            EveryType(cluster, seed, columns),
            Wide(cluster, seed),
            ByIndex(cluster, seed),
            Shifting(cluster, seed),
            Shifting(cluster, seed, "shifting-rows", changes_columns=False),
            Pgbench(cluster, rate, seed),
        ]

    def start(self):
        for writer in self.writers:
            writer.start()

    def stop(self):
        for writer in self.writers:
            writer.stop()
        self.check()

    def check(self):
        for writer in self.writers:
            if writer.failure:
                raise AssertionError(f"writer {writer.name} failed: {writer.failure!r}")

    def counts(self):
        return sum((writer.counts for writer in self.writers), Counter())
