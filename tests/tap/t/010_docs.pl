# SPDX-License-Identifier: PostgreSQL
# The documentation is true: the commands of docs/tutorial.md work, as they stand there and in their order;
# docs/reference.md names what the programs have. Not a cheaper tier: a person types it against a server.
use strict;
use warnings;

use IPC::Run ();
use PostgreSQL::Test::Utils;
use Test::More;
use VarveTest;

my $varve = VarveTest->new;
$varve->sql(<<'SQL');
create table account (id int primary key, owner text not null, balance int not null);
insert into account select g, 'owner ' || g, g * 10 from generate_series(1, 100) g;
create table keyless (v int);
SQL
unlink $varve->config_path;

my %environment = (
	SOURCE => $varve->dsn,
	DATA => "$varve->{dir}/data",
	CONFIG => $varve->config_path,
	VARVE_SERVER => $varve->socket,
	VARVE_HTTP_SOCKET => $varve->socket,
	PGHOST => $varve->node->host,
	PGPORT => $varve->node->port,
	PGDATABASE => 'postgres');
local %ENV = (%ENV, %environment);
chdir $varve->{dir} or die;

my @blocks = slurp_file("$ENV{VARVE_DOCS}/tutorial.md") =~ /^```sh\n(.*?)^```$/msg;
cmp_ok(scalar @blocks, '>=', 6, 'the tutorial has its blocks');
my $state = '';
for my $number (0 .. $#blocks)
{
	# One shell for all of them, as for a person: variables stay.
	my ($out, $err) = ('', '');
	my $script = "set -euo pipefail\n[ ! -f state ] || . ./state\n$blocks[$number]\n"
	  . "declare -p XID > state 2>/dev/null || true\n";
	IPC::Run::run([ 'bash', '-c', $script ], '<', \undef, '>', \$out, '2>', \$err, IPC::Run::timeout(120));
	is($?, 0, "block $number") or diag("$blocks[$number]\n$out$err");
	$varve->start if $number == 0;
	$state .= $out;
}
unlike($state, qr/Traceback|internal/, 'nothing odd is printed');
is($varve->sql("select count(*) from account where owner = 'nobody'"), 0, 'the mistake is repaired');
is($varve->sql('select balance from account where id = 900'), 5, 'what came after it stays');
is($varve->sql('select balance from account where id = 1'), 0, 'what came before it too');

# --- The reference.
my $reference = slurp_file("$ENV{VARVE_DOCS}/reference.md");
my $help = $varve->varve_ok('--help');
my @verbs = $help =~ /^Subcommands:\n(.*?)\n\n/ms ? $1 =~ /^  (\w+)/mg : ();
cmp_ok(scalar @verbs, '>=', 13, 'varve --help lists its verbs');
for my $verb (@verbs)
{
	like($reference, qr/`$verb\b/, "varve $verb is in the reference");
	my %options = map { $_ => 1 } $varve->varve_ok($verb, '--help') =~ /^  (?:-\w,)?(--[\w-]+)/mg;
	delete $options{'--help'};
	like($reference, qr/\Q$_\E\b/, "varve $verb $_ is in the reference") for sort keys %options;
}
my $paths = $varve->get_json('/v1/openapi.json')->{paths};
for my $path (sort keys %$paths)
{
	like($reference, qr/`\U$_\E \Q$path\E`/, "\U$_\E $path is in the reference")
	  for grep { /^(get|post|delete)$/ } keys %{ $paths->{$path} };
}

$varve->stop_varved;
done_testing;
