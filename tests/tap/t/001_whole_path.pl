# SPDX-License-Identifier: PostgreSQL
# The main job from end to end: first copy, stream, and every verb that reads, against what PostgreSQL held.
# Not a cheaper tier: server, plugin, varved and command line have to agree with each other.
use strict;
use warnings;

use JSON::PP ();
use Test::More;
use VarveHttp;
use VarveTest;

my $varve = VarveTest->new(conf => "track_commit_timestamp = on\n");
my @tables = ('accounts', 'orders', '"Odd, name"', 'app.items', 'nothing');
my %order = (accounts => 'id', orders => 'account, no', '"Odd, name"' => '"Key ""col"""', 'app.items' => 'id',
	nothing => 'id');

sub varve_name { return $_[0] =~ s/"//gr }

$varve->sql(<<'SQL');
create table accounts (id int primary key, owner text not null, balance numeric(12,2), note text,
	seen timestamptz);
insert into accounts select g, 'owner ' || g, g * 1.10, case when g % 3 = 0 then repeat('long note ', 400)
	end,
  timestamptz '2026-01-01 12:00+01' + g * interval '1 hour' from generate_series(1, 200) g;
create table orders (account int, no smallint, item jsonb, primary key (account, no));
insert into orders select g, n, jsonb_build_object('n', n, 'b', array[g, n]) from generate_series(1, 30) g,
	generate_series(1, 3) n;
create table "Odd, name" ("Key ""col""" text primary key, "v,1" int, e text default '');
insert into "Odd, name" values ('a/b c', 1), ('ünïcode ✓', null), ('', 3);
create schema app;
create table app.items (id uuid primary key default gen_random_uuid(), tags text[]);
insert into app.items (tags) values ('{a,"b c"}'), (null), ('{}');
create table nothing (id int primary key);
create table untracked (id int primary key, v int);
create table kept (moment text, tab text, row jsonb);
create publication varve for table accounts, orders, "Odd, name", app.items, nothing;
SQL

# What PostgreSQL holds, by moment and table; and the same in a table of its own, for oracles in SQL.
my (%held, %lsn_of, %xid_of, @moments);

sub keep
{
	my ($moment) = @_;
	for my $table (@tables)
	{
		$held{$moment}{$table} = $varve->live_rows($table, $order{$table});
		$varve->oracle("insert into kept select '$moment', '$table', to_jsonb(t) from only $table t");
	}
	$lsn_of{$moment} = $varve->lsn;
	push @moments, $moment;
	return;
}

# Runs statements in one transaction and keeps what it left behind.
sub transact
{
	my ($moment, $statements, $end) = @_;
	$end //= 'commit';
	$xid_of{$moment} = $varve->sql("begin; $statements; select pg_current_xact_id(); $end") =~ s/.*\n//sr;
	keep($moment);
	return;
}

$varve->start;
keep('copied');

# --- The first copy.
for my $table (@tables)
{
	for my $reference ('first', 'now')
	{
		is_deeply($varve->scan(varve_name($table), $reference), $held{copied}{$table},
			"$table at $reference is what was copied, in the order of its key");
	}
}
my ($first) = map { $_->{at} } $varve->get_json('/v1/tables/accounts/rows/1?as_of=first');
ok(!exists $first->{xid}, 'the first copy has no transaction');

# --- The stream.
transact('fees', "update accounts set balance = balance - 0.10 where id <= 100");
transact('orders', "insert into orders values (1, 9, '{\"z\": 1.50}'); delete from orders where account = 2;
	update orders set item = item || '{\"paid\": true}' where account = 3");
transact('moved', "update accounts set id = id + 1000 where id in (5, 6)");
transact('odd', "update \"Odd, name\" set \"v,1\" = \"v,1\" + 1;
	insert into \"Odd, name\" values ('new', 7)");
transact('nobody', "update accounts set note = 'lost'", 'rollback');
transact('savepoints', "savepoint a; delete from accounts where id < 20; rollback to a;
	update accounts set seen = null where id < 20; savepoint b; insert into nothing values (1); release b");
transact('other table', "insert into untracked select g, g from generate_series(1, 100) g");
transact('mistake', "update accounts set owner = 'nobody'");
transact('emptied', "truncate app.items");
transact('refilled', "insert into app.items (tags) values ('{again}')");
transact('twice', "update accounts set note = 'x' where id = 7; update accounts set note = 'y' where id = 7;
	delete from accounts where id = 8; insert into accounts values (8, 'again')");
$varve->catch_up;

for my $moment (@moments)
{
	for my $table (@tables)
	{
		is_deeply($varve->scan(varve_name($table), "lsn:$lsn_of{$moment}"), $held{$moment}{$table},
			"$table at the LSN after '$moment'");
	}
}
my @seen = grep { $_ ne 'nobody' && $_ ne 'other table' && exists $xid_of{$_} } @moments;
my $before = 'copied';
for my $moment (@seen)
{
	$varve->same_rows('accounts', "xid:$xid_of{$moment}", $held{$moment}{accounts},
		"accounts right after '$moment'");
	$varve->same_rows('accounts', "xid:$xid_of{$moment}^", $held{$before}{accounts},
		"accounts right before '$moment'");
	$before = $moment;
}
$varve->same_rows('accounts', 'now^3', $held{$seen[-4]}{accounts}, 'three transactions earlier');

# --- Times.
my $time_of_mistake = $varve->get_json("/v1/transactions/xid:$xid_of{mistake}")->{at}{time};
is($varve->oracle("select pg_xact_commit_timestamp('$xid_of{mistake}'::xid)
	= '$time_of_mistake'::timestamptz"), 't',
	"a transaction's time is its commit time");
$varve->same_rows('accounts', "time:$time_of_mistake", $held{mistake}{accounts},
	'a commit time includes its transaction');

# --- Single rows.
my %row = map {
	$_ => $varve->oracle("select row::text from kept
		where moment = '$_' and tab = 'accounts' and row->>'id' = '42'")
} 'copied', 'mistake';
for my $moment ('copied', 'mistake')
{
	my $answer = $varve->http('GET', "/v1/tables/accounts/rows/42?as_of=lsn:$lsn_of{$moment}");
	is($answer->{status}, 200, "row 42 after '$moment'");
	ok(index($answer->{body}, qq("row":$row{$moment}})) > 0, 'is the text that to_jsonb gave');
	like($answer->{headers}{'varve-position'} // '', qr{^[0-9A-F]+/[0-9A-F]+$}, 'and says its position');
}
like($varve->varve_ok('get', 'accounts', '42', '--as-of', "xid:$xid_of{mistake}^", '--json'),
	qr/\Q$row{copied}\E|"owner 42"/,
	'varve get before the mistake');
my ($status, $code) = $varve->http_error('GET', '/v1/tables/accounts/rows/5');
is("$status $code", '404 not_found', 'a row that moved away is gone under its old key');
like($varve->http('GET', '/v1/tables/orders/rows/' . VarveHttp::encode('[3,2]'))->{body}, qr/"paid": true/,
	'a key of two columns');
my $odd = VarveHttp::encode('public.Odd, name');
like($varve->http('GET', "/v1/tables/$odd/rows/" . VarveHttp::encode('"a/b c"'))->{body}, qr/"v,1": 2/,
	'a key that needs encoding');

# --- History of a row: every version that PostgreSQL showed, and no other (only its own transaction saw "x").
my @versions = split /\n/, $varve->oracle(<<'SQL');
select row::text from (select row, min(seq) as seq from (select row, row_number() over () as seq from kept
where tab = 'accounts' and row->>'id' = '7') k group by row) v order by seq
SQL
my @history = grep { exists $_->{after} } @{ $varve->items('/v1/tables/accounts/rows/7/history') };
my @after = map { $_->{after} } @history;
is_deeply(\@after, [ map { JSON::PP::decode_json($_) } @versions ], "row 7's versions");
is($history[-1]{xid}, $xid_of{twice}, 'the last one names its transaction');
is_deeply($history[-1]{changed}, ['note'], 'and the column that it changed');

# --- The log: the transactions that PostgreSQL numbered, newest first.
my $log = $varve->items('/v1/transactions');
is_deeply([ map { $_->{xid} } grep { !$_->{messages} || $_->{tables} } @$log ]->[0], $xid_of{twice},
	'the newest transaction comes first');
my %listed = map { ($_->{xid} // 0) => $_ } @$log;
ok(exists $listed{ $xid_of{$_} }, "the log has '$_'") for @seen;
ok(!exists $listed{ $xid_of{$_} }, "the log does not have '$_'") for 'nobody', 'other table';

# --- One transaction's changes, in order.
my $changes = $varve->items("/v1/transactions/xid:$xid_of{twice}");
is(join(' ', map { $_->{op} } @$changes), 'update update delete insert', "the steps of 'twice'");
is_deeply([ map { $_->{seq} } @$changes ], [ 0 .. 3 ], 'are numbered');

# --- Differences: PostgreSQL joins the kept copies.
sub net_changes
{
	my ($from, $to) = @_;
	return [ map { JSON::PP::decode_json($_) } split /\n/, $varve->oracle(<<"SQL") ];
select jsonb_strip_nulls(jsonb_build_object('id', coalesce(a.row->'id', b.row->'id'), 'has_before',
	a.row is not null,
  'has_after', b.row is not null))::text || '' from
 (select row from kept where moment = '$from' and tab = 'accounts') a full join
 (select row from kept where moment = '$to' and tab = 'accounts') b on a.row->'id' = b.row->'id'
where a.row is distinct from b.row order by (coalesce(a.row->'id', b.row->'id'))::int
SQL
}
for my $pair ([ 'copied', 'twice' ], [ 'fees', 'savepoints' ], [ 'twice', 'copied' ], [ 'mistake',
	'mistake' ])
{
	my ($from, $to) = @$pair;
	my $found = $varve->items("/v1/diff?table=accounts&from=lsn:$lsn_of{$from}&to=lsn:$lsn_of{$to}");
	my @simple = map { {
		id => $_->{key},
		has_before => exists $_->{before} ? JSON::PP::true : JSON::PP::false,
		has_after => exists $_->{after} ? JSON::PP::true : JSON::PP::false } } @$found;
	is_deeply([ sort { $a->{id} <=> $b->{id} } @simple ], net_changes($from, $to),
		"the net difference from '$from' to '$to'");
}
my ($changed) = grep { $_->{key} == 42 }
  @{ $varve->items("/v1/diff?table=accounts&from=xid:$xid_of{mistake}%5E&to=xid:$xid_of{mistake}") };
is_deeply($changed->{changed}, ['owner'], 'a difference names the columns');
is_deeply($changed->{after}, JSON::PP::decode_json($row{mistake}), 'and has the row as PostgreSQL showed it');

# --- Tags.
$varve->varve_ok('tag', 'create', 'before-mistake', "xid:$xid_of{mistake}^");
$varve->same_rows('accounts', 'tag:before-mistake', $held{savepoints}{accounts}, 'a tag names a moment');
like($varve->varve_ok('tag', 'list'), qr/before-mistake/, 'tags are listed');
$varve->varve_ok('tag', 'delete', 'before-mistake');
($status, $code) = $varve->http_error('GET', '/v1/tables/accounts/rows?as_of=tag:before-mistake');
is($code, 'unknown_reference', 'a deleted tag is unknown');

# --- Conditions, limits, columns.
is_deeply($varve->scan('accounts', "lsn:$lsn_of{savepoints}", '--where', 'owner=owner 12'),
	[ grep { /"owner": "owner 12"/ } @{ $held{savepoints}{accounts} } ], 'a condition');
is_deeply($varve->scan('accounts', "lsn:$lsn_of{savepoints}", '--limit', '5'),
	[ @{ $held{savepoints}{accounts} }[ 0 .. 4 ] ], 'a limit takes the first rows by key');

$varve->stop_varved;
done_testing;
