# SPDX-License-Identifier: PostgreSQL
"""A private PostgreSQL and its varved in a short directory, for tests, benchmarks and scripts/cluster.

Everything lives in one fresh directory under /tmp that belongs to the server's user: data, sockets, logs and copies
of the built programs. Nothing is installed in the system and no TCP port is opened.
"""

import atexit
import contextlib
import glob
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

from processes import (Process, Timeout, children_of, cpu_seconds, give_to_server_user, until)
from psql import ConnectionLost, RAW_COPY, Session, SqlError

__all__ = ["Cluster", "ConnectionLost", "Process", "RAW_COPY", "Session", "SqlError", "Timeout", "Varved", "VarveError",
           "cpu_seconds", "find_build", "find_postgres", "until"]

REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# The first minor releases that read output_plugin_libraries; older ones refuse to start with it.
ALLOW_LIST_SINCE = {15: 19, 16: 15, 17: 11, 18: 6}
PROGRAMS = {"varve.so": "plugin/varve.so", "varved": "sidecar/varved", "varve": "cli/varve"}


class VarveError(Exception):
    """A varve command that did not succeed."""

    def __init__(self, arguments, code, message):
        super().__init__(f"varve {' '.join(arguments)}: exit status {code}: {message.strip()}")
        self.code = code
        self.message = message


def find_postgres():
    """The directory of the server's programs."""
    configured = os.environ.get("PG_BINDIR")
    if configured:
        return configured
    known = sorted(glob.glob("/usr/lib/postgresql/*/bin/postgres"))
    if known:
        return os.path.dirname(known[0])
    return subprocess.check_output(["pg_config", "--bindir"], text=True).strip()


def find_build(directory=None):
    """The meson build directory with varve.so, varved and varve: the argument, VARVE_BUILD, or build/."""
    directory = os.path.abspath(directory or os.environ.get("VARVE_BUILD") or os.path.join(REPOSITORY, "build"))
    missing = [path for path in PROGRAMS.values() if not os.path.exists(os.path.join(directory, path))]
    if missing:
        sys.exit(f"{directory} does not hold {', '.join(missing)}: build first "
                 "(meson setup build && ninja -C build), or name the build directory in VARVE_BUILD")
    return directory


def _server_version(bindir):
    text = subprocess.check_output([os.path.join(bindir, "postgres"), "--version"], text=True)
    match = re.search(r"(\d+)\.(\d+)", text)
    return (int(match[1]), int(match[2])) if match else (int(re.search(r"(\d+)", text)[1]), 0)


class Cluster:
    """One PostgreSQL cluster. `build=None` leaves varve out; `settings` go to postgresql.conf."""

    def __init__(self, build=None, settings=None, database="postgres", label="test"):
        self.bindir = find_postgres()
        self.database = database
        self.label = label
        self.directory = tempfile.mkdtemp(prefix="varve.", dir="/tmp")
        give_to_server_user(self.directory)
        self.data = self.path("data")
        self.postmaster = None
        self.varveds = []
        self._sessions = []
        self._copy_programs(build)
        self._init_database(settings or {}, with_plugin=build is not None)

    @classmethod
    def attach(cls, directory):
        """A cluster that another process made and left running."""
        cluster = cls.__new__(cls)
        cluster.bindir = find_postgres()
        cluster.database = "postgres"
        cluster.label = "attached"
        cluster.directory = os.path.realpath(directory)
        cluster.data = cluster.path("data")
        cluster.varveds = []
        cluster._sessions = []
        cluster.postmaster = cluster._running_postmaster()
        return cluster

    def _running_postmaster(self):
        with contextlib.suppress(FileNotFoundError):
            with open(os.path.join(self.data, "postmaster.pid"), encoding="utf-8") as file:
                process = Process(int(file.readline()))
            if process.alive():
                return process
        return None

    def __enter__(self):
        return self

    def __exit__(self, kind, error, _):
        succeeded = kind is None or (kind is SystemExit and error.code in (0, None))
        self.remove(keep_logs=not succeeded)

    def path(self, *names):
        return os.path.join(self.directory, *names)

    def _copy_programs(self, build):
        for folder in ("lib", "bin", "run"):
            os.mkdir(self.path(folder))
            give_to_server_user(self.path(folder))
        os.chmod(self.path("run"), 0o750)
        if build is None:
            return
        for name, place in PROGRAMS.items():
            folder = "lib" if name.endswith(".so") else "bin"
            shutil.copy(os.path.join(build, place), self.path(folder, name))
            os.chmod(self.path(folder, name), 0o755)

    def _init_database(self, settings, with_plugin):
        log = self.path("initdb.log")
        command = [os.path.join(self.bindir, "initdb"), "-D", self.data, "-U", "postgres", "--auth=trust", "--encoding=UTF8",
                   "--locale=C.UTF-8", "--no-sync", "--no-instructions"]
        process = Process.start(command, log, self.directory, self._environment())
        process.wait(120)
        if process.exit_code() != 0:
            with open(log, encoding="utf-8") as file:
                sys.exit(f"initdb failed:\n{file.read()}")
        chosen = {"wal_level": "logical", "listen_addresses": "", "unix_socket_directories": self.directory,
                  "max_wal_senders": "12", "max_replication_slots": "12", "max_prepared_transactions": "10",
                  "fsync": "off", "shared_buffers": "128MB", "logging_collector": "off",
                  "log_line_prefix": "%m [%p] %q%a ", "autovacuum_naptime": "10s"}
        if with_plugin:
            chosen["dynamic_library_path"] = f"{self.path('lib')}:$libdir"
            major, minor = _server_version(self.bindir)
            if minor >= ALLOW_LIST_SINCE.get(major, 0):
                chosen["output_plugin_libraries"] = "pgoutput, test_decoding, varve"
        chosen.update(settings)
        with open(os.path.join(self.data, "postgresql.conf"), "a", encoding="utf-8") as file:
            for name, value in chosen.items():
                quoted = str(value).replace("'", "''")
                file.write(f"{name} = '{quoted}'\n")

    @staticmethod
    def _environment():
        kept = {name: os.environ[name] for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS")
                if name in os.environ}
        return {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "TZ": "UTC", **kept}

    # The server.

    def start(self, seconds=60):
        """Starts the server and waits until it takes connections."""
        self.launch()
        self.wait_ready(seconds)
        return self

    def launch(self):
        self._stop_at_exit()
        self.postmaster = Process.start([os.path.join(self.bindir, "postgres"), "-D", self.data],
                                        self.path("server.log"), self.directory, self._environment())

    def accepts_connections(self):
        command = [os.path.join(self.bindir, "pg_isready"), "-q", "-h", self.directory]
        return subprocess.run(command, check=False).returncode == 0

    def wait_ready(self, seconds=60):
        def ready():
            if not self.postmaster.alive():
                raise ConnectionLost(f"the server ended at start; see {self.path('server.log')}")
            return self.accepts_connections()
        until(ready, seconds, "PostgreSQL to take connections")

    def stop(self, mode="fast", seconds=60):
        if self.postmaster is None:
            return
        number = {"smart": signal.SIGTERM, "fast": signal.SIGINT, "immediate": signal.SIGQUIT}[mode]
        children = children_of(self.postmaster.pid)
        self.postmaster.end(number, seconds)
        self._end_orphans(children)
        self.postmaster = None

    def kill_postmaster(self):
        """kill -9, as a power cut of the server's processes. Its children see it and leave; `start` works after this."""
        children = children_of(self.postmaster.pid)
        self.postmaster.send(signal.SIGKILL)
        self.postmaster.wait(10)
        self._end_orphans(children)
        self.postmaster = None

    @staticmethod
    def _end_orphans(children):
        for child in children:
            with contextlib.suppress(Timeout):
                child.wait(10)
            child.end(signal.SIGKILL, 10)

    # Connections.

    def conninfo(self, extra=""):
        return f"host={self.directory} user=postgres dbname={self.database} {extra}".strip()

    def session(self, extra="", timeout=60):
        session = Session("psql", self.conninfo(extra), self.path("psql.log"), timeout)
        self._sessions.append(session)
        return session

    def replication_session(self, timeout=60):
        """A walsender connection that also takes SQL; for CREATE_REPLICATION_SLOT … (SNAPSHOT 'export')."""
        return self.session("replication=database", timeout)

    def execute(self, statement, timeout=60):
        with self.session(timeout=timeout) as session:
            return session.execute(statement)

    def value(self, statement, timeout=60):
        rows = self.execute(statement, timeout)
        return rows[0][0] if rows else None

    # varved.

    def varved(self, name="main", **options):
        """Makes the configuration of a varved on this cluster; `start` runs it."""
        varved = Varved(self, name, **options)
        self.varveds.append(varved)
        return varved

    # The end.

    def _stop_at_exit(self):
        if getattr(self, "_exit_registered", False):
            return
        self._exit_registered = True
        atexit.register(self.stop_everything)
        # Without a handler SIGTERM would end this program and leave the server running.
        with contextlib.suppress(ValueError):
            signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))

    def detach(self):
        """Leaves everything running when this program ends."""
        atexit.unregister(self.stop_everything)

    def stop_everything(self):
        for session in self._sessions:
            session.close()
        for varved in self.varveds:
            varved.stop()
        self.stop("immediate")

    def remove(self, keep_logs=False):
        self.stop_everything()
        if not keep_logs:
            shutil.rmtree(self.directory, ignore_errors=True)
            return
        for name in os.listdir(self.directory):
            if not name.endswith((".log", ".toml")):
                path = self.path(name)
                shutil.rmtree(path, ignore_errors=True) if os.path.isdir(path) else os.unlink(path)
        print(f"{self.label}: logs are in {self.directory}", file=sys.stderr)


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

    def __init__(self, cluster, name="main", slot="varve", publication="varve", log_level="info", memory_mb=64):
        self.cluster = cluster
        self.name = name
        self.slot = slot
        self.socket = cluster.path("run", f"{name}.sock")
        self.log = cluster.path(f"{name}.varved.log")
        self.config = cluster.path(f"{name}.varved.toml")
        self.pid_file = cluster.path(f"{name}.varved.pid")
        self.process = None
        data = cluster.path(f"store-{name}")
        os.makedirs(data, exist_ok=True)
        give_to_server_user(data)
        with open(self.config, "w", encoding="utf-8") as file:
            file.write(f"""[source]
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
""")

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
        self.process = Process.start(command, self.log, self.cluster.directory, self.cluster._environment())
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
        done = subprocess.run(self.command(*arguments), stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=timeout, check=False)
        if check and done.returncode != 0:
            raise VarveError(arguments, done.returncode, done.stderr)
        return done.stdout

    def stream(self, *arguments):
        """Runs the command line with --ndjson and yields the lines between its first ("at") and last ("end"), which
        are checked: an answer that was cut is an error."""
        command = self.command(*arguments, "--ndjson")
        with tempfile.TemporaryFile() as errors:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors)
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
        self.run("wait", reference, timeout=seconds)
