# SPDX-License-Identifier: PostgreSQL
# What people and programs get wrong, over HTTP and the command line: each a named error, and varved keeps
# running. Not a cheaper tier: the answers cross every layer, and the process must survive them all.
use strict;
use warnings;

use Test::More;
use VarveHttp;
use VarveTest;

my $varve = VarveTest->new;
$varve->sql(<<'SQL');
create table t (id int primary key, v numeric);
insert into t values (1, 1.5);
create table pairs (a int, b text, primary key (a, b));
insert into pairs values (1, 'x');
create table plain (id int primary key);
create publication varve for table t, pairs;
SQL
$varve->start;
$varve->sql('update t set v = 2');
$varve->catch_up;

my $rows = '/v1/tables/t/rows';
my @cases = (
	# target, status, code, what the message must name
	[ "$rows?as_of=nonsense", 404, 'unknown_reference', qr/nonsense/ ],
	[ "$rows?as_of=xid:4000000000", 404, 'unknown_reference', qr/4000000000/ ],
	[ "$rows?as_of=xid:abc", 400, 'invalid_argument', qr/abc/ ],
	[ "$rows?as_of=tag:nobody", 404, 'unknown_reference', qr/nobody/ ],
	[ "$rows?as_of=branch:b", 404, 'unknown_reference', qr/branch/ ],
	[ "$rows?as_of=lsn:0/1", 410, 'before_history', qr/./ ],
	[ "$rows?as_of=first%5E", 410, 'before_history', qr/./ ],
	[ "$rows?as_of=now%5E99", 410, 'before_history', qr/./ ],
	[ "$rows?as_of=time:2001-01-01T00:00:00Z", 410, 'before_history', qr/./ ],
	[ "$rows?as_of=time:2999-01-01T00:00:00Z", 400, 'in_the_future', qr/2999/ ],
	[ "$rows?as_of=time:yesterday", 400, 'invalid_argument', qr/yesterday/ ],
	[ "$rows?as_of=lsn:FFFFFF/0", 400, 'in_the_future', qr/./ ],
	[ "$rows?as_of=lsn:zz/1", 400, 'invalid_argument', qr/zz/ ],
	[ "$rows?limit=0", 400, 'invalid_argument', qr/limit/ ],
	[ "$rows?limit=many", 400, 'invalid_argument', qr/limit/ ],
	[ "$rows?where=nothing", 400, 'invalid_argument', qr/nothing/ ],
	[ "$rows?where=w%3D1", 400, 'invalid_argument', qr/w/ ],
	[ "$rows?where=id%3Dx", 400, 'invalid_argument', qr/id/ ],
	[ "$rows?unknown=1", 400, 'invalid_argument', qr/unknown/ ],
	[ "$rows/1?as_of=now&as_of=first", 400, 'invalid_argument', qr/as_of/ ],
	[ "$rows/2", 404, 'not_found', qr/2/ ],
	[ "$rows/abc", 400, 'invalid_argument', qr/id/ ],
	[ "$rows/99999999999", 400, 'invalid_argument', qr/id/ ],
	[ "$rows/1.5", 400, 'invalid_argument', qr/id/ ],
	[ "$rows/null", 400, 'invalid_argument', qr/id/ ],
	[ "$rows/" . VarveHttp::encode('[1,2]'), 400, 'invalid_argument', qr/./ ],
	[ "$rows/" . VarveHttp::encode('{"nope":1}'), 400, 'invalid_argument', qr/nope|id/ ],
	[ '/v1/tables/pairs/rows/1', 400, 'invalid_argument', qr/./ ],
	[ '/v1/tables/pairs/rows/' . VarveHttp::encode('[1]'), 400, 'invalid_argument', qr/./ ],
	[ '/v1/tables/plain/rows', 404, 'not_tracked', qr/plain/ ],
	[ '/v1/tables/nowhere/rows/1', 404, 'not_tracked', qr/nowhere/ ],
	[ '/v1/tables/other.t/rows/1', 404, 'not_tracked', qr/other\.t/ ],
	[ '/v1/transactions/xid:1', 404, 'unknown_reference', qr/1/ ],
	[ '/v1/diff?to=now', 400, 'invalid_argument', qr/from/ ],
	[ '/v1/diff?from=first&to=nonsense', 404, 'unknown_reference', qr/nonsense/ ],
	[ '/v1/nothing', 404, 'not_found', qr/nothing/ ],
	[ '/v1/branches', 404, 'not_found', qr/branch/ ],
	[ '/v1/tables/%00/rows', 400, 'invalid_argument', qr/NUL/ ],
	[ '/v1/tables/%zz/rows', 400, 'invalid_argument', qr/./ ]);
for my $case (@cases)
{
	my ($target, $status, $code, $names) = @$case;
	my ($got_status, $got_code, $message) = $varve->http_error('GET', $target);
	is("$got_status $got_code", "$status $code", "GET $target");
	like($message, $names, 'its message names the thing');
}
my ($status, $code) = $varve->http_error('POST', '/v1/tags', body => 'not json');
is("$status $code", '400 invalid_argument', 'a body that is no JSON');
($status, $code) = $varve->http_error('POST', '/v1/tags', body => '{"name":"bad name^"}');
is("$status $code", '400 invalid_argument', 'a tag with a bad name');
is($varve->http('POST', '/v1/tags', body => '{"name":"a","ref":"now"}')->{status} =~ s/20[01]/ok/r, 'ok',
	'a tag');
($status, $code) = $varve->http_error('POST', '/v1/tags', body => '{"name":"a","ref":"now"}');
is("$status $code", '409 exists', 'the same tag again');
($status, $code) = $varve->http_error('DELETE', '/v1/tags?name=b');
is("$status $code", '404 not_found', 'a tag that is not there');
($status, $code) = $varve->http_error('DELETE', '/v1/status');
is("$status $code", '400 invalid_argument', 'a method that there is not');

# --- Bytes that are no request.
my $raw = VarveHttp::raw($varve->socket, "\x00\xff\x16\x03garbage\r\n\r\n");
ok(!$raw || $raw->{status} == 0 || $raw->{status} == 400, 'bytes that are no HTTP');
$raw = VarveHttp::raw($varve->socket, "GET /" . 'a' x 200_000 . " HTTP/1.1\r\nHost: x\r\n\r\n");
ok(!$raw || $raw->{status} =~ /^(0|400|413|414|431)$/, 'a request line without end');
$raw = VarveHttp::raw($varve->socket,
	"POST /v1/tags HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\nConnection: close\r\n\r\n");
ok(!$raw || $raw->{status} =~ /^(0|400|413)$/, 'a body larger than any');

# --- The command line says the same, with its exit status.
my @commands = (
	[ 4, qr/unknown_reference/, 'scan', 't', '--as-of', 'nonsense' ],
	[ 4, qr/not_tracked/, 'scan', 'plain' ],
	[ 4, qr/not_found/, 'get', 't', '2' ],
	[ 4, qr/invalid_argument/, 'get', 't', 'abc' ],
	[ 4, qr/before_history/, 'get', 't', '1', '--as-of', 'now^99' ],
	[ 2, qr/./, 'scan' ],
	[ 2, qr/./, 'no-such-verb' ],
	[ 2, qr/./, 'scan', 't', '--no-such-option' ]);
for my $command (@commands)
{
	my ($exit, $says, @arguments) = @$command;
	my ($got, undef, $err) = $varve->varve(@arguments);
	is($got, $exit, "varve @arguments: exit status $exit");
	like($err, $says, 'and says why on stderr');
}
{
	my ($got, undef, $err) = $varve->varve('--server', "$varve->{dir}/nobody.sock", 'status');
	is($got, 3, 'nobody there: exit status 3');
	like($err, qr/nobody\.sock/, 'naming where it looked');
}

# --- varved's own input.
sub check_config
{
	my ($text) = @_;
	my $path = "$varve->{dir}/bad.toml";
	open(my $out, '>', $path) or die;
	print $out $text;
	close $out;
	my ($stdout, $stderr) = ('', '');
	IPC::Run::run([ 'varved', '--config', $path, '--check-config' ], '<', \undef, '>', \$stdout, '2>',
		\$stderr, IPC::Run::timeout(30));
	return ($? >> 8, $stdout . $stderr);
}
my ($exit, $text) = check_config("[source]\ndsn = \"dbname=x\"\n[store]\ndata_dir = \"$varve->{dir}/d\"\n");
is($exit, 0, 'a config that is well') or diag($text);
for my $bad ([ "[source]\nnonsense = 1\n", qr/nonsense/ ], [ "[nothing]\n", qr/nothing/ ], [ "not toml [",
	qr/./ ],
	[ "[source]\ndsn = 5\n", qr/dsn/ ], [ "[source]\ndsn = \"\"\n[log]\nlevel = \"loud\"\n", qr/loud|dsn/ ])
{
	my ($bad_exit, $says) = check_config($bad->[0]);
	isnt($bad_exit, 0, 'a config that is not: ' . $bad->[0] =~ s/\n/ /gr);
	like($says, $bad->[1], 'naming what is wrong');
}

ok($varve->is_running, 'varved ran through all of it');
is_deeply($varve->scan('t', 'now'), $varve->live_rows('t'), 'and answers');
$varve->stop_varved;
done_testing;
