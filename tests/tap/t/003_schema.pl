# SPDX-License-Identifier: PostgreSQL
# Columns come, go and change their names between the versions of a row; tables are rewritten, renamed and
# dropped. Not a cheaper tier: the schema of a moment comes from the server's catalogs, read while decoding.
use strict;
use warnings;

use Test::More;
use VarveTest;

my $varve = VarveTest->new;
$varve->sql(<<'SQL');
create table t (id int primary key, a int, b text, big text);
alter table t alter big set storage external;
insert into t select g, g, 'b' || g, repeat(chr(64 + g), 3000) from generate_series(1, 20) g;
create table rewritten (id int primary key, v int);
insert into rewritten select g, g from generate_series(1, 10) g;
create table renumbered (id int primary key, v int);
insert into renumbered select g, g from generate_series(1, 10) g;
create table moved (id int primary key, v int);
insert into moved values (1, 1);
create table dropped (id int primary key, v int);
insert into dropped values (1, 1);
create publication varve for table t, rewritten, renumbered, moved, dropped;
SQL
$varve->start;

my @moments;    # [what, lsn, rows]

sub step
{
	my ($what, $sql) = @_;
	$varve->sql($sql);
	push @moments, [ $what, $varve->lsn, $varve->live_rows('t', 'id') ];
	return;
}

step('as copied', 'select 1');
step('a column with a default', "alter table t add c int default 7");
step('some rows say otherwise', "update t set c = id where id <= 5");
step('another default', "alter table t alter c set default 8; insert into t values (21, 21, 'b21')");
step('a column without default', 'alter table t add d numeric(6,2)');
step('rows that have it', 'update t set d = 1.5 where id % 2 = 0');
step('a new name', 'alter table t rename b to "new b"');
step('a column less', 'alter table t drop a');
step('rows after that', "update t set \"new b\" = 'after' where id = 3; delete from t where id = 4");
step('the same name again, as another column', "alter table t add a text default 'again'");
step('a wider type without rewrite', 'alter table t alter d type numeric(10,2)');
step('unchanged big values across versions', "update t set c = c + 1");
step('names change places', 'alter table t rename c to x; alter table t rename "new b" to c;
	alter table t rename x to "new b"');
step('schema and rows in one transaction',
	"begin; insert into t (id, c) values (30, 'old'); alter table t add e date default '2026-01-01';
	 insert into t (id, c) values (31, 'new'); update t set e = null where id = 30; commit");
step('what is rolled back leaves nothing',
	"begin; alter table t add gone int; savepoint s; alter table t rename c to cc;
		insert into t (id, gone) values (40, 1); rollback");
step('half of it rolled back',
	"begin; savepoint s; alter table t add gone int; insert into t (id, gone) values (41, 1); rollback to s;
	 alter table t add stayed bool default true; insert into t (id) values (42); commit");
step('another column order in jsonb', 'alter table t add "Z" int default 1,
	add "long name of a column" int default 2');
step('a full copy of the heap is no change', 'vacuum full t; cluster t using t_pkey');
$varve->catch_up;

for my $moment (@moments)
{
	my ($what, $lsn, $rows) = @$moment;
	is_deeply($varve->scan('t', "lsn:$lsn"), $rows, $what);
}
my ($row3) = grep { /"id": 3[,}]/ } @{ $moments[0][2] };
my $answer = $varve->http('GET', '/v1/tables/t/rows/3?as_of=first');
like($answer->{body}, qr/\Q$row3\E/, 'a row with the columns of its moment');
$varve->kill_varved;
$varve->start;
for my $moment (@moments)
{
	my ($what, $lsn, $rows) = @$moment;
	is_deeply($varve->scan('t', "lsn:$lsn"), $rows, "$what, after a restart");
}

# --- Rewrites that cannot be followed: never a wrong value.
for my $case ([ 'rewritten', 'alter table rewritten alter id type text' ],
	[ 'renumbered', 'alter table renumbered alter id type int using id + 100' ])
{
	my ($table, $rewrite) = @$case;
	$varve->sql("update $table set v = 100 where id = 1");
	my ($lsn, $rows) = ($varve->lsn, $varve->live_rows($table, 'id'));
	$varve->sql($rewrite);
	$varve->sql("insert into $table (id) values (11)");
	$varve->catch_up;
	is_deeply($varve->scan($table, "lsn:$lsn"), $rows, "$table before its rewrite");
	my ($status, $code, $message) = $varve->http_error('GET', "/v1/tables/$table/rows");
	is("$status $code", '409 schema_changed', "$table after its rewrite");
	like($message, qr/\Q$table\E/, 'the message names the table');
	($status, $code) = $varve->http_error('GET', "/v1/tables/$table/rows/2");
	is("$status $code", '409 schema_changed', 'a row of it too');
	($status, $code) = $varve->http_error('GET', "/v1/diff?table=$table&from=lsn:$lsn&to=now");
	is("$status $code", '409 schema_changed', 'a difference over it too');
}
is_deeply($varve->scan('t', 'now'), $varve->live_rows('t', 'id'), 'other tables go on');
my ($broken) = grep { $_->{table} eq 'public.rewritten' } @{ $varve->get_json('/v1/tables')->{tables} };
is($broken->{state}, 'broken', 'it is shown as broken');
ok(length($broken->{reason} // ''), 'with the reason');
for my $query ('from=first&to=now', 'from=first&to=now&stat=true', 'from=now&to=now')
{
	my $diff = $varve->get_json("/v1/diff?$query");
	is_deeply([ map { $_->{table} } @{ $diff->{unreadable} } ], [ 'public.renumbered', 'public.rewritten' ],
		"what cannot be compared is named: $query");
	my @items = grep { $_->{table} eq 'public.rewritten' } @{ $diff->{changes} // $diff->{tables} };
	is(scalar @items, $query =~ /first/ ? 1 : 0, 'it broke in between, or before');
	ok(!grep({ exists $_->{inserts} } @items), 'its rows are not counted');
}
$varve->varve_ok('diff', 'now', 'now', '--exit-code');    # a table that broke before is no difference

# --- Other names and none.
my $then = $varve->lsn;
$varve->sql('alter table moved rename to moved_on; update moved_on set v = 2');
$varve->sql('create schema s2; alter table moved_on set schema s2; update s2.moved_on set v = 3');
$varve->catch_up;
is_deeply($varve->scan('s2.moved_on', 'now'), [ $varve->oracle('select to_jsonb(t) from s2.moved_on t') ],
	'under its new name');
is_deeply($varve->scan('s2.moved_on', "lsn:$then"), ['{"v": 1, "id": 1}'], 'the past under its new name');
$varve->sql('drop table dropped');
$varve->catch_up;
is_deeply($varve->scan('dropped', "lsn:$then"), ['{"v": 1, "id": 1}'], 'a dropped table as it was');
my ($status, $code) = $varve->http_error('GET', '/v1/tables/dropped/rows?as_of=now');
is("$status $code", '404 not_tracked', 'it is not there now');

# --- The identity goes: what follows cannot be told apart.
$varve->sql('alter table t drop constraint t_pkey');
$varve->catch_up;
($status, $code) = $varve->http_error('GET', '/v1/tables/t/rows?as_of=now');
is("$status $code", '409 schema_changed', 'a table whose key went');
is_deeply($varve->scan('t', "lsn:$moments[-1][1]"), $moments[-1][2], 'is still readable before that');
ok($varve->is_running, 'varved runs on');

$varve->stop_varved;
done_testing;
