# SPDX-License-Identifier: PostgreSQL
"""The sidecar of a private cluster: start, kill, ask."""

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import tempfile

from processes import Process, give_to_server_user, until


class VarveError(Exception):
    """A varve command that did not succeed."""

    def __init__(self, arguments, code, message):
        super().__init__(f"varve {' '.join(arguments)}: exit status {code}: {message.strip()}")
        self.code = code
        self.message = message


class _SocketConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class Varved:
    """The sidecar of a cluster, with its own store and slot."""

    def __init__(
        self, cluster, name="main", slot="varve", publication="varve", log_level="info", memory_mb=64
    ):
        self.cluster = cluster
        self.name = name
        self.slot = slot
        self.socket = cluster.path("run", f"{name}.sock")
        self.log = cluster.path(f"{name}.varved.log")
        self.config = cluster.path(f"{name}.varved.toml")
        self.pid_file = cluster.path(f"{name}.varved.pid")
        self.process = None
        # For runs both ways: stream, zmq or auto; else the default.
        transport = os.environ.get("VARVE_TEST_TRANSPORT")
        data = cluster.path(f"store-{name}")
        os.makedirs(data, exist_ok=True)
        give_to_server_user(data)
        with open(self.config, "w", encoding="utf-8") as file:
            file.write(
                f"""[source]
dsn = "host={cluster.directory} user=postgres dbname={cluster.database}"
publication = "{publication}"
slot = "{slot}"

[store]
data_dir = "{data}"
memory_mb = {memory_mb}

[http]
socket = "{self.socket}"

[log]
level = "{log_level}"
"""
            )
            if transport:
                file.write(f'\n[ingest]\ntransport = "{transport}"\n')

    @classmethod
    def attach(cls, cluster, name="main"):
        """The varved that another process started, running or not."""
        varved = cls(cluster, name)
        with contextlib.suppress(FileNotFoundError, ValueError):
            with open(varved.pid_file, encoding="utf-8") as file:
                varved.process = Process(int(file.read()))
        cluster.varveds.append(varved)
        return varved

    def start(self, ready_within=60):
        """Starts varved; with `ready_within=None` without waiting until it answers reads."""
        command = [self.cluster.path("bin", "varved"), "--config", self.config]
        self.process = Process.start(command, self.log, self.cluster.directory, self.cluster.environment())
        with open(self.pid_file, "w", encoding="utf-8") as file:
            file.write(str(self.process.pid))
        if ready_within is not None:
            self.wait_ready(ready_within)
        return self

    def alive(self):
        return self.process is not None and self.process.alive()

    def wait_ready(self, seconds=60):
        def ready():
            if not self.alive():
                raise VarveError(["(varved)"], self.process.exit_code(), self.tail_of_log())
            return self.http_status("/readyz") == 200

        until(ready, seconds, f"varved {self.name} to be ready")

    def tail_of_log(self, lines=15):
        with contextlib.suppress(FileNotFoundError):
            with open(self.log, encoding="utf-8", errors="replace") as file:
                return "".join(file.readlines()[-lines:])
        return ""

    def stop(self, seconds=30):
        if self.process is not None:
            gracefully = self.process.end(signal.SIGTERM, seconds)
            self.process = None
            return gracefully
        return True

    def kill(self):
        self.process.send(signal.SIGKILL)
        self.process.wait(10)
        self.process = None

    def request(self, path, timeout=60, accept="application/json"):
        """GET over the Unix socket: (status, body); raises OSError when nobody answers."""
        connection = _SocketConnection(self.socket, timeout)
        try:
            connection.request("GET", path, headers={"Accept": accept})
            response = connection.getresponse()
            return response.status, response.read()
        except http.client.HTTPException as error:
            raise OSError(f"no whole answer to GET {path}: {error!r}") from None
        finally:
            connection.close()

    def http_status(self, path):
        try:
            return self.request(path, timeout=10)[0]
        except OSError:
            return None

    def get(self, path, timeout=60):
        status, body = self.request(path, timeout)
        if status != 200:
            raise VarveError(["GET", path], status, body.decode(errors="replace"))
        return json.loads(body)

    def command(self, *arguments):
        return [self.cluster.path("bin", "varve"), "--server", self.socket, *arguments]

    def run(self, *arguments, timeout=120, check=True):
        """Runs the command line and returns its standard output."""
        done = subprocess.run(
            self.command(*arguments),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        if check and done.returncode != 0:
            raise VarveError(arguments, done.returncode, done.stderr)
        return done.stdout

    def stream(self, *arguments):
        """Runs the command line with --ndjson and yields the lines between its first ("at") and last ("end"),
        which are checked: an answer that was cut is an error."""
        command = self.command(*arguments, "--ndjson")
        with tempfile.TemporaryFile() as errors:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors
            )
            count, end = -1, None
            try:
                for line in process.stdout:
                    count += 1
                    if count == 0:
                        if not line.startswith(b'{"at"'):
                            raise VarveError(arguments, None, f"the answer begins with {line[:200]!r}")
                        continue
                    if end is not None:
                        yield end
                    end = line.rstrip(b"\n")
                code = process.wait(60)
            finally:
                process.kill()
                process.wait()
                process.stdout.close()
            errors.seek(0)
            message = errors.read().decode(errors="replace")
        if code != 0:
            raise VarveError(arguments, code, message)
        if end is None or not end.startswith(b'{"end"'):
            raise VarveError(arguments, code, f"the answer has no end line: {end!r}")
        rows = json.loads(end)["end"]["rows"]
        if rows != count - 1:
            raise VarveError(arguments, code, f"{count - 1} lines came, the end line says {rows}")

    def wait(self, reference, seconds=120):
        """Until everything at or before the reference is readable."""
        self.run("wait", reference, "--timeout", str(seconds), timeout=seconds + 30)
