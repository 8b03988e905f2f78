# SPDX-License-Identifier: PostgreSQL
# A disk that stands still for longer than wal_sender_timeout, and one that is full: the stream survives
# the first,
# varved comes back from the second by itself, and nothing is lost or comes twice. Not a cheaper tier: it
# is about
# the walsender's patience, a full queue and a store that is opened again, all at once.
use strict;
use warnings;

use Test::More;
use Time::HiRes qw(time usleep);
use VarveTest;

plan skip_all => 'a sanitized varved does not take a preloaded library' if !$ENV{VARVE_FAULT_FSYNC};

my $varve = VarveTest->new(conf => "wal_sender_timeout = 4s\n");
$varve->sql(<<'SQL');
create table t (id int primary key, v int);
create table big (id int primary key, v text);
alter table big alter v set storage external;
create publication varve for table t, big;
insert into t select g, 0 from generate_series(1, 100) g;
SQL
my ($stall, $full) = ("$varve->{dir}/stall", "$varve->{dir}/full");
$varve->start(
	LD_PRELOAD => $ENV{VARVE_FAULT_FSYNC},
	VARVE_TEST_STALL => $stall,
	VARVE_TEST_FULL => $full);

sub touch { my ($path) = @_; open(my $file, '>', $path) or die "$path: $!"; close $file; return }
sub sessions { return $varve->get_json('/v1/status')->{sessions} }

# --- It stands still, with more to come than the queue holds.
$varve->wait_for('the first session', sub { sessions() == 1 });
my $before = sessions();
touch($stall);
$varve->sql("update t set v = 1 where id = 1");
$varve->sql("insert into big select g, repeat('x', 100000) from generate_series($_ * 1000, $_ * 1000 + 399)
	g")
  for 1 .. 3;
my $until = time + 10;
while (time < $until)
{
	$varve->sql('update t set v = v + 1 where id = 2');
	usleep(500_000);
}
is_deeply([ grep { /"id": 1[,}]/ } @{ $varve->scan('t', 'now') } ], ['{"v": 0, "id": 1}'],
	'what is not on disk is not shown');
my ($lsn, $rows, $big) = ($varve->lsn, $varve->live_rows('t'), $varve->sql('select count(*) from big'));
is($varve->sql("select active from pg_replication_slots where slot_name = 'varve'"), 't',
	'the walsender is there after 10 s on a disk that stands still, under wal_sender_timeout = 4s');
unlink $stall;
$varve->catch_up;
is(sessions(), $before, 'it was one session all the time');
$varve->same_rows('t', "lsn:$lsn", $rows, 'all of it is there when the disk goes on');
is(scalar @{ $varve->scan('big', "lsn:$lsn") }, $big, 'the big rows too');

# --- It is full.
my $offset = $varve->log_size;
touch($full);
$varve->sql('update t set v = 100 where id = 3');
$varve->wait_for_log(qr/full|space/i, $offset);
my $confirmed = $varve->sql("select confirmed_flush_lsn from pg_replication_slots where slot_name = 'varve'");
$varve->sql('update t set v = 101 where id = 3');
($lsn, $rows) = ($varve->lsn, $varve->live_rows('t'));
usleep(1_000_000);
is($varve->sql("select confirmed_flush_lsn <= '$confirmed' from pg_replication_slots"), 't',
	'nothing is confirmed that is not on disk');
ok($varve->is_running, 'varved runs on');
unlink $full;
$varve->wait_for('it goes on when there is room', sub {
	my $answer = $varve->http('GET', "/v1/tables/t/rows/3?as_of=now&wait=1");
	return $answer && $answer->{status} == 200 && $answer->{body} =~ /"v": 101/;
});
$varve->same_rows('t', "lsn:$lsn", $rows, 'nothing is lost');
my %seen;
$seen{ $_->{xid} }++ for @{ $varve->items('/v1/transactions') };
is(scalar(grep { $_ > 1 } values %seen), 0, 'and nothing comes twice');

$varve->stop_varved;
done_testing;
