# SPDX-License-Identifier: PostgreSQL
"""What people ask about the past, answered by Varve and, from kept copies, by plain SQL."""

import json


class Answers:
    """Counts questions and differences."""

    SHOWN = 8

    def __init__(self):
        self.asked = 0
        self.wrong = 0

    def compare(self, question, varve, sql):
        self.asked += 1
        if varve == sql:
            return
        self.wrong += 1
        if self.wrong <= self.SHOWN:
            print(f"DIFFERENT: {question}\n{_first_difference(varve, sql)}", flush=True)


def _first_difference(varve, sql):
    if not (isinstance(varve, list) and isinstance(sql, list)):
        return f"  Varve: {varve!r}\n  SQL:   {sql!r}"
    ours, theirs = sorted(map(str, varve)), sorted(map(str, sql))
    kept = set(ours) & set(theirs)
    text = [f"  Varve gives {len(ours)}, SQL {len(theirs)}"]
    for who, rows in (("only Varve", ours), ("only SQL  ", theirs)):
        text += [f"  {who}: {row[:400]}" for row in [row for row in rows if row not in kept][:2]]
    return "\n".join(text)


def sql_lines(session, query):
    lines = []
    session.copy_lines(query, lines.append, timeout=120)
    return sorted(lines)


class Questions:
    def __init__(self, varved, session, answers):
        self.varved = varved
        self.session = session
        self.answers = answers

    def table_then(self, table, reference, kept):
        """The whole table, byte for byte."""
        self.answers.compare(
            f"{table} as of {reference}",
            sorted(self.varved.stream("scan", table, "--as-of", reference)),
            sql_lines(self.session, f"select to_jsonb(t)::text from {kept} t"),
        )

    def package_before(self, name, reference, kept):
        """What was package X before?"""
        rows = list(self.varved.stream("scan", "package", "--as-of", reference, "--where", f"name={name}"))
        expected = sql_lines(
            self.session, f"select to_jsonb(t)::text from {kept} t where name = {_quote(name)}"
        )
        self.answers.compare(f"package {name} as of {reference}, by scan", rows, expected)
        answer = json.loads(
            self.varved.run("get", "package", json.dumps(name), "--as-of", reference, "--json")
        )
        self.answers.compare(
            f"package {name} as of {reference}, by key",
            answer.get("row"),
            json.loads(expected[0]) if expected else None,
        )

    def dependents_then(self, target, reference, kept):
        """Who depended on Y then?"""
        self.answers.compare(
            f"who depended on {target} as of {reference}",
            sorted(
                self.varved.stream("scan", "dependency", "--as-of", reference, "--where", f"target={target}")
            ),
            sql_lines(
                self.session, f"select to_jsonb(t)::text from {kept} t where target = {_quote(target)}"
            ),
        )

    def changed_between(self, table, key, ends, kept):
        """What changed between two moments: operation, key, changed columns, both rows."""
        varve = []
        for line in self.varved.stream("diff", *ends, "--table", table):
            change = json.loads(line)
            varve.append(
                json.dumps(
                    [
                        change["op"],
                        change["key"],
                        sorted(change.get("changed", [])),
                        change.get("before"),
                        change.get("after"),
                    ],
                    sort_keys=True,
                )
            )
        expected = []
        for line in sql_lines(self.session, _difference(key, kept)):
            before, after = json.loads(line)
            expected.append(json.dumps(_change(key, before, after), sort_keys=True))
        self.answers.compare(
            f"what changed in {table} between {' and '.join(ends)}", sorted(varve), sorted(expected)
        )
        return len(expected)

    def versions_of(self, name, seen):
        """Every version that a package had. `seen`: what the database held after each edit of it."""
        versions = [json.loads(line) for line in self.varved.stream("history", "package", json.dumps(name))]
        self.answers.compare(
            f"versions of {name}",
            [version.get("after") for version in versions if version["op"] != "delete"],
            seen,
        )


def _quote(text):
    return "'" + text.replace("'", "''") + "'"


def _difference(key, kept):
    earlier, later = kept
    on = " and ".join(f"a.{column} = b.{column}" for column in key)
    return (
        f"select jsonb_build_array(to_jsonb(a), to_jsonb(b))::text from {earlier} a "
        f"full join {later} b on {on} where to_jsonb(a) is distinct from to_jsonb(b)"
    )


def _change(key, before, after):
    row = after if before is None else before
    name = row[key[0]] if len(key) == 1 else [row[column] for column in key]
    if before is None or after is None:
        return ["insert" if before is None else "delete", name, [], before, after]
    return [
        "update",
        name,
        sorted(column for column in after if after[column] != before[column]),
        before,
        after,
    ]
