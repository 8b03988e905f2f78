# SPDX-License-Identifier: PostgreSQL
# Quiet tables do not make the server keep WAL; a reader of now does not wait for a write that never comes.
# Not a cheaper tier: it is about keepalives between a walsender and varved.
use strict;
use warnings;

use Test::More;
use Time::HiRes qw(time usleep);
use VarveTest;

my $varve = VarveTest->new(conf => "wal_sender_timeout = 5s\ncheckpoint_timeout = 1h\n");
$varve->sql(<<'SQL');
create table quiet (id int primary key, v int);
insert into quiet values (1, 1);
create table noisy (id int, filler text);
create publication varve for table quiet;
SQL
$varve->start;

sub noise
{
	$varve->sql("insert into noisy select g, repeat('x', 500) from generate_series(1, 40000) g");
	return $varve->lsn;
}

sub slot { return $varve->sql("select $_[0] from pg_replication_slots where slot_name = 'varve'") }

sub confirmed_behind
{
	my ($lsn) = @_;
	return slot("confirmed_flush_lsn >= '$lsn'") eq 't';
}

# --- Filtered: megabytes of WAL about tables that are not tracked.
my $lsn = noise();
my $started = time;
$varve->catch_up;
cmp_ok(time - $started, '<', 10, 'waiting for now does not need a write to a tracked table');
is_deeply($varve->scan('quiet', "lsn:$lsn"), ['{"v": 1, "id": 1}'],
	'a moment after foreign changes is readable');
$varve->wait_for('the slot is confirmed past foreign changes', sub { confirmed_behind($lsn) });
my $restart = slot('restart_lsn');
$varve->wait_for('the server lets its WAL go', sub {
	$varve->sql('checkpoint');
	noise();
	return slot("restart_lsn > '$restart'") eq 't';
});
is_deeply($varve->items('/v1/transactions'), [], 'none of it is in the log');

# --- Idle: nothing at all is written, for longer than wal_sender_timeout.
my $pid = slot('active_pid');
my $until = time + 8;
usleep(200_000) while time < $until;
is(slot('active_pid'), $pid,
	'the same walsender after 8 idle seconds under wal_sender_timeout = 5s');
is($varve->get_json('/v1/status')->{sessions}, 1, 'and the same session');

# --- One busy transaction that stays open does not hold up the answers about others.
my $open = $varve->node->background_psql('postgres');
$open->query_safe('begin; insert into quiet values (2, 2)');
$varve->sql('update quiet set v = 5 where id = 1');
$varve->catch_up;
is_deeply($varve->scan('quiet', 'now'), ['{"v": 5, "id": 1}'], 'open transactions are not seen');
$open->query_safe('commit');
$open->quit;
$varve->catch_up;
is(scalar @{ $varve->scan('quiet', 'now') }, 2, 'committed ones are');

# --- Fast shutdown ends while varved listens.
$started = time;
$varve->node->stop('fast');
cmp_ok(time - $started, '<', 10, 'the server stops fast');
$varve->wait_for('the status says that the server is away', sub {
	return length($varve->get_json('/v1/status')->{last_error} // '');
});
is_deeply($varve->scan('quiet', 'now'), [ '{"v": 5, "id": 1}', '{"v": 2, "id": 2}' ],
	'it answers without the server');
$varve->node->start;
$varve->sql('update quiet set v = 6 where id = 1');
$varve->catch_up;
pass('it goes on when the server is back');

$varve->stop_varved;
done_testing;
