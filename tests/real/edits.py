# SPDX-License-Identifier: PostgreSQL
"""A thousand edits as an archive sees them, from a seed: each one transaction of one or more statements."""

import random

EDITS = 1000
# Edits that are not drawn: the mistake, its repair, and the changes of the schema.
MISTAKE, REPAIR, ADD_COLUMN, RENAME_COLUMN, DROP_COLUMN = 600, 612, 300, 450, 800
WATCHED = 12


def quote(text):
    return "null" if text is None else "'" + text.replace("'", "''") + "'"


class Archive:
    """Draws edits. Knows which packages there are; everything else is in the database."""

    def __init__(self, names, seed):
        self.rng = random.Random(seed)
        self.names = sorted(names)
        self.watched = self.rng.sample(self.names, WATCHED)
        self.size_column = "installed_size"
        self._made = 0

    def edit(self, number):
        """Kind and statements of edit `number`."""
        fixed = {
            MISTAKE: ("mistake", ["update package set section = 'oldlibs', priority = 'extra'"]),
            ADD_COLUMN: ("add column", ["alter table package add column popularity int default 0"]),
            RENAME_COLUMN: (
                "rename column",
                ["alter table package rename column installed_size to installed_kib"],
            ),
            DROP_COLUMN: (
                "drop column",
                [
                    "alter table dependency add column note text",
                    "update dependency set note = 'checked' where target = 'libc6'",
                    "alter table package drop column homepage",
                ],
            ),
        }
        if number in fixed:
            if number == RENAME_COLUMN:
                self.size_column = "installed_kib"
            return fixed[number]
        kinds = {
            self.upgrade: 50,
            self.change_dependencies: 20,
            self.remove: 9,
            self.introduce: 8,
            self.rename: 4,
            self.hand_over: 3,
            self.repack: 6,
        }
        draw = self.rng.choices(list(kinds), list(kinds.values()))[0]
        return draw.__name__.replace("_", " "), draw()

    def _some(self):
        if self.rng.random() < 0.15:
            return self.rng.choice(self.watched)
        return self.rng.choice(self.names)

    def _unwatched(self):
        while (name := self.rng.choice(self.names)) in self.watched:
            pass
        return name

    def upgrade(self):
        rng, name = self.rng, self._some()
        statements = [
            f"update package set version = version || '+u{rng.randint(1, 9)}', "
            f"{self.size_column} = coalesce({self.size_column}, 0) + {rng.randint(-50, 500)}, "
            f"size = size + {rng.randint(-999, 9999)}, "
            f"sha256 = decode('{rng.getrandbits(256):064x}', 'hex') where name = {quote(name)}"
        ]
        if rng.random() < 0.4:
            statements.append(
                f"update dependency set requirement = '>= {rng.randint(1, 9)}.{rng.randint(0, 99)}' "
                f"where package = {quote(name)} and kind = 'Depends' and place <= {rng.randint(0, 3)}"
            )
        return statements

    def change_dependencies(self):
        rng, name, target = self.rng, self._some(), self._some()
        at = f"package = {quote(name)} and kind = 'Depends'"
        return rng.choice(
            [
                [
                    "insert into dependency "
                    f"select {quote(name)}, 'Depends', coalesce(max(place) + 1, 0), 0, "
                    f"{quote(target)}, '>= 1.{rng.randint(0, 9)}' from dependency where {at}"
                ],
                [f"delete from dependency where {at} and place = {rng.randint(0, 2)}"],
                [
                    f"update dependency set target = {quote(target)}, requirement = null "
                    f"where {at} and place = 0"
                ],
                [f"update dependency set kind = 'Recommends', place = place + 1000 where {at} and place = 1"],
            ]
        )

    def remove(self):
        name = self._unwatched()
        self.names.remove(name)
        return [f"delete from package where name = {quote(name)}"]

    def introduce(self):
        model, self._made = self._some(), self._made + 1
        name = f"{model}-ng{self._made}"
        self.names.append(name)
        return [
            f"insert into package (name, version, source, architecture, section, priority, maintainer, "
            f"description, tags) select {quote(name)}, '0.1-1', source, architecture, section, 'optional', "
            f"maintainer, "
            f"description || ' (next generation)', tags from package where name = {quote(model)}",
            f"insert into dependency select {quote(name)}, kind, place, choice, target, requirement "
            f"from dependency where package = {quote(model)}",
        ]

    def rename(self):
        """The key of a row changes, and of every row that refers to it."""
        old, self._made = self._unwatched(), self._made + 1
        new = f"{old}-renamed{self._made}"
        self.names[self.names.index(old)] = new
        return [
            f"update package set name = {quote(new)}, version = version || '+r1' where name = {quote(old)}",
            f"update dependency set target = {quote(new)} where target = {quote(old)}",
        ]

    def hand_over(self):
        name = self._some()
        return [
            f"update package set maintainer = 'New Hands <team{self.rng.randint(1, 99)}@example.org>' "
            f"where maintainer = (select maintainer from package where name = {quote(name)})"
        ]

    def repack(self):
        """Removed and put back in one transaction, as a re-upload does."""
        name = self._some()
        return [
            "create temporary table held on commit drop as select * from package "
            f"where name = {quote(name)}",
            "create temporary table held_dependency on commit drop as select * from dependency "
            f"where package = {quote(name)}",
            f"delete from package where name = {quote(name)}",
            "update held set version = version || '+b1'",
            "insert into package select * from held",
            "insert into dependency select * from held_dependency",
        ]
