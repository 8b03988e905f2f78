# SPDX-License-Identifier: PostgreSQL
"""Tables and changes of other shapes than `item`, for the benchmark decode: one class each."""

from drain import LIMIT_S


def create(cluster):
    execute(cluster, BY_KEY)


def execute(cluster, statement):
    cluster.execute(statement, timeout=LIMIT_S)


# In transactions of this many rows, which logical_decoding_work_mem holds.
ROWS_A_TRANSACTION = 1000
BY_KEY = """create procedure by_key(statement text, total int, step int) language plpgsql as $$
begin
  for low in 1 .. total by step loop
    execute statement using low, low + step - 1;
    commit;
  end loop;
end $$"""


def by_key(cluster, statement, rows):
    """Runs it for each $1 to $2 of the keys 1 to `rows`."""
    with cluster.session(timeout=LIMIT_S) as session:
        session.execute("set synchronous_commit = off")
        session.execute(f"call by_key($sql${statement}$sql$, {rows}, {ROWS_A_TRANSACTION})")


class Wide:
    """20 columns of the usual types, inserted and updated."""

    columns = (
        "id bigint primary key, a1 int, a2 int, a3 smallint, b1 bigint, b2 bigint, c1 text, c2 text, "
        "c3 varchar(40), d1 numeric(12,2), d2 numeric(20,6), e1 timestamptz, e2 timestamp, e3 date, "
        "f1 bool, f2 bool, g1 float8, g2 float8, h1 uuid, i1 text"
    )
    values = (
        "n, n, n % 7, n % 100, n * 3, n * 5, 'first name ' || n, 'second name ' || n, 'code ' || n % 97, "
        "n * 0.37, n * 0.000421, '2026-01-01', '2026-01-02', '2026-01-03', n % 2 = 0, n % 3 = 0, n / 7.0, "
        "n / 11.0, md5(n::text)::uuid, null"
    )

    @classmethod
    def create(cls, cluster):
        execute(cluster, f"create table wide ({cls.columns})")

    @classmethod
    def change(cls, cluster, count):
        rows = count // 2
        by_key(cluster, f"insert into wide select {cls.values} from generate_series($1, $2) n", rows)
        by_key(
            cluster,
            "update wide set a1 = a1 + 1, d1 = d1 + 0.01, e1 = now() where id between $1 and $2",
            rows,
        )
        return rows * 2


class Payload:
    """A text of 2 KiB, inserted and replaced."""

    @staticmethod
    def create(cluster):
        execute(cluster, "create table payload (id bigint primary key, body text)")

    @staticmethod
    def change(cluster, count):
        rows = count // 4
        body = "(select string_agg(md5((n * 64 + part)::text), '') from generate_series(1, 64) part)"
        by_key(cluster, f"insert into payload select n, {body} from generate_series($1, $2) n", rows)
        by_key(cluster, "update payload set body = reverse(body) where id between $1 and $2", rows)
        return rows * 2


class Full:
    """The table item under REPLICA IDENTITY FULL, updated: both rows travel."""

    @staticmethod
    def create(cluster):
        execute(cluster, "create table item_full (like item including all)")
        execute(cluster, "alter table item_full replica identity full")
        execute(cluster, "insert into item_full select * from item")

    @staticmethod
    def change(cluster, count):
        rows = int(cluster.value("select count(*) from item_full"))
        rounds = -(-count // rows)
        for _ in range(rounds):
            by_key(
                cluster,
                "update item_full set quantity = quantity + 1, changed = now() where id between $1 and $2",
                rows,
            )
        return rounds * rows


class Mixed:
    """Transactions of five changes to three tables: inserts, updates and deletes."""

    @staticmethod
    def create(cluster):
        execute(cluster, "create table customer (id int primary key, name text, balance numeric(12,2))")
        execute(
            cluster,
            "create table sale (id bigint primary key, customer int, amount numeric(12,2), sold timestamptz)",
        )
        execute(
            cluster,
            "create table sale_line "
            "(sale bigint, line int, item text, quantity int, primary key (sale, line))",
        )
        execute(cluster, "insert into customer select n, 'customer ' || n, 0 from generate_series(1, 1000) n")
        execute(
            cluster,
            """create procedure sell(total int) language plpgsql as $$
begin
  for n in 1 .. total loop
    insert into sale values (n, n % 1000 + 1, n * 0.11, clock_timestamp());
    insert into sale_line values (n, 1, 'item ' || n % 313, n % 7), (n, 2, 'item ' || n % 717, n % 11);
    update customer set balance = balance + n * 0.11 where id = n % 1000 + 1;
    delete from sale_line where sale = n - 10 and line = 1;
    commit;
  end loop;
end $$""",
        )

    @staticmethod
    def change(cluster, count):
        transactions = count // 5
        with cluster.session(timeout=LIMIT_S) as session:
            session.execute("set synchronous_commit = off")
            session.execute(f"call sell({transactions})")
        return transactions * 5 - 10


SHAPES = {"wide": Wide, "payload": Payload, "full": Full, "mixed": Mixed}
