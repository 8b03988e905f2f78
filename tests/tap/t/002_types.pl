# SPDX-License-Identifier: PostgreSQL
# Every built-in type, and some that users make: the row image of the first copy is the row image of the
# stream, and its JSON is to_jsonb's text. Not a cheaper tier: COPY and the plugin must give the same bytes
# in one server.
use strict;
use warnings;

use Test::More;
use VarveTest;

my $varve = VarveTest->new(conf => "bytea_output = escape\nIntervalStyle = iso_8601\nDateStyle = 'SQL, DMY'\n"
	  . "extra_float_digits = -5\nquote_all_identifiers = on\nxmlbinary = hex\n");
$varve->sql(<<'SQL');
create extension hstore;
create extension citext;
create extension ltree;
create schema other;
create type mood as enum ('sad', 'so so', 'happy');
create type pair as (a int, "b c" text);
create type nested as (p pair, ps pair[], m mood);
create domain positive as int check (value > 0);
create domain other.words as text[];
create domain tags as hstore;
create type int2range_like as range (subtype = int2);
SQL

# Each line: type | input. The rows of one type form one table.
my (@types, %inputs);
while (my $line = <DATA>)
{
	chomp $line;
	next if $line eq '' || $line =~ /^#/;
	my ($type, $input) = split / \| /, $line, 2;
	push @types, $type if !exists $inputs{$type};
	push @{ $inputs{$type} }, $input;
}

my %table;
my ($refused, $sql) = (0, '');
for my $type (@types)
{
	my $table = $table{$type} = sprintf 't%03d', scalar keys %table;
	$varve->sql("create table $table (id int primary key, v $type)");
	my $id = 1;
	for my $input (@{ $inputs{$type} })
	{
		# What this server's version does not know (infinite intervals before 17) is left out.
		my $quoted = $input =~ s/'/''/gr;
		my ($status) = $varve->node->psql('postgres', "insert into $table values ($id,
			E'" . $quoted =~ s/\\/\\\\/gr . "')");
		$status == 0 ? $id++ : $refused++;
	}
	$varve->sql("insert into $table values (0, null)");
}
cmp_ok($refused, '<=', 2, 'PostgreSQL knows the corpus');
$varve->sql('create publication varve for table ' . join(', ', sort values %table));
$varve->start;

# The same rows through the stream.
$varve->sql("update $_ set v = v") for sort values %table;
$varve->catch_up;

for my $type (@types)
{
	my $table = $table{$type};
	my $live = $varve->live_rows($table, 'id');
	is_deeply($varve->scan($table, 'first'), $live, "$type: the JSON of the first copy");
	is_deeply($varve->scan($table, 'now'), $live, "$type: the JSON of the stream");
	my (@copied, @streamed);
	for my $id (0 .. $#$live)
	{
		push @copied, $varve->get_json("/v1/tables/$table/rows/$id?format=image&as_of=first")->{image};
		push @streamed, $varve->get_json("/v1/tables/$table/rows/$id?format=image&as_of=now")->{image};
	}
	is_deeply(\@streamed, \@copied, "$type: the images are the same bytes");
	my $changes = $varve->items("/v1/diff?table=$table&from=first&to=now");
	is_deeply($changes, [], "$type: an update that changes nothing makes no difference");
}

$varve->stop_varved;
done_testing;

__DATA__
bool | t
bool | f
int2 | -32768
int2 | 32767
int4 | -2147483648
int4 | 0
int8 | 9223372036854775807
int8 | -9223372036854775808
oid | 4294967295
xid | 4294967290
xid8 | 18446744073709551615
cid | 7
float4 | 1.1
float4 | NaN
float4 | -0
float4 | 1e-45
float4 | 3.4028235e38
float8 | 0.1
float8 | NaN
float8 | Infinity
float8 | -Infinity
float8 | -0
float8 | 1e21
float8 | 5e-324
float8 | 123456789012345680
numeric | NaN
numeric | Infinity
numeric | -Infinity
numeric | 0
numeric | -0.00
numeric | 12345678901234567890.0100
numeric | 1e-20
numeric | 1e400
numeric | -0.000000000000000000000000000000000000000000000000012
numeric(10,2) | 1.5
numeric(1000,500) | -12345678901234567890.5
numeric(3,-2) | 12345
money | -12.34
money | 92233720368547758.07
text | 
text | plain
text | quote " backslash \ slash / tab	and ünïcode ✓ 𝄞
varchar(20) | shorter
char(5) | ab
char(5) | 
"char" | q
"char" | 
name | nm
bytea | \x
bytea | \x00ff5c27
uuid | a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11
date | infinity
date | -infinity
date | 4713-01-01 BC
date | 2000-01-01
date | 5874897-12-31
time | 00:00:00
time | 24:00:00
time | 23:59:59.999999
time(0) | 12:30:00.6
timetz | 12:00:00+05:30
timetz | 00:00:00.5-15:59:59
timestamp | infinity
timestamp | -infinity
timestamp | 4713-01-01 00:00:00 BC
timestamp | 0001-01-01
timestamp | 1900-01-01 00:00:00.000001
timestamp | 294276-12-31 23:59:59.999999
timestamptz | infinity
timestamptz | 2024-07-01 12:00:00.123456+05:30
timestamptz | 0044-03-15 12:00:00+00 BC
timestamptz(3) | 2024-07-01 12:00:00.1239
interval | 1 year 2 mons -3 days 04:05:06.789
interval | -1 mons
interval | 00:00:00
interval | -00:00:00.000001
interval | infinity
interval | -infinity
interval day to second(2) | 3 days 04:05:06.789
bit(5) | 10101
bit varying | 1
varbit(70) | 1111111111111111111111111111111111111111111111111111111111111111101
inet | 10.0.0.1/8
inet | ::1
inet | ::ffff:1.2.3.4
cidr | 10.0.0.0/8
macaddr | 08:00:2b:01:02:03
macaddr8 | 08:00:2b:01:02:03:04:05
point | (1.5,-2)
point | (NaN,1e300)
box | ((0,0),(1,1))
circle | <(0,0),5>
path | [(0,0),(1,1)]
path | ((0,0),(1,1))
lseg | [(0,0),(1,1)]
line | {1,-1,0}
polygon | ((0,0),(1,1),(2,0))
int4range | [1,5]
int4range | empty
int4range | (,5)
int8range | [-9223372036854775808,9223372036854775807)
numrange | [1.0,2.5)
daterange | [2024-01-01,infinity]
tsrange | [2024-01-01,2024-01-02)
tstzrange | [2024-01-01 00:00+00,)
int2range_like | [1,5]
int4multirange | {[1,3),[7,9)}
int4multirange | {}
tstzmultirange | {[2024-01-01,2024-01-02),[2025-01-01,)}
int4[] | {1,NULL,3}
int4[] | [2:3]={7,8}
int4[] | {}
int4[] | {{{1},{2}},{{3},{4}}}
int2vector | 1 2 3
oidvector | 4294967295 1
text[] | {{a,"b c"},{NULL,"NULL"}}
text[] | {"","a\"b","c\\d","{x}"}
varchar(3)[] | {abc,""}
bool[] | {t,f,NULL}
numeric[] | {1.50,NaN,-0.0}
float8[] | {1e21,-0,Infinity}
timestamptz[] | {"2024-07-01 12:00:00.5+02",infinity}
date[] | {2024-07-01,-infinity}
uuid[] | {a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}
bytea[] | {"\\x00ff",""}
jsonb[] | {"{\"a\": 1.0}","null"}
json[] | {"{ \"a\" :1}"}
interval[] | {"1 day","-00:00:01"}
inet[] | {10.0.0.1/8,NULL}
point[] | {"(1,2)","(3,4)"}
box[] | {(1,1),(0,0);(2,2),(1,1)}
int4range[] | {"[1,5)",empty}
"char"[] | {a,b}
name[] | {nm,"x y"}
char(3)[] | {ab,"  c"}
time[] | {24:00:00,01:02:03.4}
money[] | {-12.34,"$1,000.00"}
json | { "a" :1, "a":2}
json | [1.0, 1e2, "\u00e9\ud834\udd1e", null, {}]
json | "scalar"
json | null
jsonb | {"a":1, "a":2, "n":1.00, "longer key":[{"x":null}]}
jsonb | null
jsonb | "FIRST"
jsonb | 1e400
jsonb | "\u0001 \" \\ / \b \f \n \r \t é 𝄞"
jsonpath | $."a"[*] ? (@ > 1)
xml | <a b="1">text &amp; <!-- c --></a>
xml | just text
pg_lsn | 16/B374D848
pg_snapshot | 10:20:10,14,15
txid_snapshot | 10:20:10,14,15
tid | (42,7)
tsvector | a:1A fat:2B,4C
tsvector | 'it''s' 'a\\b'
tsquery | fat & (rat | !cat)
regclass | pg_class
regclass | public.t001
regtype | int4[]
regproc | pg_catalog.now
regprocedure | abs(integer)
regoper | pg_catalog.||/
regoperator | +(integer,integer)
regrole | pg_monitor
regnamespace | other
regcollation | "C"
regconfig | english
regdictionary | english_stem
hstore | a=>1, b=>NULL, "c d"=>"e\"f"
hstore | 
tags | a=>1,b=>NULL
citext | MiXed
ltree | Top.Science
mood | so so
mood[] | {sad,"so so",NULL}
pair | (1,"a""b,c")
pair | (,)
pair[] | {"(1,x)","(2,\"y z\")"}
nested | ("(1,x)","{""(2,\\""y z\\"")""}",happy)
positive | 7
positive[] | {1,2}
other.words | {a,"b c"}
