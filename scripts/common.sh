# shellcheck shell=bash disable=SC2034 # its variables are for those who source it
# SPDX-License-Identifier: PostgreSQL
# What the scripts share; sourced, never run. Sets `top`, the tree's directory.

set -euo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
export LC_ALL=C.UTF-8 PGCLIENTENCODING=UTF8
unset PGHOST PGPORT PGUSER PGDATABASE PGSERVICE PGOPTIONS VARVE_SERVER VARVE_CONFIG

pg_bin=/usr/lib/postgresql/${VARVE_PG_MAJOR:-15}/bin
build_dir=${VARVE_BUILD:-$top/build}

say() { printf '%s\n' "$*"; }
die() {
  printf '%s: %s\n' "$(basename "$0")" "$*" >&2
  exit 1
}

# Runs as root what only root may do; nothing else goes through it.
as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo -- "$@"
  else
    die "needs root for: $* (run it as root, or install sudo)"
  fi
}

# PostgreSQL refuses to run as root: then the server's user runs it, else whoever called. Stands in front of a
# command, which keeps its own process id.
as_server=()
if [ "$(id -u)" = 0 ]; then
  as_server=(setpriv --reuid=postgres --regid=postgres --init-groups env HOME=/var/lib/postgresql)
fi

# A fresh directory that the server's user owns, with a short path: a Unix socket's has at most 107 bytes.
make_run_dir() {
  local made
  made=$("${as_server[@]}" mktemp -d /tmp/varve.XXXXXX)
  "${as_server[@]}" chmod 0750 "$made"
  printf '%s\n' "$made"
}

# At most one compiler a core and one for each 1.5 GB of memory.
jobs() {
  local cores memory
  cores=$(nproc)
  memory=$(awk '/^MemAvailable/ { print int($2 / 1500000) }' /proc/meminfo)
  [ "$memory" -ge 1 ] || memory=1
  echo "${VARVE_JOBS:-$((cores < memory ? cores : memory))}"
}
