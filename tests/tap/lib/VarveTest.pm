# SPDX-License-Identifier: PostgreSQL
# A PostgreSQL server with a varved beside it, for the whole-path tests. Programs are found on PATH and the
# plugin in VARVE_LIB (tests/tap/run sets both up).
package VarveTest;

use strict;
use warnings;

use IPC::Run ();
use JSON::PP ();
use POSIX    ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes ();
use VarveHttp;

# The settings under which PostgreSQL is the oracle for rows as JSON.
our $PINNED = join ' ', map { "-c $_" } 'TimeZone=UTC', 'DateStyle=ISO', 'IntervalStyle=postgres',
  'bytea_output=hex', 'extra_float_digits=1', 'lc_monetary=C', 'xmlbinary=base64',
  'quote_all_identifiers=off';
our $WAIT_SECONDS = 60 * ($ENV{VARVE_TEST_SLOW} // 1);

my @running;

# Options: name; conf (more lines of postgresql.conf); plugin (0: the server may not load it); config (more
# lines of varved's configuration, by section); endpoint (0: the server is not told where to send changes);
# start (0: the server is not started).
sub new
{
	my ($class, %options) = @_;
	my $name = $options{name} // 'main';
	my $dir = PostgreSQL::Test::Utils::tempdir_short();
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init(allows_streaming => 'logical', extra => [ '--encoding=UTF8', '--locale=C.UTF-8' ]);
	$node->append_conf('postgresql.conf', <<"CONF");
max_connections = 40
dynamic_library_path = '$ENV{VARVE_LIB}:\$libdir'
timezone = 'America/St_Johns'
CONF
	$node->append_conf('postgresql.conf', "varve.ingest_endpoint = 'ipc://$dir/ingest.sock'\n")
	  if $options{endpoint} // 1;
	$node->append_conf('postgresql.conf', "output_plugin_libraries = 'pgoutput, test_decoding, varve'\n")
	  if has_allow_list() && ($options{plugin} // 1);
	$node->append_conf('postgresql.conf', $options{conf}) if defined $options{conf};
	my $self = bless {
		node   => $node,
		name   => $name,
		dir    => $dir,
		log    => "$PostgreSQL::Test::Utils::log_path/varved_$name.log",
		starts => 0,
		dbname => 'postgres',
		%options
	}, $class;
	$self->write_config;
	$node->start if $options{start} // 1;
	return $self;
}

# Servers since 15.19 load an output plugin only when output_plugin_libraries names it.
sub has_allow_list
{
	my ($known) = run_command([ 'postgres', '--describe-config' ]);
	return $known =~ /^output_plugin_libraries\t/m;
}

sub node   { return $_[0]{node} }
sub socket { return "$_[0]{dir}/http.sock" }
sub dsn    { my $self = shift; return $self->{node}->connstr($self->{dbname}) }

sub write_config
{
	my ($self, %more) = @_;
	my %sections = (
		source => [ 'dsn = "' . $self->dsn =~ s/(["\\])/\\$1/gr . '"', 'publication = "varve"',
			'slot = "varve"' ],
		store  => [ qq(data_dir = "$self->{dir}/data") ],
		http   => [ 'socket = "' . $self->socket . '"' ],
		log    => ['level = "debug"']);
	push @{ $sections{ingest} }, qq(transport = "$ENV{VARVE_TEST_TRANSPORT}") if $ENV{VARVE_TEST_TRANSPORT};
	for my $section (keys %more)
	{
		push @{ $sections{$section} }, @{ $more{$section} };
	}
	my $text = join '', map { join("\n", "[$_]", @{ $sections{$_} }) . "\n" } sort keys %sections;
	open(my $out, '>', $self->config_path) or die "cannot write the config: $!";
	print $out $text;
	close $out;
	return;
}
sub config_path { return "$_[0]{dir}/varve.toml" }

# --- The server.

sub sql { my ($self, $sql) = @_; return $self->{node}->safe_psql($self->{dbname}, $sql) }

# Under the pinned settings; one value a line.
sub oracle
{
	my ($self, $sql) = @_;
	local $ENV{PGOPTIONS} = $PINNED;
	return $self->{node}->safe_psql($self->{dbname}, $sql);
}

# A table as PostgreSQL has it now: the rows as to_jsonb prints them.
sub live_rows
{
	my ($self, $table, $order) = @_;
	$order //= '1';
	$table = "public.$table" if $table !~ /\./;
	return [ split /\n/, $self->oracle("set search_path = pg_catalog;
		select to_jsonb(whole_row)::text from only $table whole_row order by $order") ];
}

# The end of flushed WAL. With nobody writing it is a name for the moment of what PostgreSQL holds.
sub lsn { return $_[0]->sql('select pg_current_wal_flush_lsn()') }

# --- varved.

sub start_varved
{
	my ($self, %environment) = @_;
	die 'varved is running' if $self->{pid};
	my $pid = fork // die "fork: $!";
	if ($pid == 0)
	{
		local %ENV = (%ENV, %environment);
		delete $ENV{PGOPTIONS};
		open(STDOUT, '>>', $self->{log}) or POSIX::_exit(126);
		open(STDERR, '>&', \*STDOUT) or POSIX::_exit(126);
		open(STDIN, '<', '/dev/null') or POSIX::_exit(126);
		exec('varved', '--config', $self->config_path) or POSIX::_exit(127);
	}
	$self->{pid} = $pid;
	$self->{starts}++;
	push @running, $self;
	return $self;
}

# Ready: the first copy is complete and the stream runs.
sub wait_ready
{
	my ($self) = @_;
	$self->wait_for('varved is ready', sub {
		die "varved ended, its log:\n" . $self->log_tail if !$self->is_running;
		my $answer = $self->http('GET', '/readyz');
		return $answer && $answer->{status} == 200;
	});
	return $self;
}

sub start { my $self = shift; return $self->start_varved(@_)->wait_ready }

sub is_running
{
	my ($self) = @_;
	return 0 if !$self->{pid};
	return 1 if waitpid($self->{pid}, POSIX::WNOHANG()) == 0;
	$self->{status} = $?;
	delete $self->{pid};
	return 0;
}

# Ends it with the signal (TERM) and waits; the wait status is the result. A SIGTERM must end it cleanly.
sub stop_varved
{
	my ($self, $signal) = @_;
	$signal //= 'TERM';
	return $self->{status} if !$self->is_running;
	kill $signal, $self->{pid};
	$self->wait_for("varved ends after SIG$signal", sub { return !$self->is_running });
	@running = grep { $_ != $self } @running;
	is($self->{status}, 0, 'varved ends cleanly when asked') if $signal eq 'TERM';
	$self->no_sanitizer_report;
	return $self->{status};
}
sub kill_varved { my $self = shift; return $self->stop_varved('KILL') }

sub no_sanitizer_report
{
	my ($self) = @_;
	unlike($self->log_text, qr/AddressSanitizer|LeakSanitizer|runtime error:|CHECK failed/,
		'no report of a sanitizer or broken invariant in its log');
	return;
}

sub log_text { my $self = shift; return -e $self->{log} ? slurp_file($self->{log}) : '' }
sub log_tail
{
	my ($self) = @_;
	my @lines = split /\n/, $self->log_text;
	return join "\n", @lines > 30 ? @lines[ -30 .. -1 ] : @lines;
}

# The log must come to match, from `offset` on.
sub wait_for_log
{
	my ($self, $pattern, $offset) = @_;
	$self->wait_for("the log says $pattern", sub { return substr($self->log_text, $offset // 0)
		=~ $pattern });
	return;
}
sub log_size { return length $_[0]->log_text }

# Polls; fails the whole test after the bound.
sub wait_for
{
	my ($self, $what, $condition) = @_;
	my $deadline = Time::HiRes::time() + $WAIT_SECONDS;
	while (Time::HiRes::time() < $deadline)
	{
		return 1 if $condition->();
		Time::HiRes::usleep(50_000);
	}
	diag("varved's log:\n" . $self->log_tail);
	die "waited $WAIT_SECONDS s in vain: $what";
}

# --- Asking it.

# {status, headers (lower case), body}; undef when there is nobody.
sub http { my ($self, @request) = @_; return VarveHttp::request($self->socket, @request) }

# The decoded body of a GET that must succeed.
sub get_json
{
	my ($self, $target) = @_;
	my $answer = $self->http('GET', $target) // die "GET $target: nobody answers";
	die "GET $target: $answer->{status} $answer->{body}" if $answer->{status} != 200;
	return JSON::PP::decode_json($answer->{body});
}

# The items of a list: the lines of its NDJSON between the opening one and the end, decoded. The answer
# must say
# at its end how many there were: a cut answer would not.
sub items
{
	my ($self, $target) = @_;
	my $answer = $self->http('GET', $target, accept => 'application/x-ndjson')
		// die "GET $target: nobody answers";
	die "GET $target: $answer->{status} $answer->{body}" if $answer->{status} != 200;
	return [ map { JSON::PP::decode_json($_) } between_at_and_end($target, $answer->{body}) ];
}

sub between_at_and_end
{
	my ($what, $body) = @_;
	my @lines = split /\n/, $body;
	my ($first, $last) = map { JSON::PP::decode_json($_) } shift @lines, pop @lines;
	die "$what: no opening line" if !exists $first->{at};
	die "$what: no end line" if !exists $last->{end};
	die "$what: $last->{end}{rows} announced, " . @lines . ' came' if $last->{end}{rows} != @lines;
	return @lines;
}

# (status, code, message) of a request that must fail.
sub http_error
{
	my ($self, @request) = @_;
	my $answer = $self->http(@request) // die "@request: nobody answers";
	my $error = eval { JSON::PP::decode_json($answer->{body})->{error} } // {};
	return ($answer->{status}, $error->{code} // "no error: $answer->{body}", $error->{message} // '');
}

# The command line: (exit status, stdout, stderr).
sub varve
{
	my ($self, @arguments) = @_;
	my ($out, $err) = ('', '');
	local $ENV{VARVE_SERVER} = $self->socket;
	IPC::Run::run([ 'varve', @arguments ], '<', \undef, '>', \$out, '2>', \$err, IPC::Run::timeout(120));
	return ($? >> 8, $out, $err);
}
sub varve_ok
{
	my ($self, @arguments) = @_;
	my ($status, $out, $err) = $self->varve(@arguments);
	die "varve @arguments: exit $status\n$out$err" if $status != 0;
	return $out;
}

# All that the server has is readable when it returns.
sub catch_up { my $self = shift; $self->varve_ok('wait'); return $self }

# A table as Varve has it at a reference: row texts, in its order.
sub scan
{
	my ($self, $table, $reference, @more) = @_;
	my @command = ('scan', $table, '--as-of', $reference, '--ndjson', @more);
	return [ between_at_and_end("varve @command", $self->varve_ok(@command)) ];
}

# Varve's table at the reference is, row by row and byte by byte, what PostgreSQL held.
sub same_rows
{
	my ($self, $table, $reference, $expected, $name) = @_;
	my $rows = $self->scan($table, $reference);
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return is_deeply([ sort @$rows ], [ sort @$expected ], $name);
}

END
{
	my $status = $?;
	for my $self (@running)
	{
		next if !$self->{pid};
		kill 'CONT', $self->{pid};
		kill 'KILL', $self->{pid};
		waitpid $self->{pid}, 0;
	}
	$? = $status;
}

1;
