# SPDX-License-Identifier: PostgreSQL
# What keeps varved from following a server: each is said with its remedy, in the log and in the status, and
# varved goes on by itself when the remedy was applied. Not a cheaper tier: the faults are settings of a
# running server.
use strict;
use warnings;

use Test::More;
use VarveTest;

my $varve = VarveTest->new(plugin => 0, conf => <<'CONF');
wal_level = replica
max_prepared_transactions = 5
dynamic_library_path = '$libdir'
CONF
$varve->sql('create table t (id int primary key, v int); insert into t values (1, 1)');
my $node = $varve->node;

# Restarts the server with these settings.
sub configure
{
	my (%settings) = @_;
	$node->append_conf('postgresql.conf', "$_ = $settings{$_}\n") for sort keys %settings;
	$node->restart;
	return;
}

# varved must come to say this, in its log and in its status, while it goes on trying.
sub says
{
	my ($what, $fault, $remedy) = @_;
	my $status = {};
	$varve->wait_for("status says $fault", sub {
		die "varved ended, its log:\n" . $varve->log_tail if !$varve->is_running;
		my $answer = $varve->http('GET', '/v1/status') // return 0;
		$status = JSON::PP::decode_json($answer->{body});
		return ($status->{last_error} // '') =~ $fault;
	});
	pass("$what: the status says it");
	like("$status->{last_error}; " . ($status->{remedy} // ''), $remedy, "$what: with the remedy");
	$varve->wait_for_log($fault);
	return;
}

$varve->start_varved;
says('wal_level', qr/wal_level/, qr/wal_level.{0,40}logical/s);

is($varve->http('GET', '/readyz')->{status}, 503, 'readyz: not ready');
is($varve->http('GET', '/healthz')->{status}, 200, 'healthz: it runs');
my ($http_status, $http_code, $http_message) = $varve->http_error('GET', '/v1/tables/t/rows');
is("$http_status $http_code", '503 unavailable', 'a read is refused by name');

configure('wal_level' => 'logical', 'max_replication_slots' => 0, 'max_wal_senders' => 0);
$varve->stop_varved;
$varve->start_varved;
says('no slots', qr/replication slots/, qr/max_replication_slots/);

configure('max_replication_slots' => 10, 'max_wal_senders' => 10);
if (VarveTest::has_allow_list())
{
	$varve->stop_varved;
	$varve->start_varved;
	says('the allow-list', qr/output_plugin_libraries/, qr/output_plugin_libraries.{0,80}varve/s);
	configure('output_plugin_libraries' => "'pgoutput, test_decoding, varve'");
}
$varve->stop_varved;
$varve->start_varved;
says('no publication', qr/publication/, qr/create publication|varve init/i);

$varve->sql('create publication varve for table t');
$varve->stop_varved;
$varve->start_varved;
says('a missing plugin', qr/varve/, qr/dynamic_library_path|install|\$libdir|pkglibdir/i);

configure('dynamic_library_path' => "'$ENV{VARVE_LIB}:\$libdir'", 'synchronous_standby_names' => "'*'");
$varve->stop_varved;
$varve->start_varved;
says('synchronous_standby_names', qr/synchronous_standby_names/,
	qr/synchronous_standby_names|application_name/);
configure('synchronous_standby_names' => "''");

$varve->wait_ready;
pass('ready as soon as nothing is in the way');
$varve->stop_varved;

# --- The slot is held by somebody else.
{
	my $holder = IPC::Run::start([ 'pg_recvlogical', '-d', $varve->dsn, '-S', 'varve', '--start', '-f', '-',
			'-o', 'publication_names=varve', '-o', 'format=json' ], '>', '/dev/null', '2>', '/dev/null');
	$varve->wait_for('pg_recvlogical has the slot', sub {
		$varve->sql('select active from pg_replication_slots') eq 't' });
	my $pid = $varve->sql('select active_pid from pg_replication_slots');
	$varve->start_varved;
	says('a slot in use', qr/\b$pid\b/, qr/stop|end|terminate|another/i);
	$holder->signal('TERM');
	$holder->finish;
	$varve->wait_ready;
	pass('goes on when the slot is free');
	$varve->sql('update t set v = 2');
	$varve->catch_up;
	is_deeply($varve->scan('t', 'now'), ['{"v": 2, "id": 1}'], 'and nothing is lost');
	$varve->stop_varved;
}

# --- The slot is gone, and with it what happened since.
$varve->sql("select pg_drop_replication_slot('varve')");
$varve->sql('update t set v = 3');
$varve->start_varved;
says('a lost slot', qr/slot/, qr/slot/);
is_deeply($varve->scan('t', 'now'), ['{"v": 2, "id": 1}'], 'what is there can still be read');
my ($status, $code, $message) = $varve->http_error('GET', '/v1/tables/t/rows?wait=true&timeout=1');
is("$status $code", '503 behind', 'who asks for what is not here');
like($message, qr/slot.*remedy|slot.*;/, 'is told why it does not come');
$varve->stop_varved;

# --- A second varved on the same store.
$varve->start_varved;
$varve->wait_for('varved answers', sub { $varve->http('GET', '/healthz') });
my ($out, $err) = ('', '');
IPC::Run::run([ 'varved', '--config', $varve->config_path ], '<', \undef, '>', \$out, '2>', \$err,
	IPC::Run::timeout(30));
isnt($?, 0, 'a second varved on the same store ends');
like($out . $err, qr/\Q$varve->{dir}\E/, 'naming the store');
is($varve->http('GET', '/healthz')->{status}, 200, 'the first one is not disturbed');
$varve->stop_varved;

# --- Making a slot waits for every writing transaction; who it waits for is said.
my $fresh = VarveTest->new(name => 'fresh', conf => "max_prepared_transactions = 5\n");
$fresh->sql('create table t (id int primary key); create publication varve for table t');
$fresh->sql("begin; insert into t values (1); prepare transaction 'left behind'");
$fresh->start_varved;
$fresh->wait_for_log(qr/left behind/);
pass('a prepared transaction that slot creation waits for is named');
$fresh->sql("commit prepared 'left behind'");
$fresh->wait_ready;
is_deeply($fresh->scan('t', 'first'), ['{"id": 1}'], 'its rows are in the first copy');
$fresh->stop_varved;

# --- A table without identity in the publication is named, with the remedy.
my $keyless = VarveTest->new(name => 'keyless');
$keyless->sql(<<'SQL');
create table keyed (id int primary key);
create table keyless (v int);
create table deferred (id int primary key deferrable);
insert into keyed values (1);
insert into keyless values (1);
create publication varve for table keyed, keyless, deferred with (publish = 'insert, truncate');
SQL
$keyless->start;
like($keyless->log_text, qr/keyless.*primary key.*remedy/, 'a table without a key is named with its remedy');
like($keyless->log_text, qr/deferred.*deferrable.*remedy/, 'and one whose key is deferrable');
is_deeply($keyless->scan('keyed', 'first'), ['{"id": 1}'], 'the others are followed');
($http_status, $http_code, $http_message) = $keyless->http_error('GET', '/v1/tables/keyless/rows');
is("$http_status $http_code", '404 not_tracked', 'a read of it is refused');
like($http_message, qr/primary key/, 'saying why');
$keyless->stop_varved;

# --- Encodings.
my $latin = VarveTest->new(name => 'latin');
$latin->sql("create database old template template0 encoding 'LATIN1' lc_collate 'C' lc_ctype 'C'");
$latin->{dbname} = 'old';
$latin->write_config;
$latin->sql('create table t (id int primary key); create publication varve for table t');
$latin->start_varved;
$latin->wait_for_log(qr/LATIN1/);
like($latin->log_text, qr/UTF8/, 'a database in another encoding is refused by name');
$latin->stop_varved('KILL');

done_testing;
