# SPDX-License-Identifier: PostgreSQL
# varved, its walsender and the server end at bad moments; nothing is lost, nothing comes twice. Not a
# cheaper tier: it is about processes that die. tests/crash has the long form with random moments.
use strict;
use warnings;

use Test::More;
use Time::HiRes qw(usleep);
use VarveTest;

my $varve = VarveTest->new(conf => "wal_sender_timeout = 5s\n");
$varve->sql(<<'SQL');
create table t (id int primary key, n int not null, filler text);
insert into t select g, 0, repeat('x', 200) from generate_series(1, 500) g;
create table marks (mark int primary key, total bigint);
create publication varve for table t, marks;
SQL
$varve->start;

# Each transaction moves n between rows and writes down its number: at every moment sum(n) = 0, and the
# marks are 1..k.
sub work
{
	my ($from, $to) = @_;
	$varve->sql(join ";\n", map {
		my ($a, $b) = (1 + $_ * 7 % 500, 1 + $_ * 13 % 500);
		"begin; update t set n = n - $_ where id = $a; update t set n = n + $_ where id = $b;
			insert into marks select $_, sum(n) from t; commit"
	} $from .. $to);
	return;
}

my @moments;

sub keep { push @moments, [ $varve->lsn, $varve->live_rows('t'), $varve->live_rows('marks') ]; return }

sub check
{
	my ($what) = @_;
	for my $moment (@moments)
	{
		my ($lsn, $t, $marks) = @$moment;
		$varve->same_rows('t', "lsn:$lsn", $t, "$what: t at $lsn");
		$varve->same_rows('marks', "lsn:$lsn", $marks, "$what: marks at $lsn");
	}
	return;
}

my $next = 1;

sub more { work($next, $next + 39); $next += 40; keep(); return }

more();
for my $round (1 .. 3)
{
	work($next, $next + 19);
	$next += 20;
	usleep(20_000 * $round);
	$varve->kill_varved;
	more();
	$varve->start;
}
check('after kill -9 of varved');

$varve->sql('select pg_terminate_backend(active_pid) from pg_replication_slots');
more();
check('after its walsender was terminated');

$varve->node->restart;
more();
check('after a fast restart of the server');

$varve->node->stop('immediate');
$varve->node->start;
more();
check('after an immediate stop of the server');
ok($varve->is_running, 'varved ran all the time');
is($varve->{starts}, 4, 'and was not started again');

$varve->stop_varved;
more();
$varve->node->restart;
$varve->start;
check('after both were stopped');

# A change is in the log once: as many transactions as marks, each with its number.
my $log = $varve->items('/v1/transactions?limit=100000');
is(scalar @$log, $next - 1, 'as many transactions as were committed');
my %xids = map { $_->{xid} => 1 } @$log;
is(scalar keys %xids, $next - 1, 'each once');
is($varve->sql('select sum(n) from t'), 0, 'the work was what it should be');

# A stopped varved does not hold up the server: it stops fast, and varved goes on when it runs again.
kill 'STOP', $varve->{pid};
work($next, $next + 9);
$next += 10;
keep();
kill 'CONT', $varve->{pid};
check('after varved stood still');

# Another system's database is refused, not mixed in.
my $other = VarveTest->new(name => 'other');
$other->sql('create table t (id int primary key, n int); create publication varve for table t');
$varve->stop_varved;
$other->{dir} = $varve->{dir};
$other->write_config;
$other->start_varved;
$other->wait_for_log(qr/system identifier/);
like($other->get_json('/v1/status')->{last_error}, qr/system identifier/,
	"another system's database is refused");
is(scalar @{ $other->scan('t', 'now') }, 500, 'and the history that is there is not touched');
$other->stop_varved('KILL');

done_testing;
