# SPDX-License-Identifier: PostgreSQL
"""A private PostgreSQL and its varved in a short directory, for tests, benchmarks and scripts/cluster.

Everything lives in one fresh directory under /tmp that belongs to the server's user: data, sockets, logs and
copies of the built programs. Nothing is installed in the system and no TCP port is opened.
"""

import atexit
import contextlib
import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

from processes import Process, Timeout, children_of, cpu_seconds, give_to_server_user, until
from psql import ConnectionLost, RAW_COPY, Session, SqlError
from varved import Varved, VarveError

__all__ = [
    "Cluster",
    "ConnectionLost",
    "Process",
    "RAW_COPY",
    "Session",
    "SqlError",
    "Timeout",
    "Varved",
    "VarveError",
    "cpu_seconds",
    "find_build",
    "find_postgres",
    "until",
]

REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# The first minor releases that read output_plugin_libraries; older ones refuse to start with it.
ALLOW_LIST_SINCE = {15: 19, 16: 15, 17: 11, 18: 6}
PROGRAMS = {"varve.so": "plugin/varve.so", "varved": "sidecar/varved", "varve": "cli/varve"}


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
    directory = os.path.abspath(
        directory or os.environ.get("VARVE_BUILD") or os.path.join(REPOSITORY, "build")
    )
    missing = [path for path in PROGRAMS.values() if not os.path.exists(os.path.join(directory, path))]
    if missing:
        sys.exit(
            f"{directory} does not hold {', '.join(missing)}: build first "
            "(meson setup build && ninja -C build), or name the build directory in VARVE_BUILD"
        )
    return directory


def _server_version(bindir):
    text = subprocess.check_output([os.path.join(bindir, "postgres"), "--version"], text=True)
    match = re.search(r"(\d+)\.(\d+)", text)
    return (int(match[1]), int(match[2])) if match else (int(re.search(r"(\d+)", text)[1]), 0)


class Cluster:
    """One PostgreSQL cluster. `build=None` leaves varve out; `settings` go to postgresql.conf.

    `plugins` are other output plugins that it may load, by name: a file to copy, None for one that the
    server has.
    """

    def __init__(self, build=None, settings=None, database="postgres", label="test", plugins=None):
        self.bindir = find_postgres()
        self.database = database
        self.label = label
        self.directory = tempfile.mkdtemp(prefix="varve.", dir="/tmp")
        give_to_server_user(self.directory)
        self.data = self.path("data")
        self.postmaster = None
        self.varveds = []
        self._sessions = []
        self._plugins = plugins or {}
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
        for name, file in self._plugins.items():
            if file is not None:
                shutil.copy(file, self.path("lib", name + ".so"))
                os.chmod(self.path("lib", name + ".so"), 0o755)

    def _init_database(self, settings, with_plugin):
        log = self.path("initdb.log")
        command = [
            os.path.join(self.bindir, "initdb"),
            "-D",
            self.data,
            "-U",
            "postgres",
            "--auth=trust",
            "--encoding=UTF8",
            "--locale=C.UTF-8",
            "--no-sync",
            "--no-instructions",
        ]
        process = Process.start(command, log, self.directory, self.environment())
        process.wait(120)
        if process.exit_code() != 0:
            with open(log, encoding="utf-8") as file:
                sys.exit(f"initdb failed:\n{file.read()}")
        chosen = {
            "wal_level": "logical",
            "listen_addresses": "",
            "unix_socket_directories": self.directory,
            "max_wal_senders": "12",
            "max_replication_slots": "12",
            "max_prepared_transactions": "10",
            "fsync": "off",
            "shared_buffers": "128MB",
            "logging_collector": "off",
            "log_line_prefix": "%m [%p] %q%a ",
            "autovacuum_naptime": "10s",
        }
        if with_plugin:
            chosen["varve.ingest_endpoint"] = f"ipc://{self.path('run', 'ingest.sock')}"
            chosen["dynamic_library_path"] = f"{self.path('lib')}:$libdir"
            major, minor = _server_version(self.bindir)
            if minor >= ALLOW_LIST_SINCE.get(major, 0):
                names = ["pgoutput", "test_decoding", "varve", *self._plugins]
                chosen["output_plugin_libraries"] = ", ".join(names)
        chosen.update(settings)
        with open(os.path.join(self.data, "postgresql.conf"), "a", encoding="utf-8") as file:
            for name, value in chosen.items():
                quoted = str(value).replace("'", "''")
                file.write(f"{name} = '{quoted}'\n")

    @staticmethod
    def environment():
        kept = {
            name: os.environ[name]
            for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS", "VARVE_TEST_RUN")
            if name in os.environ
        }
        return {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "TZ": "UTC", **kept}

    # The server.

    def start(self, seconds=60):
        """Starts the server and waits until it takes connections."""
        self.launch()
        self.wait_ready(seconds)
        return self

    def launch(self):
        self._stop_at_exit()
        self.postmaster = Process.start(
            [os.path.join(self.bindir, "postgres"), "-D", self.data],
            self.path("server.log"),
            self.directory,
            self.environment(),
        )

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
        """kill -9. The server's other processes see it and leave; `start` works after this."""
        # Stopped first: a backend forked after the list was made would keep the shared memory in use.
        self.postmaster.send(signal.SIGSTOP)
        children = children_of(self.postmaster.pid)
        self.postmaster.send(signal.SIGKILL)
        self.postmaster.wait(10)
        self._end_orphans(children)
        self.postmaster = None
        # Until the system's first process reaps an ended postmaster that is not our child, its id still looks
        # alive to the next one, which then refuses to start.
        for lock in (os.path.join(self.data, "postmaster.pid"), self.path(".s.PGSQL.5432.lock")):
            os.unlink(lock)

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
