# SPDX-License-Identifier: PostgreSQL
# Two servers that replicate into each other by the plugin, each from a slot with origin=none: every change
# arrives once and none comes back. Not a cheaper tier: the loop is one of two servers.
use strict;
use warnings;

use JSON::PP ();
use PostgreSQL::Test::Utils;
use Test::More;
use VarveTest;

my %servers = map { $_ => VarveTest->new(name => $_) } 'east', 'west';
my %peer = (east => 'west', west => 'east');
for my $name (sort keys %servers)
{
	$servers{$name}->sql(<<"SQL");
create table t (id int primary key, v text);
create publication varve for table t;
select pg_replication_origin_create('$peer{$name}');
select pg_create_logical_replication_slot('peer', 'varve');
SQL
}

sub lines_of
{
	my ($name, $function, $origin) = @_;
	my $text = $servers{$name}->sql("select data from pg_logical_slot_${function}_changes('peer', null, null,
		'publication_names', 'varve', 'format', 'json', 'origin', '$origin')");
	return map { JSON::PP->new->utf8->decode($_) } split /\n/, $text;
}

# Applies there what is new at this server; returns the rows and messages that it brought.
sub replicate
{
	my ($name) = @_;
	my ($sql, @brought) = ('');
	for my $line (lines_of($name, 'get', 'none'))
	{
		$sql = '' if $line->{kind} eq 'begin';
		if ($line->{kind} eq 'insert')
		{
			push @brought, $line->{new}{v};
			$sql .= "insert into t values ($line->{new}{id}, '$line->{new}{v}');\n";
		}
		elsif ($line->{kind} eq 'message')
		{
			push @brought, $line->{prefix};
			my $alone = $line->{transactional} ? 'true' : 'false';
			$sql .= "select pg_logical_emit_message($alone, '$line->{prefix}', '');\n";
		}
		next if $line->{kind} ne 'commit' && !($line->{kind} eq 'message' && !$line->{transactional});
		$servers{ $peer{$name} }->sql(<<"SQL") if $sql ne '';
select pg_replication_origin_session_setup('$name');
begin;
select pg_replication_origin_xact_setup('$line->{position}', '@{[ $line->{time} // '2020-01-01' ]}');
${sql}commit;
SQL
		$sql = '';
	}
	return \@brought;
}

for my $name (sort keys %servers)
{
	my $id = $name eq 'east' ? 1 : 2;
	$servers{$name}->sql("insert into t values ($id, '$name')");
	$servers{$name}->sql("begin; insert into t values ($id + 10, '$name again');
		select pg_logical_emit_message(true, '$name in', ''); commit");
	$servers{$name}->sql("select pg_logical_emit_message(false, '$name beside', '')");
}
is_deeply(
	replicate('east'),
	[ 'east', 'east again', 'east in', 'east beside' ],
	'east sends what is its own');

my @commits = grep { $_->{kind} eq 'commit' } lines_of('west', 'peek', 'any');
my @origins = grep { defined } map { $_->{origin} } @commits;
is(scalar @origins, 2, 'a slot without origin=none has what came from there');
is_deeply([ map { $_->{name} } @origins ], [ 'east', 'east' ], 'and says so');
is($servers{east}->sql("select '$origins[0]{lsn}'::pg_lsn < '$origins[1]{lsn}'
	and '$origins[1]{lsn}'::pg_lsn <= pg_current_wal_lsn()"), 't', 'with its places at the other server');

is_deeply(
	replicate('west'),
	[ 'west', 'west again', 'west in', 'west beside' ],
	'west sends what is its own');
for my $round (1, 2)
{
	is_deeply(replicate($_), [], "nothing comes back from $_, round $round") for 'east', 'west';
}
my $rows = "select string_agg(id || ' ' || v, ', ' order by id) from t";
is($servers{east}->sql($rows), '1 east, 2 west, 11 east again, 12 west again', 'east has every row once');
is($servers{west}->sql($rows), $servers{east}->sql($rows), 'west too');

done_testing();
