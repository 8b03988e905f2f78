# SPDX-License-Identifier: PostgreSQL
# What transactions can do to rows: truncates, key changes, savepoints, big values, big transactions, two-
# phase ones. Not a cheaper tier: what the WAL says of these is the server's, and the answers are compared
# with its own.
use strict;
use warnings;

use Test::More;
use VarveTest;

my $varve = VarveTest->new(conf => "logical_decoding_work_mem = 64kB\nmax_prepared_transactions = 5\n");
my @tables = ('t', 'child', 'big', 'full_identity', 'index_identity');
$varve->sql(<<'SQL');
create table t (id int primary key, v text);
insert into t select g, 'v' || g from generate_series(1, 50) g;
create table child (id int primary key, t int references t on delete cascade on update cascade);
insert into child select g, g from generate_series(1, 50) g;
create table big (id int primary key, small int, outside text, packed text);
alter table big alter outside set storage external;
insert into big select g, 0, repeat(chr(64 + g), 3000 + g), repeat('pack' || g, 3000)
	from generate_series(1, 20) g;
create table full_identity (id int primary key, v int, big text);
alter table full_identity replica identity full;
alter table full_identity alter big set storage external;
insert into full_identity select g, null, repeat('f', 3000) from generate_series(1, 5) g;
create table index_identity (a int not null, b text not null, v int, unique (b, a));
alter table index_identity replica identity using index index_identity_b_a_key;
insert into index_identity select g, 'b' || g, g from generate_series(1, 10) g;
create publication varve for table t, child, big, full_identity, index_identity;
SQL
$varve->start;

my @moments;

sub step
{
	my ($what, $sql) = @_;
	$varve->sql($sql);
	push @moments, [ $what, $varve->lsn, { map { $_ => $varve->live_rows($_) } @tables } ];
	return;
}

step('as copied', 'select 1');
step('a key changes', 'update t set id = 1000 where id = 1');
step('a key changes and its old place is taken', "update t set id = 1001 where id = 2;
	insert into t values (2, 'second')");
step('keys change in a row', "begin; update t set id = 2000 where id = 3;
	update t set id = 2001, v = 'moved' where id = 2000; commit");
step('a key goes and comes back', 'begin; update t set id = 2002 where id = 4;
	update t set id = 4 where id = 2002; commit');
step('deleted and inserted in one transaction', "begin; delete from t where id = 5;
	insert into t values (5, 'anew'); commit");
step('inserted and deleted in one transaction', "begin; insert into t values (77, 'short');
	delete from t where id = 77; commit");
step('cascades', 'delete from t where id in (6, 7); update t set id = id + 5000 where id = 8');
step('other columns than the big ones', 'update big set small = small + 1');
step('one big column', "update big set outside = repeat('z', 4000) where id = 1");
step('a big column to null and the other unchanged', 'update big set packed = null where id = 2');
step('a key change with big values unchanged', 'update big set id = id + 100 where id in (3, 4)');
step('unchanged over several versions', join '; ', map {
	"update big set small = $_ where id >= 5" } 10 .. 14);
step('a big value deleted and back', "begin; delete from big where id = 9;
	insert into big values (9, 1, repeat('n', 5000)); update big set small = 2 where id = 9; commit");
step('full identity', "update full_identity set v = 1 where id = 1;
	update full_identity set id = 50 where id = 2; delete from full_identity where id = 3");
step('an index as identity', "update index_identity set v = -v;
	update index_identity set b = 'other' where a = 3; delete from index_identity where a = 4");
step('savepoints', "begin; savepoint a; insert into t values (100, 'a'); savepoint b;
	insert into t values (101, 'b');
	rollback to b; insert into t values (101, 'kept'); release a; savepoint c;
		delete from t where id = 101; rollback to c; commit");
step('rolled back as a whole', "begin; update t set v = 'never'; truncate big; rollback");
step('an exception in a block', "do \$\$ begin begin insert into t values (102, 'x'); perform 1/0;
	exception when division_by_zero then
	insert into t values (103, 'handled'); end; end \$\$");
step('on conflict', "insert into t values (100, 'conflict'), (104, 'new') on conflict (id)
	do update set v = excluded.v || '!';
	insert into t values (100, 'again') on conflict do nothing");
step('merge', "merge into t using (values (100), (105)) s (id)
	on t.id = s.id when matched then delete when not matched then insert values (s.id, 'merged')");
step('copy', "copy child from stdin;\n900\t9\n901\t10\n902\t11\n\\.\n");
step('truncated', 'truncate index_identity');
step('filled after a truncate', "insert into index_identity values (3, 'b3', 33)");
step('truncated with rows on both sides', "begin; insert into big values (200, 1, 'lost', '');
	truncate big; insert into big values (201, 2, 'kept', '');
	update big set small = 3; commit");
step('truncate cascade', 'truncate t cascade');
step('truncated twice', "truncate t cascade; insert into t values (1, 'third')");
step('a truncate rolled back', "begin; savepoint s; truncate t cascade; insert into t values (2, 'no');
	rollback to s; update t set v = 'yes'; commit");
step('a transaction larger than decoding memory', "insert into t select g, repeat('large ', 20)
	|| g from generate_series(10, 20000) g");
step('a large one with subtransactions',
	"do \$\$ begin for i in 1..300 loop begin update t set v = i::text where id = 10 + i;
	if i % 3 = 0 then raise exception 'no'; end if; exception when raise_exception then null; end;
		end loop; end \$\$");
step('prepared and not committed', "begin; update t set v = 'prepared' where id = 20;
	prepare transaction 'p'");
step('others meanwhile', "update t set v = 'meanwhile' where id = 21");
step('committed', "commit prepared 'p'");
step('prepared and rolled back', "begin; delete from t where id < 1000; prepare transaction 'q';
	rollback prepared 'q'");
step('only a lock', 'begin; select * from t where id = 21 for update; commit');
$varve->catch_up;

sub check_all
{
	my ($when) = @_;
	for my $moment (@moments)
	{
		my ($what, $lsn, $rows) = @$moment;
		$varve->same_rows($_, "lsn:$lsn", $rows->{$_}, "$what: $_ $when") for @tables;
	}
	return;
}
check_all('while it runs');

# --- A row's history follows its key back.
my $versions = $varve->items('/v1/tables/full_identity/rows/50/history');
is($versions->[-1]{op}, 'update', 'a row that took another key was updated');
is($versions->[-1]{before}{id}, 2, 'and had this key before');

$varve->stop_varved;
$varve->start;
check_all('after a restart');

$varve->stop_varved;
done_testing;
