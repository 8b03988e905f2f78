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
create publication varve for table t, small;
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

# A TRUNCATE that comes now waits for the copy, as it would for pg_dump, and neither spoils the other.
my $small = $varve->live_rows('small');
begin_copy();
$varve->sql('truncate small; insert into small values (7, 7)');
$varve->wait_ready->catch_up;
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
