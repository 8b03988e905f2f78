# SPDX-License-Identifier: PostgreSQL
"""Processes by id: started as the server's user, watched and ended one by one."""

import contextlib
import os
import pwd
import signal
import subprocess
import time

SERVER_USER = "postgres"


class Timeout(Exception):
    """Something did not happen within its bound."""


def until(condition, seconds, what, pause=0.05):
    """Polls until the condition answers something true, and returns that."""
    deadline = time.monotonic() + seconds
    while True:
        answer = condition()
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise Timeout(f"after {seconds} s still waiting: {what}")
        time.sleep(pause)


def server_identity():
    """Popen arguments that make a child run as the server's user: PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return {}
    entry = pwd.getpwnam(SERVER_USER)
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


def give_to_server_user(path):
    if os.geteuid() == 0:
        entry = pwd.getpwnam(SERVER_USER)
        os.chown(path, entry.pw_uid, entry.pw_gid)


def _stat(pid):
    """The fields of /proc/PID/stat behind the command, or None when there is no such process."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None


def cpu_seconds(pid):
    """User and system time of one process so far; None when it is gone."""
    fields = _stat(pid)
    if fields is None:
        return None
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def children_of(pid):
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            fields = _stat(entry)
            if fields and int(fields[1]) == pid:
                found.append(Process(int(entry)))
    return found


class Process:
    """One process, known by its id and start time so that a reused id is never signalled."""

    def __init__(self, pid, popen=None):
        self.pid = pid
        self._popen = popen
        fields = _stat(pid)
        self._started = fields[19] if fields else None

    @classmethod
    def start(cls, command, log_path, directory, env=None):
        with open(log_path, "ab") as log:
            popen = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=directory,
                env=env,
                start_new_session=True,
                **server_identity(),
            )
        return cls(popen.pid, popen)

    def alive(self):
        if self._popen is not None and self._popen.poll() is not None:
            return False
        fields = _stat(self.pid)
        return fields is not None and fields[19] == self._started and fields[0] != "Z"

    def exit_code(self):
        return self._popen.poll() if self._popen is not None else None

    def send(self, number):
        if self.alive():
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def wait(self, seconds):
        until(lambda: not self.alive(), seconds, f"the end of process {self.pid}", pause=0.02)

    def end(self, number=signal.SIGTERM, seconds=20):
        """Asks it to end, and kills it when it does not; answers whether asking was enough."""
        self.send(number)
        try:
            self.wait(seconds)
            return True
        except Timeout:
            self.send(signal.SIGKILL)
            self.wait(10)
            return False
