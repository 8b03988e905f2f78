# SPDX-License-Identifier: PostgreSQL
"""What benchmarks of slots share: emptying one with pg_recvlogical, and watching its walsender meanwhile."""

import functools
import os
import subprocess
import sys
import threading
import time

from varve_cluster import cpu_seconds

LIMIT_S = 900
SAMPLE_S = 0.005


def say(text):
    print(text, file=sys.stderr, flush=True)


def anonymous_bytes(pid):
    """The process's own memory, without what it shares; None when it is gone."""
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8") as file:
            for line in file:
                if line.startswith("RssAnon:"):
                    return 1024 * int(line.split()[1])
    except (FileNotFoundError, ProcessLookupError):
        pass
    return None


class Walsender(threading.Thread):
    """Follows a slot's walsender, which may end before it could be asked a last time."""

    def __init__(self, cluster, slot):
        super().__init__(daemon=True)
        self._slot = slot
        self._session = cluster.session()
        self._done = threading.Event()
        self.cpu_seconds = 0.0
        self.anonymous_bytes = 0  # the most of it

    def run(self):
        pid = None
        while not self._done.wait(SAMPLE_S):
            if pid is None:
                pid = self._session.value(
                    f"select active_pid from pg_replication_slots where slot_name = '{self._slot}'"
                )
                pid = int(pid) if pid else None
            else:
                self.cpu_seconds = cpu_seconds(pid) or self.cpu_seconds
                self.anonymous_bytes = max(anonymous_bytes(pid) or 0, self.anonymous_bytes)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self._done.set()
        self.join()
        self._session.close()


class Drain:
    """The outcome of `drain`: seconds, CPU seconds of both ends, the walsender's memory, what was printed."""

    def __init__(self, seconds, receiver_cpu, walsender, output):
        self.seconds = seconds
        self.output = output
        self.receiver_cpu = receiver_cpu
        self.walsender_cpu = walsender.cpu_seconds
        self.anonymous_bytes = walsender.anonymous_bytes


def ingest_socket(cluster):
    """Where transport=zmq goes: what the setting varve.ingest_endpoint must lead to."""
    return os.path.join(cluster.directory, "ingest.sock")


def sink_command(cluster, slot, end, options, sink):
    if os.path.exists(ingest_socket(cluster)):
        os.unlink(ingest_socket(cluster))
    dsn = f"host={cluster.directory} user=postgres dbname={cluster.database}"
    return [sink, dsn, slot, options["publication_names"], ingest_socket(cluster), end]


def receive_command(cluster, slot, end, options):
    command = [os.path.join(cluster.bindir, "pg_recvlogical"), "-h", cluster.directory, "-U", "postgres"]
    command += ["-d", cluster.database, "-S", slot, "--start", "--no-loop", "-f", "/dev/null"]
    command += [f"--endpos={end}"]
    for name, value in options.items():
        command += ["-o", f"{name}={value}"]
    return command


def drain(cluster, slot, end, options, sink=None):
    """Receives what the slot has up to `end` and throws it away: pg_recvlogical does, or for transport=zmq
    the program `sink`."""
    make_command = receive_command
    if options.get("transport") == "zmq":
        make_command = functools.partial(sink_command, sink=sink)
    command = make_command(cluster, slot, end, options)
    with Walsender(cluster, slot) as walsender:
        before = os.times()
        started = time.monotonic()
        done = subprocess.run(command, check=True, timeout=LIMIT_S, stdout=subprocess.PIPE, text=True)
        seconds = time.monotonic() - started
        after = os.times()
    receiver = after.children_user + after.children_system - before.children_user - before.children_system
    return Drain(seconds, receiver, walsender, done.stdout)


def end_of_backlog(cluster):
    """The end of the last commit, flushed; a checkpoint behind it, so that decoding goes past it."""
    lsn = cluster.value("select pg_current_wal_insert_lsn()")
    cluster.execute("checkpoint", timeout=LIMIT_S)
    return lsn
