# SPDX-License-Identifier: PostgreSQL
"""From backlog to durable: how fast varved takes in changes that wait in the WAL, beside pgoutput drained.

The slots of all runs are made before the workload, so each run reads the same WAL from the same place. Runs
of both sides alternate. README.md has the scenario, the units and what this does not measure.
"""

import os
import statistics
import subprocess
import sys
import threading
import time

from varve_cluster import Cluster, Timeout, cpu_seconds, find_build, until

SIZES = {
    "full": {"rows": 200_000, "bulk_transactions": 5, "small_transactions": 300_000, "runs": 3},
    "small": {"rows": 2_000, "bulk_transactions": 5, "small_transactions": 2_000, "runs": 1},
}
SETTINGS = {
    "max_wal_size": "16GB",
    "shared_buffers": "512MB",
    "logical_decoding_work_mem": "64MB",
    "wal_sender_timeout": "60s",
    "max_replication_slots": "20",
    "max_wal_senders": "10",
    "autovacuum": "off",
}
LIMIT_S = 900

TABLE = (
    "create table item (id bigint primary key, quantity int, name text, price numeric(12,2), "
    "changed timestamptz, active bool, weight float8, code uuid)"
)
FILL = (
    "insert into item select n, n % 1000, 'item number ' || n, n * 0.37, '2026-01-01', n % 2 = 0, n / 7.0, "
    "md5(n::text)::uuid from generate_series(1, {rows}) n"
)
BULK = "update item set quantity = quantity + 1, price = price + 0.01, changed = now()"
# One transaction a row, as fast as one session commits: what the commits cost is not measured.
SMALL = """create procedure touch_one_by_one(total int, rows int) language plpgsql as $$
begin
  for n in 1 .. total loop
    update item set quantity = quantity + 1, changed = clock_timestamp()
      where id = 1 + (n::bigint * 7919) % rows;
    commit;
  end loop;
end $$"""


def say(text):
    print(text, file=sys.stderr, flush=True)


class Cpu(threading.Thread):
    """Follows the CPU time of a slot's walsender, which may end before it could be asked a last time."""

    def __init__(self, cluster, slot):
        super().__init__(daemon=True)
        self._slot = slot
        self._session = cluster.session()
        self._done = threading.Event()
        self.seconds = 0.0

    def run(self):
        pid = None
        while not self._done.wait(0.02):
            if pid is None:
                pid = self._session.value(
                    f"select active_pid from pg_replication_slots where slot_name = '{self._slot}'"
                )
                pid = int(pid) if pid else None
            else:
                self.seconds = cpu_seconds(pid) or self.seconds

    def finish(self):
        self._done.set()
        self.join()
        self._session.close()
        return self.seconds


class Ingest:
    def __init__(self, cluster, size, runs):
        self.cluster = cluster
        self.size = size
        self.runs = runs
        self.varveds = []
        self.results = {}  # (phase, side): [(seconds, walsender CPU, varved CPU)]

    def prepare(self):
        cluster = self.cluster
        cluster.execute(TABLE)
        cluster.execute(FILL.format(rows=self.size["rows"]), timeout=LIMIT_S)
        cluster.execute(SMALL)
        cluster.execute("vacuum analyze item", timeout=LIMIT_S)
        cluster.execute("create publication varve for table item")
        for number in range(self.runs):
            varved = cluster.varved(f"v{number}", slot=f"varve_{number}", memory_mb=256)
            varved.start(ready_within=LIMIT_S)
            varved.stop()
            self.varveds.append(varved)
            cluster.execute(f"select pg_create_logical_replication_slot('pgoutput_{number}', 'pgoutput')")
        say(f"{self.size['rows']} rows, {self.runs} stores and slots are there")

    def bulk(self):
        for _ in range(self.size["bulk_transactions"]):
            self.cluster.execute(BULK, timeout=LIMIT_S)
        return self.size["bulk_transactions"] * self.size["rows"]

    def small(self):
        total = self.size["small_transactions"]
        with self.cluster.session(timeout=LIMIT_S) as session:
            session.execute("set synchronous_commit = off")
            session.execute(f"call touch_one_by_one({total}, {self.size['rows']})")
        return total

    def end_of_backlog(self):
        """The end of the last commit, flushed; a checkpoint behind it, so that decoding goes past it."""
        lsn = self.cluster.value("select pg_current_wal_insert_lsn()")
        self.cluster.execute("checkpoint", timeout=LIMIT_S)
        return lsn

    def measure(self, phase, workload):
        changes = workload()
        end = self.end_of_backlog()
        say(f"{phase}: {changes} changes wait, up to {end}")
        for number in range(self.runs):
            for side in (self.drain, self.take_in):
                outcome = side(number, end)
                self.results.setdefault((phase, side.__name__), []).append(outcome)
                say(
                    f"{phase}, run {number + 1}, {side.__name__}: {outcome[0]:.2f} s, CPU of walsender "
                    f"{outcome[1]:.2f} s, of the receiver {outcome[2]:.2f} s"
                )
        return changes

    def drain(self, number, end):
        """pgoutput, binary, received by pg_recvlogical and thrown away."""
        slot = f"pgoutput_{number}"
        cpu = Cpu(self.cluster, slot)
        cpu.start()
        before = os.times()
        started = time.monotonic()
        subprocess.run(
            [
                os.path.join(self.cluster.bindir, "pg_recvlogical"),
                "-h",
                self.cluster.directory,
                "-U",
                "postgres",
                "-d",
                self.cluster.database,
                "-S",
                slot,
                "--start",
                "--no-loop",
                "-f",
                "/dev/null",
                f"--endpos={end}",
                "-o",
                "proto_version=1",
                "-o",
                "publication_names=varve",
                "-o",
                "binary=true",
            ],
            check=True,
            timeout=LIMIT_S,
        )
        seconds = time.monotonic() - started
        after = os.times()
        receiver = after.children_user + after.children_system - before.children_user - before.children_system
        return seconds, cpu.finish(), receiver

    def take_in(self, number, end):
        """varved, from its start until everything up to the end is synced, readable and confirmable."""
        varved = self.varveds[number]
        cpu = Cpu(self.cluster, varved.slot)
        cpu.start()
        started = time.monotonic()
        varved.start(ready_within=None)

        def durable():
            if not varved.alive():
                raise Timeout(f"varved ended by itself:\n{varved.tail_of_log()}")
            try:
                through = varved.get("/v1/status").get("published_through", "0/0")
            except OSError:
                return False
            return position(through) >= position(end)

        until(durable, LIMIT_S, f"varved to reach {end}", pause=0.02)
        seconds = time.monotonic() - started
        receiver = cpu_seconds(varved.process.pid)
        walsender = cpu.finish()
        varved.stop()
        return seconds, walsender, receiver


def position(text):
    high, low = text.rpartition(":")[2].split("/")
    return (int(high, 16) << 32) + int(low, 16)


def report(ingest, changes, emit):
    def median(phase, side, column):
        return statistics.median(outcome[column] for outcome in ingest.results[phase, side])

    for phase, count in changes.items():
        ours, theirs = median(phase, "take_in", 0), median(phase, "drain", 0)
        emit(f"{phase}_changes_per_second", count / ours, "changes/s")
        emit(f"{phase}_pgoutput_changes_per_second", count / theirs, "changes/s")
        emit(f"{phase}_vs_pgoutput_drain", theirs / ours, "pgoutput seconds / varved seconds")
        for name, side, column in (
            ("walsender", "take_in", 1),
            ("varved", "take_in", 2),
            ("pgoutput_walsender", "drain", 1),
        ):
            emit(f"{phase}_cpu_us_per_change_{name}", 1e6 * median(phase, side, column) / count, "µs")
    total = sum(changes.values())
    for name, column in (("walsender", 1), ("varved", 2)):
        seconds = sum(median(phase, "take_in", column) for phase in changes)
        emit(f"cpu_us_per_change_{name}", 1e6 * seconds / total, "µs")


def run(options, emit):
    size = SIZES["small" if options.small else "full"]
    with Cluster(find_build(options.build), SETTINGS, label="bench ingest") as cluster:
        cluster.start()
        ingest = Ingest(cluster, size, options.runs or size["runs"])
        ingest.prepare()
        changes = {
            "bulk": ingest.measure("bulk", ingest.bulk),
            "small": ingest.measure("small", ingest.small),
        }
        report(ingest, changes, emit)
