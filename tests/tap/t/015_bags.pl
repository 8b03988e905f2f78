# SPDX-License-Identifier: PostgreSQL
# A table without a key, where rows that are the same are as many as they are. Not a cheaper tier: which old
# row PostgreSQL logs, and in which bytes, is its own to say; every moment is compared with it.
use strict;
use warnings;

use Test::More;
use VarveTest;

my $varve = VarveTest->new(conf => "logical_decoding_work_mem = 64kB\n");
$varve->sql(<<'SQL');
create type mood as enum ('sad', 'glad');
create table b (n numeric, f float8, t text, j json, big text, m mood, a int[], c char(5));
alter table b replica identity full;
alter table b alter big set storage external;
insert into b values (1.0, '-0', 'x', '{"k": 1}', repeat('big', 2000), 'sad', '{1,null}', 'c'),
	(1.00, '0', 'x', '{"k":1}', repeat('big', 2000), 'sad', '[2:3]={1,2}', 'c'),
	(1.0, '-0', 'x', '{"k": 1}', repeat('big', 2000), 'sad', '{1,null}', 'c'),
	('NaN', 'NaN', null, null, null, null, null, null), ('NaN', 'NaN', null, null, null, null, null, null);
alter table b add column early text default 'e';
insert into b (n) values (7), (7);
create table parts (k int, v text) partition by list (k);
create table parts_1 partition of parts for values in (1);
create table parts_2 (v text, k int);
alter table parts attach partition parts_2 for values in (2);
alter table parts replica identity full;
alter table parts_1 replica identity full;
alter table parts_2 replica identity full;
insert into parts values (1, 'x'), (1, 'x'), (2, 'y');
create table named (c regclass, n int);
alter table named replica identity full;
create publication varve for table b, parts, named with (publish_via_partition_root);
SQL

sub rows_of
{
	return [ split /\n/, $varve->oracle("set search_path = pg_catalog;
		select to_jsonb(whole_row)::text from public.$_[0] whole_row") ];
}

$varve->start;
my @moments;

sub step
{
	my ($what, $sql) = @_;
	$varve->sql($sql);
	push @moments, [ $what, $varve->lsn, { map { $_ => rows_of($_) } 'b', 'parts' } ];
	return;
}

step('as copied', 'select 1');
step('one of the same', "delete from b where ctid =
	(select min(ctid) from b where f = '-0' and n::text = '1.0')");
step('the same by =, not by its bytes', 'update b set n = 1.000 where n::text = $$1.0$$');
step('all of the same', 'delete from b where n = 7');
step('not a number', "update b set t = 'nan' where ctid = (select min(ctid) from b where n = 'NaN')");
step('large values unchanged', "update b set t = t || '!' where big is not null");
step('nothing changed', 'update b set t = t');
step('from minus zero to zero', "update b set f = 0 where f = 0");
step('many of the same', "insert into b (n, t) select 5, 'same' from generate_series(1, 3000)");
step('fewer', "delete from b where ctid in (select ctid from b where n = 5 order by random() limit 1000)");
step('others become like them', "update b set n = 5, t = 'same', early = 'e', big = null, j = null, m = null,
	a = null, c = null, f = null where n <> 5");
step('a column with a default', "alter table b add column late int default 3; insert into b (n) values (8);
	delete from b where ctid in (select ctid from b where n = 5 limit 10)");
step('a value of one row', "update b set late = 4 where ctid = (select min(ctid) from b where n = 5);
	update b set late = null where ctid = (select max(ctid) from b where n = 5)");
step('a column without a default', "alter table b add column plain text;
	update b set plain = 'p' where n = 8; delete from b where late = 4");
step('another name', 'alter table b rename column t to renamed; delete from b where late is null');
step('savepoints', "begin; savepoint s; delete from b; rollback to s; insert into b (n) values (9), (9);
	delete from b where ctid = (select max(ctid) from b where n = 9); commit");
step('moved', 'update parts set k = 3 - k');
step('truncated', "truncate b; insert into b (n) values (1), (1)");
step('gone and back', "begin; delete from b; insert into b (n) values (1), (1), (1); commit");
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

# --- What a row without a key can be asked for.
my ($status, $code, $message) = $varve->http_error('GET', '/v1/tables/b/rows/1');
is("$status $code", '400 invalid_argument', 'no row can be named');
like($message, qr/public\.b has no key/, 'because there is no key');
is(($varve->http_error('GET', '/v1/tables/b/rows/1/history'))[1], 'invalid_argument', 'nor its history');
like($varve->varve_ok('tables'), qr/public\.b .*\(the whole row\)/, 'tables says what rows are known by');
like(($varve->varve('doctor', '--config', $varve->config_path))[1], qr/table public\.b.*has no key/,
	'doctor says what is possible');
like(($varve->varve('scan', 'named'))[2], qr/column c.*name of an object/,
	'a table whose rows would not be found again is left out');

# --- Page by page is the same as at once.
my ($at, @paged, $next) = ("lsn:$moments[8][1]");
do
{
	my $after = $next ? "&after=%22$next%22" : '';
	my $page = $varve->get_json("/v1/tables/b/rows?as_of=$at&limit=700$after");
	push @paged, @{ $page->{rows} };
	$next = $page->{next};
} while ($next);
is(scalar @paged, scalar @{ $moments[8][2]{b} }, 'a scan in pages has each row once');

# --- Net changes are counted.
my ($from, $to) = ($moments[7][1], $moments[9][1]);
my $diff = $varve->items("/v1/diff?from=lsn:$from&to=lsn:$to&table=b");
is(scalar(grep { $_->{op} eq 'insert' } @$diff), 2000, 'what came more often than it went');
is(scalar @$diff, 2000, 'and nothing else');
my $show = $varve->varve_ok('show', "lsn:$moments[16][1]");
like($show, qr/^-.*"k": 1.*\n\+.*"k": 2/m, 'an update shows both rows');

# --- What ends it.
$varve->sql("alter table b drop column early");
$varve->catch_up;
($status, $code, $message) = $varve->http_error('GET', '/v1/tables/b/rows');
is($code, 'schema_changed', 'a column that is dropped ends it');
like($message, qr/column early was dropped/, 'by name');
$varve->stop_varved;
$varve->start;
check_all('after a restart');
$varve->stop_varved;
done_testing;
