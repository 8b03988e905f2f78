# SPDX-License-Identifier: PostgreSQL
"""What PostgreSQL itself held at a commit, read while the writers go on.

A temporary logical slot exports a snapshot that holds exactly the transactions whose commit ends at or before
the slot's consistent point. Two things could still make a reading wrong, and are ruled out before the first
row is read. A transaction that the snapshot takes as finished may not be marked committed yet: these are
awaited. TRUNCATE, rewrites and column changes are not under the snapshot: a moment with one of them between
the consistent point and the table locks is discarded.
"""

import contextlib
import gzip
import hashlib
import json
import re
import threading
import time

import schema
from varve_cluster import ConnectionLost, SqlError

PINNED = [
    "set local timezone = 'UTC'",
    "set local datestyle = 'ISO'",
    "set local intervalstyle = 'postgres'",
    "set local bytea_output = 'hex'",
    "set local extra_float_digits = 1",
    "set local lc_monetary = 'C'",
    "set local xmlbinary = 'base64'",
    "set local quote_all_identifiers = off",
    "set local search_path = pg_catalog",
]
ROWS_PER_BLOCK = 200
READ_LIMIT_S = 300
RACE_LIMIT_S = 30


class Contents:
    """One table's rows as sums of hashes, one sum a block of keys: the order of the rows does not matter."""

    def __init__(self, table):
        self.table = table
        self.rows = 0
        self.blocks = {}
        column = schema.TABLES[table]
        # jsonb prints shorter names first, so the key may stand behind other columns. A line with nothing but
        # numbers before its key is read without a JSON parser.
        self._column = column
        self._fast = re.compile(rb'\{(?:"\w+": -?[\d.]+, )*"' + column.encode() + rb'": (-?\d+)[,}]').match

    def key(self, line):
        found = self._fast(line)
        return int(found[1]) if found else json.loads(line)[self._column]

    def block_of(self, line):
        key = self.key(line)
        return key // ROWS_PER_BLOCK if isinstance(key, int) else key[:1]

    def add(self, line):
        block = self.block_of(line)
        count, total = self.blocks.get(block, (0, 0))
        digest = int.from_bytes(hashlib.blake2b(line, digest_size=16).digest(), "little")
        self.blocks[block] = (count + 1, (total + digest) % (1 << 128))
        self.rows += 1

    def differing_blocks(self, other):
        every = self.blocks.keys() | other.blocks.keys()
        return sorted(block for block in every if self.blocks.get(block) != other.blocks.get(block))


class Moment:
    def __init__(self, number, lsn, phase):
        self.number = number
        self.lsn = lsn
        self.phase = phase
        self.tables = {}
        self.files = {}

    def replace(self, table, lines):
        """Other contents than were read: for the proof that the check can fail."""
        self.tables[table] = Contents(table)
        with gzip.open(self.files[table], "wb", compresslevel=1) as file:
            for line in lines:
                self.tables[table].add(line)
                file.write(line + b"\n")

    def lines(self, table):
        with gzip.open(self.files[table], "rb") as file:
            for line in file:
                yield line.rstrip(b"\n")


class Discarded(Exception):
    """A change that no snapshot shows fell between the consistent point and the locks."""


class MomentMaker(threading.Thread):
    """Makes one moment after the other until `stop`. Its counters may be read at any time."""

    def __init__(self, cluster, pause_s):
        super().__init__(name="moments", daemon=True)
        self.cluster = cluster
        self.pause_s = pause_s
        self.phase = "quiet"
        self.moments = []
        self.discarded = []
        self.interrupted = 0
        self.race_waits = 0
        self.failure = None
        self._number = 0
        self._stopping = threading.Event()

    def stop(self):
        self._stopping.set()
        self.join(READ_LIMIT_S)

    def run(self):
        while not self._stopping.wait(self.pause_s):
            self._number += 1
            try:
                self.moments.append(self._make(self._number, self.phase))
            except Discarded as reason:
                self.discarded.append(str(reason))
            except ConnectionLost:
                self.interrupted += 1
            except SqlError as error:
                # The server starts or stops, or the snapshot held too many transactions to be exported.
                if error.sqlstate[:2] == "57" or "initial slot snapshot too large" in error.message:
                    self.interrupted += 1
                else:
                    self.failure = error
                    return
            except Exception as error:  # pylint: disable=broad-except
                self.failure = error
                return

    def _make(self, number, phase):
        with contextlib.ExitStack() as open_sessions:
            slot = open_sessions.enter_context(self.cluster.replication_session())
            watcher = open_sessions.enter_context(self.cluster.session())
            changing = open_sessions.enter_context(self.cluster.session(timeout=READ_LIMIT_S))
            growing = open_sessions.enter_context(self.cluster.session(timeout=READ_LIMIT_S))
            _, lsn, snapshot, _ = slot.execute(
                f"CREATE_REPLICATION_SLOT moment_{number} TEMPORARY LOGICAL "
                "test_decoding (SNAPSHOT 'export')"
            )[0]
            # The big tables have a session of their own: TRUNCATE and DDL on the others need not wait for it.
            for session in (changing, growing):
                session.execute("begin isolation level repeatable read read only")
                session.execute(f"set transaction snapshot '{snapshot}'")
            self._await_commit_marks(changing, watcher)
            groups = {
                growing: list(schema.PGBENCH_TABLES),
                changing: [table for table in schema.TABLES if table not in schema.PGBENCH_TABLES],
            }
            for session, tables in groups.items():
                session.execute(f"lock table {', '.join(tables)} in access share mode")
            self._check_definitions(changing, watcher)
            moment = Moment(number, lsn, phase)
            for session in (changing, growing):
                for setting in PINNED:
                    session.execute(setting)
                for table in groups[session]:
                    self._read(session, table, moment)
                session.execute("commit")
            return moment

    def _await_commit_marks(self, session, watcher):
        """Waits for transactions that are finished in the snapshot and still running in the server."""
        # An exported snapshot may begin behind its own end, which pg_snapshot's input refuses. What is below
        # its beginning is finished all the same (XidInMVCCSnapshot).
        xmin, xmax, running = session.value("select pg_current_snapshot()").split(":")
        imported = f"{xmin}:{max(int(xmin), int(xmax))}:{running}"
        deadline = time.monotonic() + RACE_LIMIT_S
        while int(
            watcher.value(
                "select count(*) from pg_snapshot_xip(pg_current_snapshot()) as running(xid) "
                f"where pg_visible_in_snapshot(xid, '{imported}')"
            )
        ):
            self.race_waits += 1
            if time.monotonic() > deadline:
                raise Discarded("a commit stayed unfinished")
            time.sleep(0.01)

    @staticmethod
    def _check_definitions(session, watcher):
        names = ", ".join(f"'{table}'" for table in schema.TABLES)
        query = (
            "select c.relname, c.relfilenode, a.attnum, a.attname, a.atttypid, a.attisdropped "
            "from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 "
            f"where c.relnamespace = 'public'::regnamespace and c.relname in ({names}) order by 1, 3"
        )
        under_snapshot, current = session.execute(query), watcher.execute(query)
        if under_snapshot != current:
            changed = {
                row[0] for row in under_snapshot + current if (row in under_snapshot) != (row in current)
            }
            raise Discarded(f"definition of {', '.join(sorted(changed))}")

    def _read(self, session, table, moment):
        contents = Contents(table)
        path = self.cluster.path("moments", f"{moment.number}-{table}.gz")
        with gzip.open(path, "wb", compresslevel=1) as file:

            def take(line):
                contents.add(line)
                file.write(line + b"\n")

            session.copy_lines(f"select to_jsonb(t)::text from only public.{table} t", take)
        moment.tables[table] = contents
        moment.files[table] = path
