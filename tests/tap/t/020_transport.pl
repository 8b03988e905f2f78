# SPDX-License-Identifier: PostgreSQL
# Changes over ZeroMQ to varved: all of them, also where processes die, where the socket is lost or crowded,
# and back to the replication connection where it fails. Not a cheaper tier: it is about three processes.
use strict;
use warnings;

use IO::Socket::UNIX;
use Test::More;
use Time::HiRes qw(time usleep);
use VarveTest;

plan skip_all => 'a sanitized varved does not take a preloaded library' if !$ENV{VARVE_FAULT_BUS};

delete local $ENV{VARVE_TEST_TRANSPORT};
my $varve = VarveTest->new(conf => "wal_sender_timeout = 5s\nlogical_decoding_work_mem = 64kB\n" .
	  "restart_after_crash = on\n");
my $socket = "$varve->{dir}/ingest.sock";
my ($lose, $hide) = ("$varve->{dir}/lose", "$varve->{dir}/hide");
my @preload =
  (LD_PRELOAD => $ENV{VARVE_FAULT_BUS}, VARVE_TEST_LOSE => $lose, VARVE_TEST_HIDE => $hide);
$varve->sql(<<'SQL');
create table t (id int primary key, n int not null, filler text);
create table untracked (id int);
insert into t select g, 0, repeat('x', 200) from generate_series(1, 500) g;
create publication varve for table t;
SQL
$varve->start(@preload);

sub status { return $varve->get_json('/v1/status') }
sub touch { my ($path) = @_; open(my $file, '>', $path) or die "$path: $!"; close $file; return }

# A new session, of this transport.
sub wait_for_session
{
	my ($sessions, $transport) = @_;
	my $started = time;
	$varve->wait_for("a session over $transport", sub {
		my $status = status();
		return $status->{sessions} > $sessions && $status->{phase} eq 'streaming' && $status->{transport}
		  eq $transport;
	});
	return time - $started;
}

# Small transactions, a large one that is streamed before it commits, one that rolls back.
my $next = 0;

sub work
{
	$varve->sql(join ";\n",
		map { $next++; "update t set n = n + 1 where id = 1 + $next * 7 % 500" } 1 .. 50);
	$varve->sql("begin; update t set n = n + 1;
		savepoint s; delete from t where id < 400; rollback to s;
		insert into t select g, 0, repeat('y', 500) from generate_series(1000 + $next, 1020 + $next) g;
		commit;
		begin; delete from t; rollback");
	return;
}

my @moments;

sub keep { push @moments, [ $varve->lsn, $varve->live_rows('t') ]; return }

sub check
{
	my ($what) = @_;
	keep();
	$varve->same_rows('t', "lsn:$_->[0]", $_->[1], "$what: t at $_->[0]") for @moments;
	@moments = ();
	return;
}

# --- Over the bus, since the server sends to it.
# Ready is what has its first copy, which may be before its first session streams.
wait_for_session(0, 'zmq');
my $status = status();
is($status->{transport}, 'zmq', 'auto takes the bus where server and varved share the machine');
is($status->{endpoint}, "ipc://$socket", 'at the endpoint beside the HTTP socket');
is($status->{transport_reason}, undef, 'there is nothing to explain');
is(sprintf('%04o', (stat $socket)[2] & 07777), '0660', 'the socket is for the group of its directory');
for (1 .. 3) { work(); keep() }
check('over the bus');
$status = status();
cmp_ok($status->{batches_received}, '>', 0, 'batches came');
is($status->{sessions}, 1, 'in one session');
like($varve->varve_ok('status'), qr{^transport +zmq at ipc://\Q$socket\E; \d+ batches received$}m,
	'varve status says so');

# Positions without a batch move on: what is not published holds back no WAL.
$varve->sql('insert into untracked values (1)');
my $lsn = $varve->lsn;
$varve->varve_ok('wait', "lsn:$lsn", '--timeout', '20');
pass('a position without changes is reached');

# --- A stranger at the socket, and one that says nothing.
my $silent = IO::Socket::UNIX->new(Type => SOCK_STREAM, Peer => $socket) or die "$socket: $!";
my $stranger = IO::Socket::UNIX->new(Type => SOCK_STREAM, Peer => $socket) or die "$socket: $!";
$stranger->syswrite("\x05\x00junk" x 50);
$varve->wait_for('junk to be dropped', sub { status()->{messages_dropped} > 0 });
work();
check('beside strangers');
is(status()->{sessions}, 1, 'they end no session');
close $_ for $stranger, $silent;

# --- The file of the socket is removed: this session goes on, the next one makes it again.
unlink $socket or die "$socket: $!";
work();
check('without the file');
$varve->sql('select pg_terminate_backend(active_pid) from pg_replication_slots');
work();
wait_for_session(1, 'zmq');
check('after the walsender was terminated');
ok(-S $socket, 'the socket is there again');

# --- Processes that die.
for my $round (1 .. 2)
{
	work();
	usleep(20_000 * $round);
	$varve->kill_varved;
	ok(-S $socket, 'the dead leave the file behind');
	work();
	$varve->start(@preload);
}
check('after kill -9 of varved');
my $sessions = status()->{sessions};
kill 'KILL', $varve->sql('select active_pid from pg_replication_slots');
$varve->wait_for('the server to come back', sub {
	return eval { $varve->node->psql('postgres', 'select true') == 0 };
});
work();
wait_for_session($sessions, 'zmq');
check('after kill -9 of the walsender');
$sessions = status()->{sessions};
$varve->node->restart;
work();
wait_for_session($sessions, 'zmq');
check('after a restart of the server');
$varve->node->stop('immediate');
$varve->node->start;
work();
check('after a crash of the server');

# --- A batch is lost on its way, and nothing comes after it.
$varve->catch_up;
$sessions = status()->{sessions};
touch($lose);
work();
my $took = wait_for_session($sessions, 'stream');
cmp_ok($took, '<', 8, 'an announced batch that does not come ends the session');
unlink $lose;
like(status()->{transport_reason},
	qr/^batch \d+ was announced and has not come over the bus within 5 s \(ipc:/,
	'the reason is shown');
check('after batches were lost');
like($varve->log_text, qr/warning: .*batch \d+ was announced .*; the next session takes changes over the/,
	'and in the log, with what is done about it');

# --- The next session tries the bus again. There the server does not find the socket.
$sessions = status()->{sessions};
touch($hide);
$varve->sql('select pg_terminate_backend(active_pid) from pg_replication_slots');
work();
wait_for_session($sessions, 'stream');
like(status()->{transport_reason}, qr/could not connect to varve\.ingest_endpoint/, 'the server says why');
check('where the server does not find the socket');
unlink $hide;

# --- The server is told to send elsewhere, then here again.
$sessions = status()->{sessions};
$varve->sql("load 'varve'; alter system set varve.ingest_endpoint = 'ipc:///elsewhere';
	select pg_reload_conf()");
$varve->sql('select pg_terminate_backend(active_pid) from pg_replication_slots');
work();
wait_for_session($sessions, 'stream');
like(status()->{transport_reason}, qr{leads to ipc:///elsewhere}, 'another endpoint is none of ours');
check('where the server sends elsewhere');
$varve->stop_varved;
local $ENV{VARVE_TEST_TRANSPORT} = 'zmq';
$varve->write_config;
$varve->start_varved;
$varve->wait_for_log(qr/transport zmq cannot be used: .*remedy: in postgresql.conf/);
$varve->sql("load 'varve'; alter system reset varve.ingest_endpoint; select pg_reload_conf()");
work();
$varve->stop_varved;
$varve->start;
wait_for_session(0, 'zmq');
check('and goes on when it can');
$varve->stop_varved;
ok(!-e $socket, 'a varved that ends cleanly leaves no socket behind');

my $log = PostgreSQL::Test::Utils::slurp_file($varve->node->logfile);
unlike($log, qr/PANIC/, 'no panic in the server');
done_testing;
