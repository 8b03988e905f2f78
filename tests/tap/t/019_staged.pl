# SPDX-License-Identifier: PostgreSQL
# Large transactions beside each other, with subtransactions that roll back, and transactions in two phases,
# over restarts of varved and of the server. Not a cheaper tier: what PostgreSQL streams, and when it sends a
# prepared transaction again, only PostgreSQL knows.
use strict;
use warnings;

use Test::More;
use VarveTest;

my $varve = VarveTest->new(conf => <<'CONF');
max_prepared_transactions = 10
logical_decoding_work_mem = '64kB'
wal_sender_timeout = 5s
CONF
my @tables = ('a', 'b', 'c', 'docs');
$varve->sql(<<'SQL');
create table a (id int primary key, n int not null, filler text);
create table b (like a including all);
create table c (like a including all);
insert into a select g, 0, repeat('a', 100) from generate_series(1, 500) g;
insert into b select * from a;
insert into c select * from a;
create table docs (id int primary key, n int, doc text);
alter table docs alter doc set storage external;
insert into docs select g, 0, repeat('d' || g, 4000) from generate_series(1, 20) g;
create table other (id int primary key);
create publication varve for table a, b, c, docs;
SQL

# What these tables hold now. (A transaction that has not ended may have one locked.)
my @moments;

sub keep
{
	my @which = @_ ? @_ : @tables;
	push @moments, [ $varve->lsn, { map { $_ => $varve->live_rows($_) } @which } ];
	return;
}

sub check
{
	my ($what) = @_;
	$varve->catch_up;
	for my $moment (@moments)
	{
		my ($lsn, $rows) = @$moment;
		$varve->same_rows($_, "lsn:$lsn", $rows->{$_}, "$what: $_ at $lsn") for sort keys %$rows;
	}
	return;
}

# The prepared transactions that varved lists: "gid changes".
sub dangling
{
	$varve->catch_up;
	return join ', ', map { "$_->{gid} $_->{changes}" } @{ $varve->get_json('/v1/status')->{prepared} };
}

sub waits_for
{
	my ($xid) = @_;
	$varve->wait_for("the slot waits for $xid", sub {
		return $varve->sql("select count(*) from pg_locks where not granted and locktype = 'transactionid'
			and transactionid::text = '$xid'") == 1;
	});
	return;
}

# A transaction that is prepared before the slot's consistent point, and committed after it: the server sends
# it with the position of its PREPARE, which is below all that is durable.
my @open = map { $varve->node->background_psql('postgres') } 0 .. 1;
my $begin = 'begin; insert into other values (%d); select pg_current_xact_id();';
my $first_xid = $open[0]->query_safe(sprintf $begin, 1);
$varve->start_varved;
waits_for($first_xid);
my $second_xid = $open[1]->query_safe(sprintf $begin, 2);
$open[0]->query_safe('commit');
waits_for($second_xid);
$varve->sql("begin; insert into a values (900, 1, 'early'); update b set n = 1 where id = 1;
	prepare transaction 'early'");
$open[1]->query_safe('commit');
$varve->wait_ready;
keep();
$varve->sql("commit prepared 'early'");
keep();
check('prepared while the slot was made');
is($varve->sql('select two_phase from pg_replication_slots'), 't', 'the slot sends in two phases');

# Two transactions beside each other, each larger than what the server decodes in memory.
$open[0]->query_safe(<<'SQL');
begin; insert into a select g, g, repeat('x', 200) from generate_series(1001, 3000) g;
SQL
$open[1]->query_safe(<<'SQL');
begin; insert into b select g, g, repeat('y', 200) from generate_series(1001, 3000) g;
update docs set n = n + 1;
SQL
$varve->sql("insert into c values (901, 0, 'between')");
keep();
$open[0]->query_safe(<<'SQL');
savepoint one; update a set n = n + 1 where id <= 3000; savepoint two; delete from a where id > 2000;
rollback to one;
SQL
$open[1]->query_safe(<<'SQL');
savepoint one; savepoint two; update docs set doc = repeat(doc, 2); rollback to two;
update docs set doc = 'e' || doc where id <= 10;
SQL
$varve->sql("update c set n = 5 where id <= 10");
keep();
$open[0]->query_safe(<<'SQL');
savepoint three; alter table a add column extra text default 'kept';
insert into a select g, g, repeat('x', 200), 'given' from generate_series(3001, 4000) g; release three;
SQL
$open[1]->query_safe(<<'SQL');
truncate b; insert into b select g, g, repeat('z', 200) from generate_series(1, 2000) g;
update docs set n = n + 1;
SQL
$open[0]->query_safe(<<'SQL');
savepoint four; alter table a drop column filler;
insert into a select g, g, 'gone' from generate_series(4001, 5000) g; rollback to four;
SQL
$open[1]->query_safe('commit');
keep('b', 'c', 'docs');
$open[0]->query_safe("insert into a select g, g, repeat('x', 200), null from generate_series(5001, 6000) g;
	commit");
keep();
$open[0]->query_safe(<<'SQL');
begin; insert into c select g, g, repeat('x', 200) from generate_series(1001, 3000) g; rollback;
begin; savepoint one; truncate c; insert into c select g, g, repeat('x', 200) from generate_series(1, 3000) g;
rollback to one; update c set n = 7 where id = 1; commit;
SQL
keep();
check('streamed beside each other');
# The server counts when the walsender ends.
$varve->stop_varved;
$varve->wait_for('the server has counted', sub {
	return $varve->sql('select coalesce(max(stream_txns), 0) from pg_stat_replication_slots') > 2;
});
$varve->start;

# Killed and restarted in the middle of a stream: it comes again, from its first row.
$open[0]->query_safe("begin; insert into c select g, g, repeat('w', 200)
	from generate_series(10001, 13000) g");
$varve->sql('update a set n = 1 where id = 1');
$varve->catch_up;
$varve->kill_varved;
$open[0]->query_safe("delete from c where id between 10001 and 10100");
$varve->start;
$open[0]->query_safe("insert into c select g, g, repeat('w', 200) from generate_series(13001, 15000) g;
	commit");
keep();
check('killed in the middle of a stream');
$_->quit for @open;

# Prepared, over the death of everybody.
sub prepare
{
	my ($gid, $table, $from, $count) = @_;
	$varve->sql("begin; insert into $table select g, g, repeat('p', 200) from
		generate_series($from, $from + $count - 1) g; savepoint s; delete from $table where id >= $from;
		rollback to s; update $table set n = -1 where id = $from; prepare transaction '$gid'");
	return;
}

prepare('large', 'b', 20000, 2000);
prepare('small', 'c', 20000, 3);
$varve->sql("begin; alter table docs add column note text default 'n';
	update docs set n = -5; prepare transaction 'it''s ddl'");
is(dangling(), "large 2001, small 4, it's ddl 20", 'what is prepared is listed');
like($varve->varve_ok('status'), qr/^prepared +small \(xid \d+\) at \S+, .*, 4 changes$/m, 'also for people');
my ($xid) = map { $_->{xid} } grep { $_->{gid} eq 'small' } @{ $varve->get_json('/v1/status')->{prepared} };
is($xid, $varve->sql("select transaction from pg_prepared_xacts where gid = 'small'"), 'with its xid');
is(scalar @{ $varve->scan('c', 'now') }, scalar @{ $varve->live_rows('c') }, 'and not seen');
$varve->kill_varved;
$varve->start;
is(dangling(), "large 2001, small 4, it's ddl 20", 'listed after kill -9 of varved');
$varve->node->stop('immediate');
$varve->node->start;
$varve->wait_ready;
is(dangling(), "large 2001, small 4, it's ddl 20", 'listed after an immediate stop of the server');
$varve->sql("commit prepared 'small'");
keep('a', 'b', 'c');
check('committed after the restarts');
$varve->stop_varved;
$varve->sql("commit prepared 'large'");
keep('a', 'b', 'c');
# Prepared and ended while nobody listened, under an identifier that was in use.
prepare('small', 'c', 30000, 3);
$varve->sql("rollback prepared 'small'");
prepare('large', 'c', 31000, 1000);
$varve->sql("commit prepared 'large'");
keep('a', 'b', 'c');
prepare('small', 'c', 33000, 5);
$varve->start;
check('committed while varved was stopped');
is(dangling(), "it's ddl 20, small 6", 'those that are left are listed');
$varve->sql("rollback prepared 'small'");
$varve->node->restart;
$varve->wait_ready;
$varve->sql("commit prepared 'it''s ddl'");
keep();
check('DDL that was prepared');
is(dangling(), '', 'nothing is left');
my @dates = map { [ $_->{xid}, $_->{position} ] } @{ $varve->items('/v1/transactions?limit=100000') };
my %seen;
$seen{ $_->[0] }++ for @dates;
is(scalar(grep { $_ > 1 } values %seen), 0, 'no transaction is in the log twice');

# The commit of a transaction whose changes somebody else took: said, not passed over.
$varve->stop_varved;
prepare('stolen', 'c', 40000, 1);
$varve->sql('select pg_replication_slot_advance(slot_name, pg_current_wal_lsn()) from pg_replication_slots');
$varve->start_varved;
$varve->wait_for('varved says why it stops', sub {
	my $answer = $varve->http('GET', '/v1/status');
	return $answer && $answer->{body} =~ /confirmed up to \S+ by somebody else/;
});
is(scalar @{ $varve->scan('c', 'lsn:' . $moments[-1][0]) }, scalar @{ $moments[-1][1]{c} },
	'and still answers');
$varve->stop_varved;

done_testing;
