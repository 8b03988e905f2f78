# SPDX-License-Identifier: PostgreSQL
"""From backlog to durable: how fast varved takes in changes that wait in the WAL, beside pgoutput drained.

The slots of all runs are made before the workload, so each run reads the same WAL from the same place. Runs
of both sides alternate. README.md has the scenario, the units and what this does not measure.
"""

import statistics
import time

import item
from drain import LIMIT_S, Walsender, drain, end_of_backlog, say
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


class Ingest:
    def __init__(self, cluster, size, runs):
        self.cluster = cluster
        self.size = size
        self.runs = runs
        self.varveds = []
        self.results = {}  # (phase, side): [(seconds, walsender CPU, varved CPU)]

    def prepare(self):
        cluster = self.cluster
        item.create(cluster, self.size["rows"])
        cluster.execute("create publication varve for table item")
        for number in range(self.runs):
            varved = cluster.varved(f"v{number}", slot=f"varve_{number}", memory_mb=256)
            varved.start(ready_within=LIMIT_S)
            varved.stop()
            self.varveds.append(varved)
            cluster.execute(f"select pg_create_logical_replication_slot('pgoutput_{number}', 'pgoutput')")
        say(f"{self.size['rows']} rows, {self.runs} stores and slots are there")

    def bulk(self):
        return item.bulk(self.cluster, self.size["rows"], self.size["bulk_transactions"])

    def small(self):
        return item.small(self.cluster, self.size["rows"], self.size["small_transactions"])

    def measure(self, phase, workload):
        changes = workload()
        end = end_of_backlog(self.cluster)
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
        options = {"proto_version": 1, "publication_names": "varve", "binary": "true"}
        outcome = drain(self.cluster, f"pgoutput_{number}", end, options)
        return outcome.seconds, outcome.walsender_cpu, outcome.receiver_cpu

    def take_in(self, number, end):
        """varved, from its start until everything up to the end is synced, readable and confirmable."""
        varved = self.varveds[number]
        with Walsender(self.cluster, varved.slot) as walsender:
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
        varved.stop()
        return seconds, walsender.cpu_seconds, receiver


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
