# SPDX-License-Identifier: PostgreSQL
# varve init, doctor and detach on a database that already exists. Not a cheaper tier: they look at and
# change a running server.
use strict;
use warnings;

use IPC::Run ();
use JSON::PP ();
use Test::More;
use VarveTest;

my $varve = VarveTest->new(plugin => 0, endpoint => 0, conf => "wal_level = replica\n");
$varve->sql(<<'SQL');
create table accounts (id int primary key, v int);
insert into accounts values (1, 1);
create table orders (id int primary key);
create table keyless (v int);
create unlogged table scratch (id int primary key);
create table part (id int primary key) partition by range (id);
create table part_1 partition of part for values from (0) to (100);
create view seen as select * from accounts;
create schema app;
create table app.things (id int primary key);
SQL
unlink $varve->config_path;
my @init = ('init', '--source', $varve->dsn, '--data', "$varve->{dir}/data", '--config', $varve->config_path,
	'--socket', $varve->socket);

# --- Not ready: says what to fix and changes nothing.
my ($status, $out, $err) = $varve->varve(@init);
is($status, 4, 'init refuses a server with wal_level = replica');
like($out . $err, qr/wal_level/, 'naming it');
like($out . $err, qr/logical/, 'with the remedy');
is($varve->sql('select count(*) from pg_publication'), 0, 'nothing was changed');
ok(!-e $varve->config_path, 'no config file was written');
unlike($out, qr/pg_hba/, 'what did not fail has no remedy');

$varve->node->adjust_conf('postgresql.conf', 'wal_level', 'logical');
$varve->node->append_conf('postgresql.conf', "output_plugin_libraries = 'pgoutput, test_decoding, varve'\n")
  if VarveTest::has_allow_list();
$varve->node->restart;

# --- Refused before anything is changed.
my @unchanged = ('select count(*) from pg_publication', 0);
for my $case (
	[ 'a config file that cannot be written', qr/^varve: forbidden: config file .*; nothing was changed$/m,
		'--config', '/dev/null/varve.toml' ],
	[ 'a partitioned table', qr/public\.part cannot be followed: .*partitioned.*; nothing was changed$/m,
		'--tables', 'part' ],
	[ 'an unlogged table', qr/unlogged.*set logged/, '--tables', 'scratch' ],
	[ 'a view', qr/public\.seen .*view/, '--tables', 'seen' ],
	[ 'tables that cannot be followed', qr/none of the tables can be followed; .*keyless.*primary key/,
		'--tables', 'key*' ])
{
	my ($what, $message, @more) = @$case;
	my @but_config = grep { $more[0] ne '--config' || !/^--config$|varve\.toml$/ } @init;
	($status, $out, $err) = $varve->varve(@but_config, @more);
	is($status, 4, "$what is refused");
	like($err, $message, 'saying why');
	is($varve->sql($unchanged[0]), $unchanged[1], 'and no publication is made');
}

# A role without rights is told all of them.
$varve->sql('create role rep login');
my @as_rep = ('init', '--source', $varve->dsn . ' user=rep', @init[ 3 .. $#init ]);
($status, $out, $err) = $varve->varve(@as_rep);
is($status, 4, 'a role without rights is refused');
like($out, qr/^  \Q$_\E/m, $_) for 'alter role "rep" replication;',
	'grant create on database "postgres" to "rep";', 'grant usage on schema "app" to "rep";',
	'grant select on "app"."things", "public"."accounts"';
$varve->sql('alter role rep replication');
($status, $out, $err) = $varve->varve(@as_rep);
is($status, 4, 'REPLICATION alone is not enough');
like($out, qr/failed +create: .*\n +-> grant create on database "postgres" to "rep";/, 'CREATE is missing');
like($out, qr/failed +owner: .*\n +-> .*create publication "varve" for table only "app"\."things", only/,
	'and the tables are of others');
like(($varve->varve('init', '--source', $varve->dsn . ' user=nobody'))[2], qr/another role in --source/,
	'a remedy names --source when that was given');

# --- Ready.
$out = $varve->varve_ok(@init);
is($varve->sql(q{select string_agg(schemaname || '.' || tablename, ' ' order by schemaname, tablename)
	from pg_publication_tables where pubname = 'varve'}),
	'app.things public.accounts public.orders public.part_1', 'the publication has the tables with a key')
		or diag($out);
like($out, qr/keyless/, 'the table without one is named');
like($out, qr/keyless.*\n.*add primary key/, 'with its remedy');
like($out, qr/public\.part: .*partitioned/, 'the partitioned one is named');
like($out, qr/public\.scratch: .*unlogged/, 'and the unlogged one');
$varve->sql('insert into keyless values (1); update keyless set v = 2; delete from keyless');
pass('the application can still update it');
ok(-e $varve->config_path, 'a config file was written');
is($varve->sql('select count(*) from pg_replication_slots'), 0, 'init never makes the slot');
is(($varve->varve(@init))[0], 0, 'init again is fine');
my $endpoint = "ipc://$varve->{dir}/ingest.sock";
sub endpoint { return $varve->sql("load 'varve'; show varve.ingest_endpoint") }
$varve->wait_for('the setting', sub { endpoint() eq $endpoint });
like($out, qr/^The server is told where to send changes/m, 'which is said');
$varve->sql("load 'varve'; alter system set varve.ingest_endpoint = 'ipc:///else/where';
	select pg_reload_conf()");
$varve->wait_for('the setting', sub { endpoint() eq 'ipc:///else/where' });
like($varve->varve_ok(@init), qr/^  varve\.ingest_endpoint = '\Q$endpoint\E'$/m,
	'one that somebody has set stays, and the line for the file is printed');
is(endpoint(), 'ipc:///else/where', 'it stays');
$varve->sql("load 'varve'; alter system reset varve.ingest_endpoint; select pg_reload_conf()");
$varve->wait_for('the setting', sub { endpoint() eq '' });
$varve->varve_ok(@init);
$varve->wait_for('the setting', sub { endpoint() eq $endpoint });

# The config as it was written, with the socket of this test.
open(my $config, '>>', $varve->config_path) or die;
close $config;
my $text = PostgreSQL::Test::Utils::slurp_file($varve->config_path);
like($text, qr/^\[source\]/m, 'the config is TOML');
$varve->start;
is(sprintf('%04o', (stat "$varve->{dir}/data")[2] & 07777), '0700', 'nobody else looks into its directory');
is_deeply([ grep { -f && ((stat)[2] & 077) } glob("$varve->{dir}/data/* $varve->{dir}/data/store/*") ], [],
	'nor into its files');
is_deeply($varve->scan('accounts', 'now'), ['{"v": 1, "id": 1}'], 'varved runs with it');

# --- doctor.
my @doctor = ('doctor', '--config', $varve->config_path);
($status, $out, $err) = $varve->varve(@doctor);
is($status, 0, 'doctor finds nothing to fix') or diag($out . $err);
like($out, qr/wal_level/, 'it lists what it looked at');
like($out, qr/slot/, 'and the slot');
like($out, qr/^ok +ingest_endpoint: the server sends changes to \Q$endpoint\E$/m,
	'and the way of the changes');
like($out, qr/^varved +at \S+: streaming.*, transport zmq$/m, 'which is the one in use');
chmod 0755, $varve->{dir};
like($varve->varve_ok(@doctor), qr/^warning +ingest_endpoint: .*has mode 0755.*\n +-> chmod o= /m,
	'a directory that is open to everybody is named');
chmod 0700, $varve->{dir};
like($out, qr/warning +table public\.$_->[0]: not followed: .*$_->[1]/, "and $_->[0], which is not followed")
  for [ 'keyless', 'no primary key' ], [ 'part', 'partitioned' ], [ 'scratch', 'unlogged' ];
like($out, qr/keyless.*\n +-> .*add primary key .* then a new first copy/, 'with the whole cure');
unlike($out, qr/public\.seen|public\.part_1: not/, 'but no view');
my $json = JSON::PP::decode_json($varve->varve_ok(@doctor, '--json'));
ok($json->{passed}, 'as JSON too');
is_deeply($json->{troubles}, [], 'without troubles');
{
	no warnings 'redefine';
	local *VarveTest::socket = sub { '/nowhere/http.sock' };
	($status, $out) = $varve->varve(@doctor);
	is($status, 0, 'doctor asks the varved of its --config, not of VARVE_SERVER');
	like($out, qr/^varved +at \S+: streaming/m, 'and says which');
	($status, $out, $err) = $varve->varve(@doctor, '--server', '/nowhere/http.sock');
	is($status, 4, 'a varved that does not answer is a trouble');
	like($out, qr/trouble +varved cannot be reached at \/nowhere/, 'which is said');
	unlike($out . $err, qr/looks for the cause/, 'without sending the reader to varve doctor');
}

# --- A table that comes later is not in the first copy: init does not pretend otherwise.
$varve->sql('create table newt (id int primary key)');
($status, $out, $err) = $varve->varve(@init, '--tables', 'newt');
is($status, 4, 'init refuses to add a table to a history');
like($err, qr/conflict: public\.newt is not added: .*slot varve exists.*varve detach.*nothing was changed/,
	'with what can be done');
$out = $varve->varve_ok(@init);
like($out, qr/newt: there is a history already/, 'without names it is left out');
is($varve->sql(q{select count(*) from pg_publication_tables where tablename = 'newt'}), 0, 'in both cases');
like($varve->varve_ok(@doctor), qr/newt: not followed: it is not in the publication/, 'doctor lists it');

# --- A broken table.
$varve->sql('alter table orders alter id type text; insert into orders values (7)');
$varve->catch_up;
($status, $out) = $varve->varve(@doctor);
is($status, 4, 'doctor says no when a table is broken');
like($out, qr/trouble +table public\.orders is broken: .*docs\/operations\.md/, 'and which');
for my $format ('--json', '--ndjson')
{
	($status, $out) = $varve->varve(@doctor, $format);
	is($status, 4, "$format says no too");
	$json = JSON::PP::decode_json($out);
	ok(!$json->{passed}, 'in its text');
	like($json->{troubles}[0], qr/public\.orders is broken/, 'with the same trouble');
}
like($varve->varve_ok('tables'), qr/\(\d+ rows\)\n\npublic\.orders is broken: /, 'tables says why below');

# --- detach.
($status, $out, $err) = $varve->varve('detach', '--config', $varve->config_path);
is($status, 4, 'detach refuses while varved holds the slot');
like($err, qr/conflict/, 'with its code');
$varve->stop_varved;
$out = $varve->varve_ok('detach', '--config', $varve->config_path);
is($varve->sql('select count(*) from pg_replication_slots'), 0, 'detach drops the slot');
like($out, qr/publication/, 'and says what remains');
like($out, qr/^The server's varve\.ingest_endpoint is reset\.$/m, 'what init has set is reset');
$varve->wait_for('the setting', sub { endpoint() eq '' });
is(($varve->varve('detach', '--config', $varve->config_path))[0], 0, 'detach again is fine');

# --- The whole cure: what was broken or late is readable after a new first copy.
($status, $out, $err) = $varve->varve(@init, '--tables', 'newt');
like($err, qr/there is a history already \(\S+\/data holds one\)/, 'the old directory is in the way');
rename("$varve->{dir}/data", "$varve->{dir}/old") or die;
like($varve->varve_ok(@init), qr/^  \+ public\.newt$/m, 'without it the table is added');
$varve->start;
is_deeply($varve->scan('newt', 'now'), [], 'and can be read');
is_deeply($varve->scan('orders', 'now'), ['{"id": "7"}'], 'as can the one that was broken');
$varve->stop_varved;
$varve->start_varved(VARVE_STORE_DATA_DIR => "$varve->{dir}/old", VARVE_SOURCE_DSN => 'host=/nowhere');
$varve->wait_for('the old history answers', sub { ($varve->varve('scan', 'accounts'))[0] == 0 });
is_deeply($varve->scan('accounts', 'now'), ['{"v": 1, "id": 1}'], 'the old history stays readable');
$varve->stop_varved;

# --- varved --check-config says all that varved would.
open($config, '>>', $varve->config_path) or die;
print $config "listen = \"0.0.0.0:7117\"\n";
close $config;
my ($checked, $said) = ('', '');
IPC::Run::run([ 'varved', '--check-config', '--config', $varve->config_path ], '<', \undef,
	'>', \$checked, '2>', \$said);
is($? >> 8, 2, 'varved --check-config refuses a listen on all addresses without a token');
like($said, qr/token_file/, 'with the remedy');

# --- Help that teaches.
for my $verb ('', qw(init doctor detach status wait tables log show get scan history diff tag))
{
	($status, $out) = $varve->varve($verb ? ($verb, '--help') : '--help');
	is($status, 0, "varve $verb --help");
	like($out, $verb && $verb !~ /^(status|tables)$/ ? qr/varve $verb/ : qr/varve/, 'shows how it is used');
}

done_testing;
