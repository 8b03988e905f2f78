# SPDX-License-Identifier: PostgreSQL
# Rows that come about in uncommon ways: generated columns, triggers, cascades, COPY FREEZE, MERGE, tables
# that plugins may read, identities that change on the way. Not a cheaper tier: the server makes these rows,
# and every moment is compared with what it has.
use strict;
use warnings;

use Test::More;
use VarveTest;

my $varve = VarveTest->new;
my $has_virtual = $varve->sql('show server_version_num') >= 180000;
my @tables = ('stored', 'virtual', 'triggered', 'parents', 'children', 'frozen', 'catalogs', 'echoed',
	'identity');
$varve->sql(<<'SQL');
create table stored (id int primary key, a int, twice int generated always as (a * 2) stored,
	big text generated always as (repeat(coalesce(a, 0)::text, 3000)) stored);
alter table stored alter big set storage external;
insert into stored (id, a) select g, g from generate_series(1, 5) g;
create table virtual (id int primary key, a int);
insert into virtual select g, g from generate_series(1, 3) g;
create table triggered (id int primary key, v text, changed int default 0);
create table parents (id int primary key);
create table children (id int primary key,
	parent int references parents on update cascade on delete set null);
create table frozen (id int primary key, v text);
create table catalogs (id int primary key, v text) with (user_catalog_table = true);
create table echoed (id int primary key, v text);
create table identity (id int primary key, k int not null unique, v text);
create table deferred (id int primary key deferrable, v text);
insert into identity select g, g, 'v' || g from generate_series(1, 9) g;
insert into parents select generate_series(1, 9);
insert into children select g, g from generate_series(1, 9) g;
create function bump() returns trigger language plpgsql as $$begin
	if new.id = 13 then return null; end if; new.changed := coalesce(old.changed, 0) + 1; return new; end$$;
create trigger bump before insert or update on triggered
	for each row execute function bump();
create function echo() returns trigger language plpgsql as $$begin
	insert into catalogs select new.id + 1000, tg_op
		where not exists (select from catalogs where id = new.id + 1000);
	insert into echoed values (new.id, tg_op) on conflict (id) do update set v = echoed.v || excluded.v;
	return null; end$$;
create trigger echo after insert or update on triggered for each row execute function echo();
create materialized view copied as select * from parents;
create unique index on copied (id);
SQL
$varve->sql("alter table virtual add v int generated always as (a * 10) virtual,
	add w text generated always as ('w' || a) virtual") if $has_virtual;
$varve->sql('create publication varve for table ' . join(', ', @tables));
$varve->start;

# A virtual column has no value in the row: to_jsonb computes one, Varve shows none.
sub rows_of
{
	my $virtual = $has_virtual ? " - '{v,w}'::text[]" : '';
	return [ split /\n/, $varve->oracle("set search_path = pg_catalog;
		select (to_jsonb(whole_row)" . ($_[0] eq 'virtual' ? $virtual : '') . ")::text
		from public.$_[0] whole_row") ];
}
my @moments;

sub step
{
	my ($what, $sql) = @_;
	$varve->sql($sql);
	push @moments, [ $what, $varve->lsn, { map { $_ => rows_of($_) } @tables } ];
	return;
}

step('as copied', 'select 1');
step('stored generated columns', "insert into stored (id, a) values (6, null); update stored set a = a + 1;
	update stored set id = 60 where id = 6");
step('their expression dropped', "alter table stored alter twice drop expression;
	update stored set twice = 0 where id = 1; insert into stored (id, a, twice) values (7, 7, 7)");
step('virtual ones', "insert into virtual (id, a) values (4, 4); update virtual set a = -a;
	delete from virtual where id = 2; alter table virtual add after text default 'after';
	insert into virtual (id) values (5)");
step('a row without what a trigger took', "insert into triggered values (12, 'a'), (13, 'never'), (14, 'b');
	update triggered set v = 'c'; update triggered set id = 15 where id = 14");
step('cascades', "update parents set id = id + 100 where id < 5; delete from parents where id > 7;
	update children set id = id + 1000 where parent is null");
step('frozen', "begin; truncate frozen; copy frozen from stdin with (freeze);
1\tcold\n2\tcolder\n\\.\ncommit;");
step('merge', "merge into parents p using (values (6), (7), (8)) s (id) on p.id = s.id
	when matched and s.id = 6 then delete when matched then update set id = 700
	when not matched then insert values (s.id)");
step('on conflict', "insert into triggered values (12, 'x'), (16, 'y')
	on conflict (id) do update set v = triggered.v || excluded.v;
	insert into triggered values (16, 'z') on conflict do nothing");
step('nothing changed', "update catalogs set v = v; update identity set id = id");
step('identities that change on the way', "begin; alter table identity replica identity full;
	update identity set v = 'full', id = id + 10 where id < 4; delete from identity where id = 4;
	alter table identity replica identity default;
	update identity set v = 'default', id = 500 where id = 5; commit");
step('a refresh is no change', "refresh materialized view copied;
	refresh materialized view concurrently copied");
step('many tables truncated', "begin; insert into frozen values (3, 'gone');
	truncate frozen, children, catalogs;
	insert into frozen values (3, 'kept'); commit");
step('a table made of another', "create table made as select * from identity; drop table made");
$varve->catch_up;

sub check_all
{
	for my $moment (@moments)
	{
		my ($what, $lsn, $rows) = @$moment;
		$varve->same_rows($_, "lsn:$lsn", $rows->{$_}, "$what: $_ $_[0]") for @tables;
	}
	return;
}
check_all('while it runs');
my $versions = $varve->items('/v1/tables/triggered/rows/15/history');
is_deeply([ map { $_->{op} } @$versions ],
	[ 'insert', 'update', 'update' ], 'a row keeps its life under another key');
$versions = $varve->items('/v1/tables/identity/rows/12/history');
is($versions->[-1]{before}{id}, 2, 'also when all of the old row was logged');

SKIP:
{
	skip 'no virtual columns', 2 if !$has_virtual;
	my ($row) = grep { /"id": 1,/ } @{ $varve->scan('virtual', 'now') };
	unlike($row, qr/"v"|"w"/, 'a virtual column is absent, and not null');
	unlike($varve->varve_ok('diff', 'first', 'now', '--table', 'virtual'), qr/"[vw]":/, 'in a diff too');
}

# Another key ends a table by name; tables without an identity are left out.
$varve->sql('alter table identity replica identity using index identity_k_key;
	update identity set v = $$index$$');
$varve->catch_up;
is(($varve->http_error('GET', '/v1/tables/identity/rows'))[1], 'schema_changed', 'another key');
$varve->same_rows('identity', "lsn:$moments[-1][1]", $moments[-1][2]{identity}, 'before it as it was');
like(($varve->varve('doctor', '--config', $varve->config_path))[1], qr/public\.deferred.*deferrable/,
	'a deferrable key is none');
$varve->stop_varved;
$varve->start;
check_all('after a restart');
$varve->stop_varved;
done_testing;
