# SPDX-License-Identifier: PostgreSQL
# transport=zmq: what a walsender does when its reader is fast, slow, gone or refused.
# Not a cheaper tier: it is about processes, sockets and the server's end.
use strict;
use warnings;

use File::Temp;
use IPC::Run;
use Test::More;
use Time::HiRes qw(time usleep);
use VarveTest;

my $directory = File::Temp->newdir(DIR => '/tmp');
my $socket = "$directory/s";
my $varve =
  VarveTest->new(conf => "varve.ingest_endpoint = 'ipc://$socket'\nwal_sender_timeout = 60s\n");
my $node = $varve->node;
my $dsn = $node->connstr('postgres');
my $session = '0' x 31 . '1';
my $options = "(publication_names 'zmq', transport 'zmq', session '$session')";
$varve->sql(<<'SQL');
create table item (id int primary key, v text);
create publication zmq for table item;
select pg_create_logical_replication_slot('zmq', 'varve');
insert into item select g, 'v' from generate_series(1, 1000) g;
SQL

sub walsender
{
	return $varve->sql("select active_pid from pg_replication_slots where slot_name = 'zmq' and active");
}

# A replication connection that starts the slot and then asks something else.
sub start_replication
{
	return $node->psql(
		'postgres', "START_REPLICATION SLOT zmq LOGICAL 0/0 $options;",
		replication => 'database', on_error_stop => 0);
}

sub start_sink
{
	my $sink = { out => '', err => '' };
	$sink->{run} = IPC::Run::start([ 'zmq_sink', $dsn, 'zmq', 'zmq', $socket, $_[0] ],
		'>', \$sink->{out}, '2>', \$sink->{err});
	return $sink;
}

# What the reader counted up to the position; it confirms nothing.
sub changes
{
	my $sink = start_sink($varve->lsn);
	IPC::Run::finish($sink->{run});
	return $sink->{out} =~ /"changes": (\d+)/ ? $1 : "nothing: $sink->{err}";
}

# All that was committed: the reader confirms nothing.
my $expected = 1000 + 50 * 51 / 2;

# As the server's log has it: what pg_ctl and a busy machine add is not the server's.
sub shutdown_seconds
{
	my $log = PostgreSQL::Test::Utils::slurp_file($node->logfile);
	my ($asked) = $log =~ /.*^\S+ (\S+) \S+ \[\d+\] LOG:  received fast shutdown request/ms;
	my ($ended) = $log =~ /.*^\S+ (\S+) \S+ \[\d+\] LOG:  database system is shut down/ms;
	return seconds($ended) - seconds($asked);
}
sub seconds { my @part = split /:/, $_[0]; return ($part[0] * 60 + $part[1]) * 60 + $part[2] }

# A reader that stops, and a walsender that waits for it.
sub full_queue
{
	my $sink = start_sink('FFFFFFFF/0');
	$varve->wait_for('the walsender', sub { walsender() ne '' });
	$varve->wait_for('its connection', sub { $sink->{run}->pump_nb; -S $socket });
	usleep(300_000);
	IPC::Run::signal($sink->{run}, 'STOP');
	$varve->sql("update item set v = repeat('v', 100)") for 1 .. 8;
	$varve->sql("insert into item select g, repeat('v', 500) from generate_series(100000, 115000) g");
	$expected += 8 * 1000 + 15001;
	my $pid = walsender();
	$varve->wait_for('a full queue', sub {
		return $varve->sql("select wait_event from pg_stat_activity where pid = $pid") eq 'Extension';
	});
	return ($sink, $pid);
}

# --- Nobody there, or nobody who may be reached.
my ($status, $out, $err) = start_replication();
like($err, qr/could not connect to varve\.ingest_endpoint "\Q$socket\E": No such file or directory/,
	'no socket is said at once');
like($err, qr/HINT:\s+Start varved before/, 'with what to do');

# --- All arrives, once.
is(changes(), 1000, 'every change');
$varve->sql("begin; update item set v = 'w' where id <= $_; commit") for 1 .. 50;
is(changes(), 1000 + 50 * 51 / 2, 'and again with small transactions behind it');
is( $varve->sql(<<'SQL'),
select count(*) from pg_logical_slot_peek_changes('zmq', null, null, 'publication_names', 'zmq',
  'format', 'json') where data::jsonb->>'kind' in ('insert', 'update')
SQL
	1000 + 50 * 51 / 2, 'as many as the stream has');

# --- The reader stops: the walsender waits, and ends when it is told to.
my ($sink, $pid) = full_queue();
my $started = time;
$varve->sql("select pg_terminate_backend($pid)");
$varve->wait_for('its end', sub { walsender() eq '' });
cmp_ok(time - $started, '<', 2, 'pg_terminate_backend ends a walsender with a full queue');
IPC::Run::kill_kill($sink->{run});
is(changes(), $expected, 'nothing is lost by it');

# --- The server stops.
$varve->sql('delete from item where id >= 100000');
$expected += 15001;
($sink, $pid) = full_queue();
$node->stop('fast');
like(PostgreSQL::Test::Utils::slurp_file($node->logfile),
	qr/FATAL:  the server is shutting down and the reader of transport "zmq" takes no changes/,
	'the walsender leaves');
cmp_ok(shutdown_seconds(), '<', 2, 'a fast shutdown does not wait for the reader');
IPC::Run::kill_kill($sink->{run});
$node->start;

# --- The reader is killed: the walsender goes with its connection, and the next reader gets all.
$sink = start_sink('FFFFFFFF/0');
$varve->wait_for('the walsender', sub { walsender() ne '' });
IPC::Run::kill_kill($sink->{run}, grace => 0);
$varve->sql("update item set v = 'x'");
$varve->wait_for('its end', sub { walsender() eq '' });
$expected += 16001;
is(changes(), $expected, 'the next reader gets all');

my $log = PostgreSQL::Test::Utils::slurp_file($node->logfile);
unlike($log, qr/terminated by signal|PANIC/, 'no process of the server has crashed');
done_testing;
