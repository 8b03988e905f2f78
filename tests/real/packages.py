# SPDX-License-Identifier: PostgreSQL
"""The machine's own package index as two tables."""

import re
import subprocess
import sys

RELATIONS = (
    "Pre-Depends",
    "Depends",
    "Recommends",
    "Suggests",
    "Enhances",
    "Breaks",
    "Conflicts",
    "Replaces",
)
PACKAGES_MIN = 10000

TABLES = [
    "create table package (name text primary key, version text not null, source text, architecture text, "
    "section text, priority text, installed_size bigint, size bigint, maintainer text, homepage text, "
    "description text, tags text[], sha256 bytea)",
    "create table dependency (package text references package on delete cascade on update cascade, "
    "kind text, place int, choice int, target text not null, requirement text, "
    "primary key (package, kind, place, choice))",
]
INDEX = "create index on dependency (target)"
TARGET = re.compile(r"\s*([^\s(\[<]+)\s*(?:\(([^)]*)\))?")


def read_index():
    """Every stanza of apt's index, as a dictionary of its fields."""
    try:
        text = subprocess.run(["apt-cache", "dumpavail"], capture_output=True, check=True).stdout.decode()
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"apt-cache dumpavail does not work here: {error}")
    stanzas = [_stanza(part) for part in text.split("\n\n") if part.strip()]
    stanzas = list({stanza["Package"]: stanza for stanza in stanzas}.values())
    if len(stanzas) < PACKAGES_MIN:
        sys.exit(f"apt's index has {len(stanzas)} packages: fill it first (apt-get update)")
    return stanzas


def _stanza(text):
    fields, name = {}, None
    for line in text.split("\n"):
        if line[:1] in (" ", "\t"):
            fields[name] += "\n" + line.strip()
        elif line:
            name, _, value = line.partition(":")
            fields[name] = value.strip()
    return fields


def dependencies(stanza):
    """Rows (kind, place, choice, target, requirement) of one package."""
    for kind in RELATIONS:
        for place, alternatives in enumerate(filter(None, stanza.get(kind, "").split(","))):
            for choice, alternative in enumerate(alternatives.split("|")):
                found = TARGET.match(alternative)
                if found:
                    yield kind, place, choice, found[1], found[2]


def _copy_field(value):
    if value is None:
        return "\\N"
    text = str(value)
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r")


def _array(text):
    if text is None:
        return None
    parts = [part.strip() for part in text.replace("\n", " ").split(",")]
    return "{" + ",".join('"' + part.replace("\\", "\\\\").replace('"', '\\"') + '"' for part in parts) + "}"


def _package_row(stanza):
    get = stanza.get
    digest = get("SHA256")
    return [
        get("Package"),
        get("Version"),
        get("Source"),
        get("Architecture"),
        get("Section"),
        get("Priority"),
        get("Installed-Size"),
        get("Size"),
        get("Maintainer"),
        get("Homepage"),
        get("Description"),
        _array(get("Tag")),
        "\\x" + digest if digest else None,
    ]


def load(session, stanzas):
    """Makes both tables and fills them."""
    for statement in TABLES:
        session.execute(statement)
    session.copy_in("package", ("\t".join(map(_copy_field, _package_row(stanza))) for stanza in stanzas))
    session.copy_in(
        "dependency",
        (
            "\t".join(map(_copy_field, (stanza["Package"], *row)))
            for stanza in stanzas
            for row in dependencies(stanza)
        ),
    )
    session.execute(INDEX)
    session.execute("analyze")
