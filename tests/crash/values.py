# SPDX-License-Identifier: PostgreSQL
"""Random SQL literals for every type that PostgreSQL builds in, from a given random generator."""

TEXT_ALPHABET = [
    "a",
    "B",
    "7",
    " ",
    "'",
    '"',
    "\\",
    "\n",
    "\t",
    "\x01",
    "\x1b",
    "/",
    "{",
    "}",
    ",",
    "é",
    "ß",
    "漢",
    "😀",
    "\u2028",
    "\x7f",
]
WORDS = ["ash", "elm", "oak", "fir", "yew", "alder", "birch", "maple"]
LARGEST_INTEGER = {"int2": 2**15, "int4": 2**31, "int8": 2**63}


def quote(text):
    return "'" + text.replace("'", "''") + "'"


def text(rng, longest=24):
    return "".join(rng.choices(TEXT_ALPHABET, k=rng.randint(0, longest)))


def wide_text(rng, length=3072):
    """Text that does not compress below the TOAST threshold."""
    return f"{rng.getrandbits(4 * length):0{length}x}"


def integer(rng, name):
    edge = LARGEST_INTEGER[name]
    return str(rng.choice([0, 1, -1, edge - 1, -edge, rng.randint(-edge, edge - 1), rng.randint(-999, 999)]))


def numeric(rng):
    return rng.choice(
        [
            "0",
            "-0.00",
            "NaN",
            "Infinity",
            "-Infinity",
            "1e-20",
            "12345678901234567890.0100",
            "1e30",
            f"{rng.uniform(-1e6, 1e6):.{rng.randint(0, 9)}f}",
            f"{rng.getrandbits(200)}.{rng.getrandbits(90)}",
            f"{rng.randint(-9999, 9999)}0000",
        ]
    )


def float_text(rng, single):
    return rng.choice(
        [
            "0",
            "-0",
            "NaN",
            "Infinity",
            "-Infinity",
            "0.1",
            "1e-5",
            "1e15",
            "1e16",
            "123456789",
            repr(rng.uniform(-1, 1)),
            f"{rng.uniform(1, 10)}e{rng.randint(-30, 30 if single else 300)}",
        ]
    )


def date(rng):
    return rng.choice(
        [
            "infinity",
            "-infinity",
            "4713-01-01 BC",
            "2000-01-01",
            "5874897-12-31",
            f"{rng.randint(1, 9999):04d}-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}",
        ]
    )


def clock(rng):
    return f"{rng.randint(0, 23):02d}:{rng.randint(0, 59):02d}:{rng.randint(0, 59):02d}" + rng.choice(
        ["", f".{rng.randint(0, 999999):06d}", f".{rng.randint(0, 9)}"]
    )


def timestamp(rng):
    return rng.choice(
        [
            "infinity",
            "-infinity",
            "4713-01-01 00:00:00 BC",
            "294276-12-31 23:59:59.999999",
            "1900-01-01 00:00:00.000001",
        ]
        + 5 * [f"{rng.randint(1, 9999):04d}-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d} {clock(rng)}"]
    )


def zone(rng):
    return rng.choice(["+00", "+05:30", "-08", "+14", "-11:15"])


def timestamptz(rng):
    moment = timestamp(rng)
    return moment if moment.endswith(("infinity", "BC", "999999")) else moment + zone(rng)


def interval(rng):
    return rng.choice(
        [
            "0",
            "1 mon",
            "30 days",
            "-1 year 2 mons -3 days +04:05:06.789",
            "178000000 years",
            f"{rng.randint(-99, 99)} mons {rng.randint(-99, 99)} days {rng.randint(-10**9, 10**9)} us",
            f"{rng.randint(-10**6, 10**6)} hours",
        ]
    )


def json_value(rng, depth=0):
    kind = rng.randint(0, 7 if depth < 3 else 5)
    if kind == 6:
        return "[" + ",".join(json_value(rng, depth + 1) for _ in range(rng.randint(0, 4))) + "]"
    if kind == 7:
        keys = [json_string(rng) for _ in range(rng.randint(0, 4))]
        return "{" + " , ".join(f"{key}: {json_value(rng, depth + 1)}" for key in keys + keys[:1]) + "}"
    return [
        json_string(rng),
        "null",
        "true",
        "1.00",
        f"{rng.uniform(-9, 9)}",
        f"{rng.randint(-9, 9)}e{rng.randint(0, 40)}",
    ][kind]


def json_string(rng):
    escaped = {"\n": "\\n", "\t": "\\t", "\x01": "\\u0001", "\x1b": "\\u001b", '"': '\\"', "\\": "\\\\"}
    return '"' + "".join(escaped.get(letter, letter) for letter in text(rng, 8)) + '"'


def hexadecimal(rng, size):
    return f"{rng.getrandbits(8 * size):0{2 * size}x}" if size else ""


def address(rng):
    if rng.random() < 0.5:
        return ".".join(str(rng.randint(0, 255)) for _ in range(4)), 32
    return ":".join(f"{rng.getrandbits(16):x}" for _ in range(8)), 128


def inet(rng):
    place, bits = address(rng)
    return rng.choice([place, f"{place}/{rng.randint(0, bits)}", "::1", "10.0.0.1/8"])


def coordinate(rng):
    return rng.choice(["0", "-2", "1.5", repr(rng.uniform(-100, 100))])


def point(rng):
    return f"({coordinate(rng)},{coordinate(rng)})"


def points(rng):
    return ",".join(point(rng) for _ in range(rng.randint(1, 5)))


def line(rng):
    return f"{{{rng.randint(1, 9)},{coordinate(rng)},{coordinate(rng)}}}"


def ordered(rng, draw):
    low, high = sorted([draw(rng), draw(rng)])
    return low, high


def range_of(rng, pair):
    if rng.random() < 0.1:
        return "empty"
    low, high = pair(rng)
    low, high = rng.choice([(low, high), (low, ""), ("", high), ("", "")])
    return f"{rng.choice('[(')}\"{low}\",\"{high}\"{rng.choice('])')}".replace('""', "")


def multirange_of(rng, pair):
    return "{" + ",".join(range_of(rng, pair) for _ in range(rng.randint(0, 3))) + "}"


def integers(rng):
    return ordered(rng, lambda r: r.randint(-1000, 1000))


def decimals(rng):
    return ordered(rng, lambda r: r.randint(-10000, 10000) / 4)


def dates(rng):
    return ordered(rng, lambda r: f"{r.randint(1900, 2100)}-{r.randint(1, 12):02d}-{r.randint(1, 28):02d}")


def moments(rng):
    return ordered(
        rng, lambda r: f"{r.randint(1900, 2100)}-{r.randint(1, 12):02d}-{r.randint(1, 28):02d} {clock(r)}"
    )


def instants(rng):
    return tuple(moment + "+00" for moment in moments(rng))


def snapshot(rng):
    low = rng.randint(1, 1000)
    return f"{low}:{low + 20}:" + ",".join(
        str(low + n) for n in sorted(rng.sample(range(20), rng.randint(0, 5)))
    )


def one_of(*choices):
    return lambda rng: rng.choice(choices)


def up_to(bits):
    return lambda rng: str(rng.getrandbits(bits))


def query(rng):
    first, second, third, fourth = rng.choices(WORDS, k=4)
    return f"{first} {rng.choice('&|')} (!{second}:*A | {third} <-> {fourth})"


# Type in pg_type: what to draw a literal from.
GENERATORS = {
    "bool": one_of("t", "f"),
    "char": one_of("q", "~", "7"),
    "name": lambda r: r.choice(WORDS) + text(r, 6),
    "bytea": lambda r: "\\x" + hexadecimal(r, r.randint(0, 20)),
    "text": text,
    "varchar": text,
    "bpchar": text,
    "int2": lambda r: integer(r, "int2"),
    "int4": lambda r: integer(r, "int4"),
    "int8": lambda r: integer(r, "int8"),
    "oid": up_to(32),
    "xid": up_to(32),
    "cid": up_to(32),
    "xid8": up_to(64),
    "tid": lambda r: f"({r.getrandbits(32)},{r.getrandbits(16)})",
    "float4": lambda r: float_text(r, True),
    "float8": lambda r: float_text(r, False),
    "numeric": numeric,
    "money": lambda r: f"{r.uniform(-1e9, 1e9):.2f}",
    "date": date,
    "time": lambda r: r.choice(["24:00:00", clock(r)]),
    "timetz": lambda r: clock(r) + zone(r),
    "timestamp": timestamp,
    "timestamptz": timestamptz,
    "interval": interval,
    "uuid": lambda r: hexadecimal(r, 16),
    "json": json_value,
    "jsonb": json_value,
    "jsonpath": one_of("$", "$.a[*] ? (@ > 3)", "strict $.\"b c\".type()"),
    "xml": one_of("<a/>", "<a b='c'>text &amp; more</a>", "plain"),
    "bit": lambda r: f"{r.getrandbits(1):b}",
    "varbit": lambda r: f"{r.getrandbits(20):b}"[: r.randint(0, 20)],
    "inet": inet,
    "cidr": one_of("10.0.0.0/8", "192.168.0.0/24", "::/0", "2001:db8::/32"),
    "macaddr": lambda r: hexadecimal(r, 6),
    "macaddr8": lambda r: hexadecimal(r, 8),
    "point": point,
    "lseg": lambda r: f"[{point(r)},{point(r)}]",
    "line": line,
    "box": lambda r: f"{point(r)},{point(r)}",
    "path": lambda r: r.choice(["[%s]", "(%s)"]) % points(r),
    "polygon": lambda r: f"({points(r)})",
    "circle": lambda r: f"<{point(r)},{r.randint(0, 9)}>",
    "int4range": lambda r: range_of(r, integers),
    "int8range": lambda r: range_of(r, integers),
    "numrange": lambda r: range_of(r, decimals),
    "daterange": lambda r: range_of(r, dates),
    "tsrange": lambda r: range_of(r, moments),
    "tstzrange": lambda r: range_of(r, instants),
    "int4multirange": lambda r: multirange_of(r, integers),
    "int8multirange": lambda r: multirange_of(r, integers),
    "nummultirange": lambda r: multirange_of(r, decimals),
    "datemultirange": lambda r: multirange_of(r, dates),
    "tsmultirange": lambda r: multirange_of(r, moments),
    "tstzmultirange": lambda r: multirange_of(r, instants),
    "pg_lsn": lambda r: f"{r.getrandbits(32):X}/{r.getrandbits(32):X}",
    "pg_snapshot": snapshot,
    "txid_snapshot": snapshot,
    "tsvector": lambda r: " ".join(
        f"{r.choice(WORDS)}:{r.randint(1, 99)}{r.choice('ABCD')}" for _ in range(r.randint(0, 5))
    ),
    "tsquery": query,
    "refcursor": text,
    "aclitem": one_of("=r/postgres", "postgres=arwdDxt/postgres"),
    "int2vector": one_of("", "1", "1 2 3"),
    "oidvector": one_of("", "23", "23 25 4294967295"),
    "regclass": one_of("pg_class", "pg_catalog.pg_type", "0"),
    "regtype": one_of("integer", "text[]", "0"),
    "regproc": one_of("pg_sleep", "0"),
    "regprocedure": one_of("abs(integer)", "0"),
    "regoper": one_of("||/", "0"),
    "regoperator": one_of("+(integer,integer)", "0"),
    "regrole": one_of("postgres", "0"),
    "regnamespace": one_of("public", "0"),
    "regcollation": one_of('"C"', "0"),
    "regconfig": one_of("english", "simple"),
    "regdictionary": one_of("simple", "0"),
}

# Types that refuse input from users: no column can hold a value of them.
WITHOUT_INPUT = {
    "gtsvector",
    "pg_brin_bloom_summary",
    "pg_brin_minmax_multi_summary",
    "pg_dependencies",
    "pg_mcv_list",
    "pg_ndistinct",
    "pg_node_tree",
}


def sql_name(name):
    """`char` and `bit` are keywords for other types (or lengths) when not quoted."""
    return f'pg_catalog."{name}"'


def literal(rng, name):
    return f"{quote(GENERATORS[name](rng))}::{sql_name(name)}"


def array_literal(rng, name):
    kind = sql_name(name) + "[]"
    shape = rng.random()
    if shape < 0.1:
        return f"'{{}}'::{kind}"
    elements = [
        rng.choice(["null", literal(rng, name), literal(rng, name)]) for _ in range(rng.randint(1, 4))
    ]
    if shape < 0.2:
        return f"array[[{','.join(elements)}],[{','.join(elements)}]]::{kind}"
    return f"array[{','.join(elements)}]::{kind}"
