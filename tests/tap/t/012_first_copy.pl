# SPDX-License-Identifier: PostgreSQL
# varved dies in the middle of its first copy, and tables change under it. Not a cheaper tier: it is about the
# slot and the locks that a real server keeps for a process.
use strict;
use warnings;

use Test::More;
use VarveTest;

my $varve = VarveTest->new;
$varve->sql(<<'SQL');
create table t (id int primary key, filler text);
insert into t select g, repeat('x', 60) from generate_series(1, 300000) g;
create table small (id int primary key, n int);
insert into small select g, g from generate_series(1, 50) g;
create type mood as enum ('ok', 'bad');
create table moods (id int primary key, m mood);
insert into moods select g, 'ok' from generate_series(1, 10) g;
create table by_range (r numrange primary key);
insert into by_range values ('[1.0,2)');
create publication varve for table t, small, moods, by_range;
SQL

# The slot is there and the rows are on their way.
sub begin_copy
{
	$varve->start_varved;
	$varve->wait_for('the copy has begun', sub {
		my $answer = $varve->http('GET', '/v1/status');
		return $answer && $answer->{status} == 200 && $answer->{body} =~ /"rows_copied":\s*[1-9]/;
	});
	return;
}

for my $round (1 .. 2)
{
	begin_copy();
	$varve->kill_varved;
	is($varve->sql('select count(*) from pg_replication_slots'), 1, "kill $round leaves the slot behind");
	$varve->sql("update t set filler = 'round $round' where id % 1000 = 0");
}

# No lock keeps the labels of a type, which the output functions take as they are now: a snapshot of before
# must not get them.
begin_copy();
$varve->sql("alter type mood rename value 'ok' to 'fine'");
$varve->wait_ready->catch_up;
for my $moment ('first', 'now')
{
	$varve->same_rows('moods', $moment, $varve->live_rows('moods'), "moods at $moment");
}
like($varve->log_text, qr/a type of table public\.moods was changed during the first copy/, 'it began again');

# A key that cannot be told by its text takes out its table and no other.
my ($status, $code, $message) = $varve->http_error('GET', '/v1/tables/by_range/rows');
is("$status $code", '404 not_tracked', 'a table whose key has values that are equal and look different');
like($message, qr/key column r: values of this type cannot be compared/, 'says why');
$varve->stop_varved;
$varve->sql("select pg_drop_replication_slot('varve')");
system('rm', '-rf', "$varve->{dir}/data") == 0 or die 'rm';

# A TRUNCATE that comes now waits for the copy, as it would for pg_dump, and neither spoils the other.
my $small = $varve->live_rows('small');
begin_copy();
$varve->sql('truncate small; insert into small values (7, 7)');
$varve->varve_ok('wait', '--timeout', 120);
pass('varve wait waits for the first copy');
$varve->same_rows('small', 'first', $small, 'small was copied before it was emptied');
$varve->same_rows('small', 'now', $varve->live_rows('small'), 'and was emptied after that');
like($varve->log_text, qr/dropping slot varve of a first copy that was not completed/,
	'the slot that was left is known to be our own');
is($varve->sql('select count(*) from pg_replication_slots'), 1, 'there is one slot');
$varve->sql('delete from t where id <= 10; update small set n = -n, id = 8');
$varve->catch_up;
for my $table ('t', 'small')
{
	$varve->same_rows($table, 'now', $varve->live_rows($table), "$table is complete");
}
$varve->stop_varved;

done_testing;
