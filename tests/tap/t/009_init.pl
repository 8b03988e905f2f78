# SPDX-License-Identifier: PostgreSQL
# varve init, doctor and detach on a database that already exists. Not a cheaper tier: they look at and
# change a running server.
use strict;
use warnings;

use Test::More;
use VarveTest;

my $varve = VarveTest->new(plugin => 0, conf => "wal_level = replica\n");
$varve->sql(<<'SQL');
create table accounts (id int primary key, v int);
insert into accounts values (1, 1);
create table orders (id int primary key);
create table keyless (v int);
create schema app;
create table app.things (id int primary key);
SQL
unlink $varve->config_path;
my @init = ('init', '--source', $varve->dsn, '--data', "$varve->{dir}/data", '--config', $varve->config_path);

# --- Not ready: says what to fix and changes nothing.
my ($status, $out, $err) = $varve->varve(@init);
is($status, 4, 'init refuses a server with wal_level = replica');
like($out . $err, qr/wal_level/, 'naming it');
like($out . $err, qr/logical/, 'with the remedy');
is($varve->sql('select count(*) from pg_publication'), 0, 'nothing was changed');
ok(!-e $varve->config_path, 'no config file was written');

$varve->node->adjust_conf('postgresql.conf', 'wal_level', 'logical');
$varve->node->append_conf('postgresql.conf', "output_plugin_libraries = 'pgoutput, test_decoding, varve'\n")
  if VarveTest::has_allow_list();
$varve->node->restart;

# --- Ready.
$out = $varve->varve_ok(@init);
is($varve->sql(q{select string_agg(schemaname || '.' || tablename, ' ' order by schemaname, tablename)
	from pg_publication_tables where pubname = 'varve'}),
	'app.things public.accounts public.orders', 'the publication has the tables with an identity')
		or diag($out);
like($out, qr/keyless/, 'the table without one is named');
like($out, qr/keyless.*\n.*add primary key/, 'with its remedy');
$varve->sql('insert into keyless values (1); update keyless set v = 2; delete from keyless');
pass('the application can still update it');
ok(-e $varve->config_path, 'a config file was written');
is($varve->sql('select count(*) from pg_replication_slots'), 0, 'init never makes the slot');
is(($varve->varve(@init))[0], 0, 'init again is fine');

# The config as it was written, with the socket of this test.
open(my $config, '>>', $varve->config_path) or die;
close $config;
my $text = PostgreSQL::Test::Utils::slurp_file($varve->config_path);
like($text, qr/^\[source\]/m, 'the config is TOML');
$varve->start(VARVE_HTTP_SOCKET => $varve->socket, VARVE_STORE_DATA_DIR => "$varve->{dir}/data");
is_deeply($varve->scan('accounts', 'now'), ['{"v": 1, "id": 1}'], 'varved runs with it');

# --- doctor.
my @doctor = ('doctor', '--config', $varve->config_path);
($status, $out, $err) = $varve->varve(@doctor);
is($status, 0, 'doctor finds nothing to fix') or diag($out . $err);
like($out, qr/wal_level/, 'it lists what it looked at');
like($out, qr/slot/, 'and the slot');

# --- detach.
($status, $out, $err) = $varve->varve('detach', '--config', $varve->config_path);
is($status, 4, 'detach refuses while varved holds the slot');
like($err, qr/conflict/, 'with its code');
$varve->stop_varved;
$out = $varve->varve_ok('detach', '--config', $varve->config_path);
is($varve->sql('select count(*) from pg_replication_slots'), 0, 'detach drops the slot');
like($out, qr/publication/, 'and says what remains');
is(($varve->varve('detach', '--config', $varve->config_path))[0], 0, 'detach again is fine');

# --- Help that teaches.
for my $verb ('', qw(init doctor detach status wait tables log show get scan history diff tag))
{
	($status, $out) = $varve->varve($verb ? ($verb, '--help') : '--help');
	is($status, 0, "varve $verb --help");
	like($out, $verb && $verb !~ /^(status|tables)$/ ? qr/varve $verb/ : qr/varve/, 'shows how it is used');
}

done_testing;
