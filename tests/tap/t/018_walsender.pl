# SPDX-License-Identifier: PostgreSQL
# A walsender with the plugin: large rows on their way to varved, rows that are too large, a client that does
# not read. Not a cheaper tier: it is about the connection, the server's shutdown and its log.
use strict;
use warnings;

use Digest::MD5 ();
use IPC::Run    ();
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes ();
use VarveTest;

my $varve = VarveTest->new(conf => "wal_sender_timeout = 5s\n");
my $node = $varve->node;
$varve->sql(<<'SQL');
create table big (id int primary key, content bytea);
alter table big alter content set storage external;
create table huge (id int primary key, bits varbit);
alter table huge alter bits set compression lz4;
create table beside (id int primary key, v text);
insert into huge values (1, '1');
create publication varve for table big, huge, beside;
SQL
$varve->start;
sub catch_up { return $varve->varve_ok('wait', '--timeout', 100) }

# --- 64 MiB in one row.
$varve->sql("insert into big values (1, convert_to(repeat('0123456789abcdef', 4 * 1024 * 1024), 'UTF8'))");
my $before = $varve->lsn;
catch_up();
my $row = $varve->http('GET', '/v1/tables/big/rows/1');
my ($digits) = $row->{body} =~ /"content":\s*"\\\\x([0-9a-f]*)"/;
is(length($digits // ''), 128 * 1024 * 1024, 'a value of 64 MiB arrives');
is(Digest::MD5::md5_hex($digits // ''), $varve->sql("select md5(encode(content, 'hex')) from big"),
	'as it is in the server');
unlike(slurp_file($node->logfile), qr/WARNING|ERROR|FATAL/, 'the server had nothing to complain of');

# --- What replication has brought in.
$varve->sql("select pg_replication_origin_create('elsewhere')");
$varve->sql("select pg_replication_origin_session_setup('elsewhere'); begin;
	select pg_replication_origin_xact_setup('1A/2B3C4D5E', '2020-01-01 00:00:00+00');
	insert into beside values (100, 'replicated'); commit");
catch_up();
my $log = $varve->items('/v1/transactions?limit=1');
is_deeply($log->[0]{origin}, { id => 1, name => 'elsewhere', lsn => '1A/2B3C4D5E' },
	'the log says where it comes from');
like($log->[0]{time}, qr/^2020-01-01T00:00:00/, 'with the time of the other server');
like($varve->varve_ok('log', '--limit', 1), qr/beside \+1, from elsewhere$/m, 'the command line too');

# --- 128 MiB that are 1 GB as text.
$varve->sql(<<'SQL');
do $$ declare bits varbit := repeat('0', 1 << 20)::varbit; begin
	for i in 1..10 loop bits := bits || bits; end loop;
	insert into huge values (2, bits);
end $$;
SQL
$varve->sql("insert into beside values (1, 'goes on')");
catch_up();
$varve->same_rows('beside', 'now', $varve->live_rows('beside'),
	'other tables go on behind a row that is too large');
$varve->same_rows('huge', "lsn:$before", ['{"id": 1, "bits": "1"}'],
	'its own table can be read as it was before');
my ($status, undef, $error) = $varve->varve('scan', 'huge');
is($status, 4, 'and not behind it');
like($error, qr/could not be followed beyond .*table "public\.huge" is too large to be sent/,
	'for the reason named');
$varve->stop_varved;
$varve->start;
$varve->sql("insert into beside values (2, 'after a restart')");
catch_up();
$varve->same_rows('beside', 'now', $varve->live_rows('beside'), 'nor does it come again after a restart');
$varve->stop_varved;

# --- A client that does not read, in the middle of a large transaction.
$varve->sql("select pg_create_logical_replication_slot('stuck', 'varve')");
$varve->sql("insert into beside select g, repeat('v', 100) from generate_series(1001, 200000) g");

sub stuck_client
{
	my $client = IPC::Run::start([ 'pg_recvlogical', '-d', $varve->dsn, '--slot', 'stuck', '--start',
		'--no-loop', '-f', "$varve->{dir}/stuck", '-o', 'publication_names=varve', '-o', 'format=json' ],
		'<', \undef, '>', \my $out, '2>', \my $err);
	$varve->wait_for('the client receives', sub { return -s "$varve->{dir}/stuck" });
	$client->signal('STOP');
	$varve->wait_for('the walsender waits for it', sub { return $varve->sql("select wait_event from
		pg_stat_activity where backend_type = 'walsender'") eq 'WalSenderWriteData' });
	return $client;
}

sub end_client
{
	my ($client) = @_;
	$client->signal('KILL');
	$client->finish;
	unlink "$varve->{dir}/stuck";
	return;
}

my $client = stuck_client();
my $start = Time::HiRes::time();
$varve->sql("select pg_terminate_backend(pid, 10000) from pg_stat_activity where backend_type = 'walsender'");
cmp_ok(Time::HiRes::time() - $start, '<', 2, 'the walsender is terminated at once');
is($varve->sql("select count(*) from pg_stat_activity where backend_type = 'walsender'"), 0, 'and gone');
end_client($client);

$client = stuck_client();
$start = Time::HiRes::time();
$node->stop('fast');
cmp_ok(Time::HiRes::time() - $start, '<', 20, 'a fast shutdown waits for wal_sender_timeout at most');
end_client($client);
$node->start;
is($varve->sql("select count(*) from pg_logical_slot_peek_changes('stuck', null, null, 'publication_names',
	'varve', 'format', 'json') where data like '{\"kind\": \"insert\"%'"), 199_000,
	'nothing was confirmed meanwhile');
done_testing;
