# SPDX-License-Identifier: PostgreSQL
"""A psql that stays connected: statements go in through a pipe, rows come back, errors become exceptions."""

import contextlib
import os
import select
import subprocess
import time
import uuid

# No value in these tests holds these characters, so COPY writes every line of text as it is.
RAW_COPY = "(format csv, delimiter e'\\x02', quote e'\\x01', null e'\\x03')"
FIELD_SEPARATOR = "\x1f"


class SqlError(Exception):
    def __init__(self, sqlstate, message, statement):
        super().__init__(f"{sqlstate}: {message}\n  in: {statement[:400]}")
        self.sqlstate = sqlstate
        self.message = message


class ConnectionLost(Exception):
    """The server or the psql process went away."""


class Session:
    """One connection. One thread at a time; `close` may be called twice."""

    def __init__(self, psql, conninfo, log_path, timeout=60):
        self.timeout = timeout
        self._log = open(log_path, "ab")
        self._process = subprocess.Popen(
            [psql, "-X", "-q", "-A", "-t", "-F", FIELD_SEPARATOR, "-v", "ON_ERROR_STOP=0", "-d", conninfo],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            bufsize=0,
        )
        self._lines = []
        self._next = 0
        self._partial = b""
        try:
            self._send("")
            self._collect("", self.timeout, None)
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        if self._process is None:
            return
        process, self._process = self._process, None
        with contextlib.suppress(OSError):
            process.stdin.close()
        try:
            process.wait(1)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()
        self._log.close()

    def execute(self, statement, timeout=None):
        """Runs one statement and returns its rows as lists of strings."""
        return [line.split(FIELD_SEPARATOR) for line in self.lines(statement, timeout)]

    def value(self, statement, timeout=None):
        rows = self.execute(statement, timeout)
        return rows[0][0] if rows else None

    def lines(self, statement, timeout=None):
        """Runs one statement and returns its output lines."""
        collected = []
        self.stream(statement, collected.append, timeout)
        return [line.decode() for line in collected]

    def stream(self, statement, take, timeout=None):
        """Runs one statement and hands each output line to `take`, as bytes."""
        self._send(statement)
        self._collect(statement, timeout or self.timeout, take)

    def copy_lines(self, query, take, timeout=None):
        """Streams the single text column of a query, one line a row, without any escaping."""
        self.stream(f"copy ({query}) to stdout {RAW_COPY}", take, timeout)

    def copy_in(self, target, lines):
        """COPY FROM for lines already in COPY's text form."""
        data = f"copy {target} from stdin;\n" + "".join(line + "\n" for line in lines) + "\\.\n"
        self._write(data)
        self._send("", terminate=False)
        self._collect(f"copy {target}", self.timeout, None)

    def _send(self, statement, terminate=True):
        self._mark = uuid.uuid4().hex
        text = statement.strip()
        if terminate and text and not text.endswith(";"):
            text += ";"
        # The message may have several lines: the outcome stands between two marks.
        self._write(f"{text}\n\\echo {self._mark} :ERROR :SQLSTATE :LAST_ERROR_MESSAGE {self._mark}\n")

    def _write(self, text):
        if self._process is None:
            raise ConnectionLost("the session is closed")
        try:
            data = memoryview(text.encode())
            while data:
                data = data[os.write(self._process.stdin.fileno(), data) :]
        except OSError as error:
            raise ConnectionLost(f"psql is gone: {error}") from None

    def _collect(self, statement, timeout, take):
        deadline = time.monotonic() + timeout
        mark = self._mark.encode()
        while True:
            line = self._read_line(deadline, statement)
            at = line.find(mark)
            if at < 0:
                if take:
                    take(line)
                continue
            if at > 0 and take:
                take(line[:at])
            outcome = line[at + len(mark) :]
            while mark not in outcome:
                outcome += b"\n" + self._read_line(deadline, statement)
            error, sqlstate, message = (outcome[: outcome.index(mark)].decode().strip() + "  ").split(" ", 2)
            if error == "true" and not sqlstate.strip():
                # Only libpq's own errors have no SQLSTATE: the server went away under the statement.
                self.close()
                raise ConnectionLost("the connection was lost: " + message.strip())
            if error == "true":
                raise SqlError(sqlstate, message, statement)
            return

    def _read_line(self, deadline, statement):
        while self._next >= len(self._lines):
            ready, _, _ = select.select([self._process.stdout], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                self.close()
                raise ConnectionLost(f"no answer within the time limit to: {statement[:200]}")
            chunk = os.read(self._process.stdout.fileno(), 1 << 16)
            if not chunk:
                self.close()
                raise ConnectionLost("the connection was closed by the server")
            self._lines = (self._partial + chunk).split(b"\n")
            self._partial = self._lines.pop()
            self._next = 0
        self._next += 1
        return self._lines[self._next - 1]
