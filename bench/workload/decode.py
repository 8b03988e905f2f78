# SPDX-License-Identifier: PostgreSQL
"""How fast the output plugin decodes, beside its peers: slots emptied by pg_recvlogical, thrown away.

All sides of a phase read the same WAL from the same place: their slots are copies of one made before the
workload. Sides alternate within a run. README.md has the scenario, the units and what this does not measure.
"""

import glob
import json
import os
import statistics
import subprocess
import sys

import decode_shapes
import item
from decode_shapes import SHAPES
from drain import LIMIT_S, drain, end_of_backlog, ingest_socket, say
from varve_cluster import Cluster, find_build

SIZES = {
    "full": {"rows": 200_000, "bulk": 5, "small": 500_000, "shapes": 400_000, "big": 2_000_000, "runs": 5},
    "small": {"rows": 2_000, "bulk": 5, "small": 2_000, "shapes": 1_000, "big": 2_000, "runs": 1},
}
WORK_MEM_MB = 64
SETTINGS = {
    "max_wal_size": "32GB",
    "shared_buffers": "512MB",
    "logical_decoding_work_mem": f"{WORK_MEM_MB}MB",
    "wal_sender_timeout": "60s",
    "autovacuum": "off",
}
# What a CopyData message of the replication protocol puts before its payload: tag, length, "w", two positions
# and a time.
FRAME_BYTES = 30
ORIGIN = "origin_of_phase"
EMPTY = "varve_bench_empty"
PGOUTPUT = ("pgoutput", {"proto_version": 1, "publication_names": "bench", "binary": "true"})
STREAM = ("varve", {"publication_names": "bench"})
ZMQ = ("varve", {"publication_names": "bench", "transport": "zmq"})
PEERS = {
    "test_decoding": ("test_decoding", {}),
    "wal2json": ("wal2json", {"format-version": 2}),
    "decoderbufs": ("decoderbufs", {}),
}
PACKAGED = ("wal2json", "decoderbufs")


def installed_peers(cluster, may_miss):
    """The names in PEERS. A peer that is not installed may be missing only where the figures mean nothing."""
    libraries = subprocess.check_output([os.path.join(cluster.bindir, "pg_config"), "--pkglibdir"], text=True)
    missing = [name for name in PACKAGED if not glob.glob(os.path.join(libraries.strip(), name + ".so"))]
    if missing and not may_miss:
        sys.exit(f"{', '.join(missing)} not installed: run scripts/packages bench")
    for name in missing:
        say(f"{name} is not installed and left out")
    return [name for name in PEERS if name not in missing]


class Decode:
    def __init__(self, cluster, size, runs, peers, emit, sink):
        self.cluster = cluster
        self.sink = sink
        self.size = size
        self.bytes_vs_pgoutput = {}
        self.runs = runs
        self.all_sides = {"empty": (EMPTY, {}), "pgoutput": PGOUTPUT}
        self.all_sides.update({name: PEERS[name] for name in peers})
        self.all_sides["stream"] = STREAM
        self.all_sides["zmq"] = ZMQ
        self.emit = emit

    def prepare(self):
        self.cluster.execute("create publication bench for all tables")
        item.create(self.cluster, self.size["rows"])
        decode_shapes.create(self.cluster)

    # A phase: the workload, then every side as often as there are runs.

    def drain_all(self, phase, changes, sides):
        """Answers side: its drains, and the end of the backlog."""
        end = end_of_backlog(self.cluster)
        say(f"{phase}: {changes} changes wait, up to {end}")
        drains = {side: [] for side in sides}
        for number in range(self.runs):
            for side, (plugin, options) in sides.items():
                slot = self.copy_slot(plugin)
                outcome = drain(self.cluster, slot, end, options, self.sink)
                self.drop_slot(slot)
                drains[side].append(outcome)
                if options.get("transport") == "zmq" and json.loads(outcome.output)["changes"] != changes:
                    sys.exit(f"{phase}: not {changes} changes came over ZeroMQ but {outcome.output}")
                say(
                    f"{phase}, run {number + 1}, {side}: {outcome.seconds:.2f} s, CPU of walsender "
                    f"{outcome.walsender_cpu:.2f} s, of the receiver {outcome.receiver_cpu:.2f} s"
                )
        return drains

    def make_origin(self):
        self.cluster.execute(f"select pg_create_logical_replication_slot('{ORIGIN}', 'test_decoding')")

    def copy_slot(self, plugin):
        slot = f"copy_{plugin}"
        self.cluster.execute(
            f"select pg_copy_logical_replication_slot('{ORIGIN}', '{slot}', false, '{plugin}')"
        )
        return slot

    def drop_slot(self, slot):
        self.cluster.execute(f"select pg_drop_replication_slot('{slot}')")

    def report(self, phase, changes, drains):
        def median(side, what):
            return statistics.median(getattr(one, what) for one in drains[side])

        for side in drains:
            self.emit(f"{phase}_{side}_changes_per_second", changes / median(side, "seconds"), "changes/s")
            cpu = 1e6 * median(side, "walsender_cpu") / changes
            self.emit(f"{phase}_{side}_walsender_cpu_us_per_change", cpu, "µs")
        for side in drains:
            if side not in ("stream", "zmq", "empty"):
                ratio = median(side, "seconds") / median("stream", "seconds")
                ours = phase if phase in SHAPES else f"{phase}_stream"
                self.emit(f"{ours}_vs_{side}", ratio, f"{side} seconds / stream seconds")
        if "empty" in drains:
            ratio = median("stream", "walsender_cpu") / median("empty", "walsender_cpu")
            self.emit(f"{phase}_stream_cpu_vs_empty", ratio, "walsender CPU / empty plugin's")
        if "zmq" in drains:
            ratio = median("pgoutput", "seconds") / median("zmq", "seconds")
            self.emit(f"{phase}_zmq_vs_pgoutput", ratio, "pgoutput seconds / zmq seconds")
            ratio = median("zmq", "walsender_cpu") / median("empty", "walsender_cpu")
            self.emit(f"{phase}_cpu_vs_empty", ratio, "walsender CPU with zmq / empty plugin's")

    # Bytes, by the SQL function: exact, and without a client that would have to know them.

    def wire_bytes(self, side):
        plugin, options = self.all_sides[side]
        slot = self.copy_slot(plugin)
        words = ", ".join(f"'{word}'" for option in options.items() for word in option)
        rows = self.cluster.execute(
            "select count(*), sum(length(data)) from "
            f"pg_logical_slot_peek_binary_changes('{slot}', null, null, variadic array[{words}]::text[])",
            timeout=LIMIT_S,
        )
        self.drop_slot(slot)
        messages, payload = (int(value) for value in rows[0])
        return payload + messages * FRAME_BYTES

    def report_bytes(self, phase, changes):
        ours, theirs = self.wire_bytes("stream"), self.wire_bytes("pgoutput")
        self.emit(f"{phase}_bytes_per_change", ours / changes, "bytes")
        self.emit(f"{phase}_pgoutput_bytes_per_change", theirs / changes, "bytes")
        self.bytes_vs_pgoutput[phase] = ours / theirs
        self.emit(f"{phase}_bytes_vs_pgoutput", ours / theirs, "bytes / pgoutput's bytes")

    # The phases.

    def bulk(self):
        self.make_origin()
        changes = item.bulk(self.cluster, self.size["rows"], self.size["bulk"])
        self.report("bulk", changes, self.drain_all("bulk", changes, self.all_sides))
        self.report_bytes("bulk", changes)
        self.drop_slot(ORIGIN)

    def small(self):
        self.make_origin()
        changes = item.small(self.cluster, self.size["rows"], self.size["small"])
        self.report("small", changes, self.drain_all("small", changes, self.all_sides))
        self.report_bytes("small", changes)
        self.drop_slot(ORIGIN)

    def shape(self, name):
        sides = {side: self.all_sides[side] for side in ("empty", "pgoutput", "stream")}
        SHAPES[name].create(self.cluster)
        self.make_origin()
        changes = SHAPES[name].change(self.cluster, self.size["shapes"])
        self.report(name, changes, self.drain_all(name, changes, sides))
        self.drop_slot(ORIGIN)

    def big(self):
        """One transaction that is streamed while it is in progress: what it takes of memory."""
        self.make_origin()
        self.cluster.execute("create table big (id bigint primary key, payload text)")
        self.cluster.execute(
            "insert into big select n, repeat(md5(n::text), 31) "
            f"from generate_series(1, {self.size['big']}) n",
            timeout=LIMIT_S,
        )
        plugin, options = STREAM
        sides = {"stream": (plugin, {**options, "streaming": "on"})}
        drains = self.drain_all("big", self.size["big"], sides)["stream"]
        most = max(one.anonymous_bytes for one in drains) / 2**20
        seconds = statistics.median(one.seconds for one in drains)
        self.emit("big_changes_per_second", self.size["big"] / seconds, "changes/s")
        self.emit("big_rss_over_work_mem_mb", most - WORK_MEM_MB, "MiB")
        self.drop_slot(ORIGIN)
        self.cluster.execute("drop table big")


PHASES = {
    "bulk": Decode.bulk,
    "small": Decode.small,
    **{name: lambda decode, name=name: decode.shape(name) for name in SHAPES},
    "big": Decode.big,
}


def run(options, emit):
    size = SIZES["small" if options.small else "full"]
    unknown = set(options.phase or ()) - set(PHASES)
    if unknown:
        sys.exit(f"no phase {', '.join(sorted(unknown))}; phases: {', '.join(PHASES)}")
    build = find_build(options.build)
    plugins = {EMPTY: os.path.join(build, "bench", EMPTY + ".so"), **{name: None for name in PACKAGED}}
    with Cluster(build, SETTINGS, label="bench decode", plugins=plugins) as cluster:
        decode = Decode(
            cluster,
            size,
            options.runs or size["runs"],
            installed_peers(cluster, options.small),
            emit,
            os.path.join(build, "bench", "zmq_sink"),
        )
        with open(os.path.join(cluster.data, "postgresql.conf"), "a", encoding="utf-8") as file:
            file.write(f"varve.ingest_endpoint = 'ipc://{ingest_socket(cluster)}'\n")
        cluster.start()
        decode.prepare()
        for name in options.phase or PHASES:
            PHASES[name](decode)
        if decode.bytes_vs_pgoutput:
            emit("bytes_vs_pgoutput", max(decode.bytes_vs_pgoutput.values()), "the larger of the two phases")
