# SPDX-License-Identifier: PostgreSQL
# The parts of a type change while nobody writes to its tables, right after a new start of varved: what a
# stored text means now is known from the catalogs alone. Not a cheaper tier: it is about what the plugin
# sends in a session that has not met the table, and what varved makes of it.
use strict;
use warnings;

use Test::More;
use VarveTest;

my $varve = VarveTest->new(conf => "max_prepared_transactions = 5\n");
$varve->sql(<<'SQL');
create type mood as enum ('ok', 'bad');
create schema types;
create type types.pair as (x int, y text);
create table moods (id int primary key, m mood);
create table pairs (id int primary key, p types.pair[]);
insert into moods select g, 'ok' from generate_series(1, 5) g;
insert into pairs values (1, array[(1, 'a')::types.pair]), (2, null);
create table plain (id text primary key);
insert into plain values (''), ('x');
create publication varve for table moods, pairs, plain;
SQL
$varve->start;
$varve->catch_up;
my %old = map { $_ => [ $varve->lsn, $varve->live_rows($_, 'id') ] } qw(moods pairs);
for my $case (
	[ 'moods', "alter type mood rename value 'ok' to 'fine'", "insert into moods values (6, 'fine')" ],
	[ 'pairs', 'alter type types.pair rename attribute y to z', 'update pairs set p = null where id = 2' ])
{
	my ($table, $ddl, $write) = @$case;
	$varve->sql("alter type mood add value if not exists 'best'");
	$varve->catch_up;
	is_deeply($varve->scan($table, 'now'), $varve->live_rows($table, 'id'), "$table before: $ddl");
	$varve->stop_varved;
	$varve->start;
	$varve->catch_up;
	$varve->sql($ddl);
	$varve->catch_up;
	my ($status, $code, $message) = $varve->http_error('GET', "/v1/tables/$table/rows?as_of=now");
	is("$status $code", '409 schema_changed', "$table, unwritten since: $ddl");
	like($message, qr/column [mp] of public\.$table changed what its type/, 'the message names the column');
	is_deeply($varve->scan($table, "lsn:$old{$table}[0]"), $old{$table}[1], 'the past as it was');
	$varve->sql($write);
	$varve->catch_up;
	$varve->sql("update $table set id = id");
	$varve->catch_up;
	is_deeply($varve->scan($table, 'now'), $varve->live_rows($table, 'id'),
		'and all of it once it is written again');
}
# A transaction that began before such DDL and ends after it does not turn it back.
$varve->sql(<<'SQL');
begin;
insert into moods values (7, 'fine'), (8, 'best');
prepare transaction 'beside';
SQL
$varve->sql("alter type mood rename value 'fine' to 'well'");
$varve->sql("commit prepared 'beside'");
$varve->catch_up;
my ($status, $code) = $varve->http_error('GET', '/v1/tables/moods/rows?as_of=now');
is("$status $code", '409 schema_changed', 'rows from before the new label are not shown under it');
$varve->sql('update moods set id = id');
$varve->catch_up;
is_deeply($varve->scan('moods', 'now'), $varve->live_rows('moods', 'id'), 'until they are written again');

# A change that the publication kept back ends the table; nothing wrong is shown, and the others go on.
$varve->sql('begin; alter publication varve drop table pairs; update pairs set p = null;
	alter publication varve add table pairs; commit; insert into moods values (9, null)');
$varve->catch_up;
($status, $code) = $varve->http_error('GET', '/v1/tables/pairs/rows?as_of=now');
is("$status $code", '404 not_tracked', 'a table with a change that was not sent');
is_deeply($varve->scan('moods', 'now'), $varve->live_rows('moods', 'id'), 'another goes on');
$varve->sql('alter publication varve set table moods where (id > 0), pairs, plain;
	insert into moods values (10, null)');
$varve->catch_up;
my $message;
($status, $code, $message) = $varve->http_error('GET', '/v1/tables/moods/rows?as_of=now');
is("$status $code", '404 not_tracked', 'a table with a row filter');
like($message, qr/row filter for table "moods", which varve does not support/, 'says so');

$varve->stop_varved;
$varve->sql('alter schema public rename to renamed');
$varve->start;
$varve->catch_up;
ok(scalar(grep { $_->{table} eq 'renamed.plain' } @{ $varve->get_json('/v1/tables')->{tables} }),
	'a schema renamed meanwhile is known without a write');
like($varve->varve_ok('get', 'renamed.plain', '""', '--json'), qr/"row":\{"id": ""\}/,
	'the empty text is a key, written as JSON');
$varve->stop_varved;
done_testing;
