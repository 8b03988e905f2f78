# SPDX-License-Identifier: PostgreSQL
"""kill -9 of varved, of its walsender and of the postmaster, at random times."""

import random
import time

from varve_cluster import ConnectionLost, SqlError, until
from processes import Process

KINDS = ["varved", "walsender", "postmaster"]
RECOVERY_LIMIT_S = 120


class Killer:
    def __init__(self, cluster, varved, seed):
        self.cluster = cluster
        self.varved = varved
        self.rng = random.Random(f"{seed}/kills")
        self.done = {kind: 0 for kind in KINDS}

    def schedule(self, rounds):
        """Each kind as often as the others, in random order."""
        kinds = [KINDS[n % len(KINDS)] for n in range(rounds)]
        self.rng.shuffle(kinds)
        return kinds

    def round(self, number, kind):
        pause = self.rng.uniform(0.2, 3.5)
        time.sleep(pause)
        started = time.monotonic()
        {"varved": self._kill_varved, "walsender": self._kill_walsender, "postmaster": self._kill_postmaster}[
            kind
        ]()
        self.done[kind] += 1
        self._await_recovery()
        print(
            f"  round {number}: kill -9 {kind} after {pause:.2f} s, "
            f"caught up {time.monotonic() - started:.2f} s later",
            flush=True,
        )

    def _kill_varved(self):
        self.varved.kill()
        time.sleep(self.rng.uniform(0, 1))
        self.varved.start(ready_within=None)

    def _kill_walsender(self):
        def walsender():
            pid = self.cluster.value(
                "select active_pid from pg_replication_slots "
                f"where slot_name = '{self.varved.slot}' and active_pid is not null"
            )
            return int(pid) if pid else None

        Process(until(walsender, RECOVERY_LIMIT_S, "varved's walsender")).send(9)

    def _kill_postmaster(self):
        self.cluster.kill_postmaster()
        time.sleep(self.rng.uniform(0, 1))
        self.cluster.start()

    def _await_recovery(self):
        """Until varved has everything that the server held durable after the crash."""
        lsn = until(self._server_position, RECOVERY_LIMIT_S, "the server to answer after the crash")
        if not self.varved.alive():
            raise AssertionError(f"varved ended by itself:\n{self.varved.tail_of_log()}")
        self.varved.wait_ready(RECOVERY_LIMIT_S)
        self.varved.wait(f"lsn:{lsn}", RECOVERY_LIMIT_S)

    def _server_position(self):
        try:
            return self.cluster.value("select pg_current_wal_flush_lsn()")
        except (ConnectionLost, SqlError):
            return None
