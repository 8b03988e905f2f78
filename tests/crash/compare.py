# SPDX-License-Identifier: PostgreSQL
"""Compares what Varve answers with what PostgreSQL held."""

import json
from collections import Counter

import schema
from moments import Contents
from varve_cluster import VarveError

DIFFERING_ROWS_SHOWN = 3
OPERATIONS = ("insert", "update", "delete", "truncate")


def position_number(text):
    """Order of positions: [ERA:]HIGH/LOW."""
    era, _, lsn = text.rpartition(":")
    high, low = lsn.split("/")
    return (int(era or 0) << 56) + (int(high, 16) << 32) + int(low, 16)


class Report:
    """Collects differences; prints the first ones in full."""

    FULL = 5

    def __init__(self):
        self.differences = 0

    def add(self, text):
        self.differences += 1
        if self.differences <= self.FULL:
            print(f"DIFFERENT: {text}", flush=True)


def compare_moment(varved, moment, report):
    """Every table of a moment, read as of its consistent point."""
    for table, expected in moment.tables.items():
        actual = Contents(table)
        try:
            for line in _scan(varved, moment, table):
                actual.add(line)
        except VarveError as error:
            report.add(f"moment {moment.number} ({moment.phase}), table {table}: {error}")
            continue
        blocks = expected.differing_blocks(actual)
        if blocks:
            report.add(_describe(varved, moment, table, expected, actual, blocks))


def _scan(varved, moment, table):
    return varved.stream("scan", f"public.{table}", "--as-of", f"lsn:{moment.lsn}")


def _describe(varved, moment, table, expected, actual, blocks):
    """The first block that differs, with its first differing rows."""
    block, probe = blocks[0], Contents(table)

    def rows_of(lines):
        return {probe.key(line): line for line in lines if probe.block_of(line) == block}

    held, answered = rows_of(moment.lines(table)), rows_of(_scan(varved, moment, table))
    text = [
        f"moment {moment.number} ({moment.phase}, lsn:{moment.lsn}), table {table}: {len(blocks)} of "
        f"{len(expected.blocks)} blocks; PostgreSQL {expected.rows} rows, "
        f"Varve {actual.rows}; first block {block}: "
        f"PostgreSQL {expected.blocks.get(block, (0,))[0]} rows, Varve {actual.blocks.get(block, (0,))[0]}"
    ]
    differing = [key for key in sorted(held.keys() | answered.keys()) if held.get(key) != answered.get(key)]
    for key in differing[:DIFFERING_ROWS_SHOWN]:
        text += [f"  key {key!r}", *_excerpts(held.get(key), answered.get(key))]
    return "\n".join(text)


def _excerpts(held, answered):
    """Both rows around the first byte that differs."""
    if held is None or answered is None:
        return [
            f"    {who}: {'no row' if row is None else row.decode()[:300]}"
            for who, row in (("PostgreSQL", held), ("Varve     ", answered))
        ]
    at = next((n for n, (a, b) in enumerate(zip(held, answered)) if a != b), min(len(held), len(answered)))
    start = max(0, at - 60)
    return [
        f"    {who}: …{row[start:at + 120].decode(errors='replace')}…"
        for who, row in (("PostgreSQL", held), ("Varve     ", answered))
    ]


class _Steps:
    """Counts Varve's changes by table and operation, and checks their order."""

    def __init__(self, report):
        self.counts = Counter()
        self._report = report
        self._last = (-1, -1)

    def take(self, line):
        step = json.loads(line)
        if step["op"] not in OPERATIONS:
            return  # a change of columns is told at the place of the first row that shows it
        place = (position_number(step["position"]), step["seq"])
        if place <= self._last:
            self._report.add(
                f"(position, seq) {place} comes behind {self._last}: twice, or out of order: {line[:300]}"
            )
        self._last = place
        self.counts[step["table"].removeprefix("public."), step["op"]] += 1


def varve_changes(varved, last, report):
    """Every change from the first copy to a position."""
    steps = _Steps(report)
    for line in varved.stream("diff", "first", f"lsn:{last}", "--raw"):
        steps.take(line)
    return steps.counts


def decoded_changes(session, slot, first, last):
    """The same from a slot with test_decoding: transactions that end in (first, last]."""
    total, pending = Counter(), Counter()
    low, high = position_number(first), position_number(last)

    def take(line):
        lsn, _, text = line.decode().partition(" ")
        if text.startswith("COMMIT"):
            if low < position_number(lsn) <= high:
                total.update(pending)
            pending.clear()
        elif text.startswith("table "):
            tables, operation = text[len("table ") :].split(": ")[:2]
            for table in tables.split(", "):
                if table.removeprefix("public.") in schema.TABLES:
                    pending[table.removeprefix("public."), operation.lower()] += 1

    session.copy_lines(
        "select lsn || ' ' || split_part(left(data, 400), e'\\n', 1) from pg_logical_slot_get_changes("
        f"'{slot}', null, null, 'include-xids', '0', 'skip-empty-xacts', '1')",
        take,
        timeout=600,
    )
    return total


def compare_changes(varve_counts, decoded_counts, report):
    for table, operation in sorted(varve_counts.keys() | decoded_counts.keys()):
        ours, theirs = varve_counts[table, operation], decoded_counts[table, operation]
        if ours != theirs:
            report.add(f"{operation}s of {table}: test_decoding counts {theirs}, Varve {ours}")
