# SPDX-License-Identifier: PostgreSQL
# A partitioned table that is published as one: first copy from the partitions, changes of rows wherever they
# lie, rows that move. Not a cheaper tier: what the first copy and the stream make of one table in many is
# compared with PostgreSQL.
use strict;
use warnings;

use Test::More;
use VarveTest;

my $varve = VarveTest->new;
$varve->sql(<<'SQL');
create table r (id int, region text, v text, big text, primary key (id, region)) partition by list (region);
alter table r alter big set storage external;
create table r_north partition of r for values in ('n');
create table r_south (big text, gone int, v text, region text not null, id int not null,
	primary key (id, region));
alter table r_south drop gone, alter big set storage external;
alter table r attach partition r_south for values in ('s');
create table r_rest partition of r default partition by hash (id);
create table r_rest_0 partition of r_rest for values with (modulus 2, remainder 0);
create table r_rest_1 partition of r_rest for values with (modulus 2, remainder 1);
insert into r select g, (array['n', 's', 'e', 'w'])[g % 4 + 1], 'v' || g, repeat('big' || g, 1000)
	from generate_series(1, 40) g;
alter table r add column early text default 'early', add made int generated always as (id * 2) stored;
insert into r (id, region, v) values (100, 's', 'after the column');
create table plain (id int primary key, v text);
create table empty_root (id int primary key, v text) partition by range (id);
create publication varve for table r, plain, empty_root with (publish_via_partition_root);
SQL

# What one table is in the server, all its partitions with it.
sub rows_of
{
	return [ split /\n/, $varve->oracle("set search_path = pg_catalog;
		select to_jsonb(whole_row)::text from public.$_[0] whole_row") ];
}

my @init = ('init', '--source', $varve->dsn, '--config', "$varve->{dir}/other.toml");
is(($varve->varve(@init, '--tables', 'r_*'))[0], 0, 'partitions are not added to what has them already');
$varve->start;
my @moments;

sub step
{
	my ($what, $sql) = @_;
	$varve->sql($sql);
	push @moments, [ $what, $varve->lsn, { map { $_ => rows_of($_) } 'r', 'empty_root' } ];
	return;
}

step('as copied', 'select 1');
step('all partitions', "update r set v = v || '!'");
step('a row moves', "update r set region = 's' where id = 4");
step('rows move', "update r set region = case region when 'n' then 's' when 's' then 'e' else 'n' end");
step('within a tree', 'update r set id = id + 1001 where id < 10');
step('a key comes back', "begin; update r set region = 'x' where id = 20; update r set region = 'n'
	where id = 20; delete from r where id = 20; insert into r values (20, 'w', 'anew'); commit");
step('savepoints', "begin; savepoint a; update r set region = 'z' where id = 21; rollback to a;
	savepoint b; update r set region = 'y' where id = 22; release b; delete from r where id = 23; commit");
step('a new partition', "create table r_new partition of r for values in ('new');
	insert into r values (300, 'new', 'n'); update r set region = 'new' where id = 24");
step('made apart and attached at once', "begin; create table apart (like r including all);
	alter table r attach partition apart for values in ('apart');
	insert into r values (301, 'apart', 'a'); commit");
step('a column with a default', "alter table r add column late int default 5;
	insert into r (id, region) values (302, 'new'); update r set v = 'late' where id = 100");
step('a column less', 'alter table r drop column early');
step('deleted', 'delete from r where id % 3 = 0');
step('the first partition of an empty one', "create table empty_root_1 partition of empty_root
	for values from (0) to (10); insert into empty_root values (1, 'first')");
step('truncated', 'truncate r');
step('filled again', "insert into r
	select g, (array['n', 's', 'e', 'new'])[g % 4 + 1] from generate_series(1, 20) g");
$varve->catch_up;

sub check_all
{
	for my $moment (@moments)
	{
		my ($what, $lsn, $rows) = @$moment;
		$varve->same_rows($_, "lsn:$lsn", $rows->{$_}, "$what: $_ $_[0]") for sort keys %$rows;
	}
	return;
}
check_all('while it runs');
my $key = '[24,"new"]';
my $versions = $varve->items("/v1/tables/r/rows/%5B24%2C%22new%22%5D/history?to=lsn:$moments[7][1]");
is($versions->[-1]{op}, 'update', 'a row that moved was updated');
isnt($versions->[-1]{before}{region}, 'new', 'and was in another partition before');
like($varve->varve_ok('tables'), qr/public\.r\b.*tracked/, 'the table is followed as one');
unlike($varve->varve_ok('tables'), qr/r_north/, 'its partitions are not');
my ($status, $doctor) = $varve->varve('doctor', '--config', $varve->config_path);
like($doctor, qr/public\.r\b.*followed as one table/, 'doctor says so');
unlike($doctor, qr/r_south/, 'and does not ask for its partitions');

# Rows that leave without changes.
my $last = $moments[-1];
$varve->sql('alter table r detach partition r_south');
$varve->sql("insert into plain values (1, 'goes on')");
$varve->catch_up;
my ($exit, undef, $error) = $varve->varve('scan', 'r');
is($exit, 4, 'after that the table is not read');
like($error, qr/its partition "r_south" was detached or dropped/, 'for the reason that is named');
$varve->same_rows('r', "lsn:$last->[1]", $last->[2]{r}, 'before it is as it was');
$varve->same_rows('plain', 'now', $varve->live_rows('plain'), 'other tables go on');
$varve->stop_varved;
$varve->start;
check_all('after a restart');
$varve->stop_varved;


# A first copy leaves out a table with rows that are not logged, and says why.
$varve->sql("create unlogged table r_fast partition of r for values in ('fast')");
($status, $doctor) = $varve->varve('doctor', '--config', $varve->config_path);
like($doctor, qr/public\.r\b.*no WAL.*r_fast/, 'doctor names the partition');
done_testing;
