# SPDX-License-Identifier: PostgreSQL
# The parts of a type change while nobody writes to its tables, right after a new start of varved: what a
# stored text means now is known from the catalogs alone. Not a cheaper tier: it is about what the plugin
# sends in a session that has not met the table, and what varved makes of it.
use strict;
use warnings;

use Test::More;
use VarveTest;

my $varve = VarveTest->new;
$varve->sql(<<'SQL');
create type mood as enum ('ok', 'bad');
create schema types;
create type types.pair as (x int, y text);
create table moods (id int primary key, m mood);
create table pairs (id int primary key, p types.pair[]);
insert into moods select g, 'ok' from generate_series(1, 5) g;
insert into pairs values (1, array[(1, 'a')::types.pair]), (2, null);
create publication varve for table moods, pairs;
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
$varve->stop_varved;
$varve->sql('alter schema public rename to renamed');
$varve->start;
$varve->catch_up;
is_deeply([ sort map { $_->{table} } @{ $varve->get_json('/v1/tables')->{tables} } ],
	[ 'renamed.moods', 'renamed.pairs' ], 'a schema renamed meanwhile is known without a write');
$varve->stop_varved;
done_testing;
