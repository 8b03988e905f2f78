# SPDX-License-Identifier: PostgreSQL
"""The table that the benchmarks have in common, of about 100 bytes a row, and what is done to it."""

from drain import LIMIT_S

TABLE = (
    "create table item (id bigint primary key, quantity int, name text, price numeric(12,2), "
    "changed timestamptz, active bool, weight float8, code uuid)"
)
FILL = (
    "insert into item select n, n % 1000, 'item number ' || n, n * 0.37, '2026-01-01', n % 2 = 0, n / 7.0, "
    "md5(n::text)::uuid from generate_series(1, {rows}) n"
)
BULK = "update item set quantity = quantity + 1, price = price + 0.01, changed = now()"
# One transaction a row, as fast as one session commits: what the commits cost is not measured.
SMALL = """create procedure touch_one_by_one(total int, rows int) language plpgsql as $$
begin
  for n in 1 .. total loop
    update item set quantity = quantity + 1, changed = clock_timestamp()
      where id = 1 + (n::bigint * 7919) % rows;
    commit;
  end loop;
end $$"""


def create(cluster, rows):
    cluster.execute(TABLE)
    cluster.execute(FILL.format(rows=rows), timeout=LIMIT_S)
    cluster.execute(SMALL)
    cluster.execute("vacuum analyze item", timeout=LIMIT_S)


def bulk(cluster, rows, transactions):
    """Updates every row in each transaction; answers how many changes that are."""
    for _ in range(transactions):
        cluster.execute(BULK, timeout=LIMIT_S)
    return transactions * rows


def small(cluster, rows, transactions):
    """Updates one row in each transaction; answers how many changes that are."""
    with cluster.session(timeout=LIMIT_S) as session:
        session.execute("set synchronous_commit = off")
        session.execute(f"call touch_one_by_one({transactions}, {rows})")
    return transactions
