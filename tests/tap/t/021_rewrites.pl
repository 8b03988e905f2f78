# SPDX-License-Identifier: PostgreSQL
# Tables that ALTER TABLE writes anew: what Varve has at each moment is what PostgreSQL held. Not a cheaper
# tier: only the server knows what its rewrites write, and where that stands among its changes.
use strict;
use warnings;

use Test::More;
use VarveTest;

my $varve = VarveTest->new(conf => <<'CONF');
max_prepared_transactions = 10
logical_decoding_work_mem = '64kB'
CONF
$varve->sql(<<'SQL');
create table t (id int primary key, a int, big text);
alter table t alter big set storage external;
insert into t select g, g, repeat(chr(64 + g), 3000) from generate_series(1, 20) g;
create table pairs (k text, n int, v numeric, primary key (n, k));
alter table pairs replica identity full;
insert into pairs select 'k' || g, g % 3, g from generate_series(1, 20) g;
create publication varve for table t, pairs;
SQL
$varve->start;

my @moments;    # [what, lsn, {table: rows}]

sub step
{
	my ($what, $sql) = @_;
	$varve->sql($sql) if defined $sql;
	push @moments, [ $what, $varve->lsn, { map { $_ => $varve->live_rows($_) } 't', 'pairs' } ];
	return;
}

sub check_moments
{
	my ($when) = @_;
	for my $moment (@moments)
	{
		my ($what, $lsn, $tables) = @$moment;
		$varve->same_rows($_, "lsn:$lsn", $tables->{$_}, "$_: $what, $when") for sort keys %$tables;
	}
	return;
}

step('as copied');
step('rows that changed before', 'update t set a = 100 where id = 1; delete from t where id = 2');
step('another type, other values', "alter table t alter a type text using a || '!'");
step('rows that change after it',
	"update t set a = 'own' where id = 3; insert into t values (30, 'new', 'big')");
step('a volatile default', 'alter table t add at timestamptz default clock_timestamp()');
step('a large value that stays', "update t set a = 'kept' where id = 4");
step('a stored generated column', "alter table t add twice text generated always as (a || a) stored");
step('a constant default', 'alter table t add c int default 7');
step('and a rewrite that writes it',
	"alter table t alter c type bigint; update t set c = 8 where id = 5");
step('a wider key', 'alter table t alter id type bigint; update t set id = 1::bigint << 40 where id = 7');
step('values that stay',
	'alter table pairs alter v type numeric using case when n = 1 then v * 2 else v end');
step('changes around rewrites of one transaction', <<'SQL');
begin;
update pairs set v = -1 where n = 0 and k = 'k3';
insert into pairs values ('x', 9, 9);
alter table pairs alter v type text using v || '.';
update pairs set k = 'y' where k = 'x';
savepoint s;
alter table pairs alter v type text using 'lost';
delete from pairs;
rollback to s;
alter table pairs add r float8 default random();
delete from pairs where n = 2 and k = 'k2';
insert into pairs values ('z', 9, 'nine', 0.5);
alter table pairs rename v to w;
commit;
SQL
step('in a transaction that is streamed, with one that rolls back', <<'SQL');
begin;
insert into t (id, a, big) select g, g, repeat('s', 3000) from generate_series(100, 160) g;
savepoint s;
alter table t alter big type text using big || ' lost', add l float8 default random();
delete from t where id > 120;
rollback to s;
alter table t add s float8 default random();
update t set a = 'after' where id between 110 and 120;
commit;
delete from t where id > 110;
SQL
$varve->sql(<<'SQL');
begin;
update pairs set w = w || ' of it' where n = 1;
alter table pairs alter w type varchar using upper(w);
insert into pairs (k, n, w) values ('prepared', 1, 'x');
prepare transaction 'rewrite';
SQL
$varve->catch_up;
is($varve->get_json('/v1/status')->{prepared}[0]{gid}, 'rewrite', 'a prepared rewrite waits');
$varve->kill_varved;
$varve->start;
step('as prepared, over a restart', "commit prepared 'rewrite'");
step('what copies the heap as it is',
	'vacuum full t; cluster t using t_pkey; cluster pairs using pairs_pkey');
step('several changes at once',
	"alter table t alter c type text using 'c' || c, add u uuid default gen_random_uuid()");
step('nothing is there to be written',
	'truncate t; alter table t alter c drop default, alter c type int using 0');
step('and rows after that', "insert into t (id, c) values (1, 5)");
$varve->catch_up;

check_moments('as it came');
$varve->kill_varved;
$varve->start;
check_moments('after a restart');

# --- What the differences say.
my %at = map { $_->[0] => $_->[1] } @moments;
my $between = sub {
	my ($table, $from, $to) = @_;
	return $varve->items("/v1/diff?table=$table&from=lsn:$at{$from}&to=lsn:$at{$to}");
};
my $wider = $between->('t', 'a constant default', 'and a rewrite that writes it');
my ($update) = grep { $_->{op} ne 'schema' } @$wider;
is_deeply(
	[ $update->{key}, $update->{op}, $update->{changed}, $update->{before}{c}, $update->{after}{c} ],
	[ 5, 'update', ['c'], 7, 8 ],
	'where a column became wider the only difference is the row that was updated');
is(scalar(grep { $_->{op} ne 'schema' } @$wider), 1, 'and no other');
my $ones = grep { /"n": 1[,}]/ } @{ $moments[0][2]{pairs} };
is(scalar @{ $between->('pairs', 'and a rewrite that writes it', 'values that stay') },
	$ones, 'rows that a rewrite left as they were are no difference');
is(scalar @{ $between->($_, 'as prepared, over a restart', 'what copies the heap as it is') },
	0, "VACUUM FULL and CLUSTER are none of $_")
  for 't', 'pairs';
is_deeply(
	[
		map { join ' ', $_->{op}, @{ $_->{changed} // [] } } @{ $varve->items('/v1/tables/t/rows/6/history') }
	],
	[
		'base', 'update a', 'update at', 'update twice', 'update', 'update', 'update s', 'update c u',
		'truncate'
	],
	'the history of a row goes through its rewrites, with what each of them changed');
ok($varve->is_running, 'varved runs on');

$varve->stop_varved;
done_testing;
