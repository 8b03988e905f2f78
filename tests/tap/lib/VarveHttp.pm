# SPDX-License-Identifier: PostgreSQL
# As much HTTP/1.1 over a Unix socket as the tests need.
package VarveHttp;

use strict;
use warnings;

use IO::Socket::UNIX;

our $TIMEOUT_SECONDS = 60;

# Percent-encodes what is not safe in a path segment or a query value.
sub encode { my ($text) = @_; return $text =~ s/([^A-Za-z0-9._~-])/sprintf('%%%02X', ord $1)/ger }

# Options: accept, body, headers (hash). {status, headers, body}, or undef when nobody accepts.
sub request
{
	my ($path, $method, $target, %options) = @_;
	my $body = $options{body} // '';
	my %headers = (
		Host => 'localhost',
		Connection => 'close',
		'Content-Length' => length $body,
		Accept => $options{accept} // 'application/json',
		%{ $options{headers} // {} });
	$headers{'Content-Type'} //= 'application/json' if length $body;
	my $head = join '', map { "$_: $headers{$_}\r\n" } sort keys %headers;
	return raw($path, "$method $target HTTP/1.1\r\n$head\r\n$body");
}

# Sends these bytes and reads the answer to its end.
sub raw
{
	my ($path, $bytes) = @_;
	my $answer = '';
	my $done = eval {
		local $SIG{ALRM} = sub { die "no answer in $TIMEOUT_SECONDS s\n" };
		alarm $TIMEOUT_SECONDS;
		my $socket = IO::Socket::UNIX->new(Peer => $path) or do { alarm 0; return 0 };
		$socket->print($bytes);
		$socket->flush;
		while (sysread($socket, my $part, 65536)) { $answer .= $part }
		alarm 0;
		1;
	};
	alarm 0;
	die $@ if $@;
	return undef if !$done;
	return parse($answer);
}

sub parse
{
	my ($answer) = @_;
	return { status => 0, headers => {}, body => $answer }
	  if $answer !~ /\AHTTP\/1\.\d (\d+)[^\r\n]*\r\n(.*?)\r\n\r\n(.*)\z/s;
	my ($status, $head, $body) = ($1, $2, $3);
	my %headers = map { /^([^:]+):\s*(.*?)\s*$/ ? (lc $1 => $2) : () } split /\r\n/, $head;
	$body = unchunk($body) if ($headers{'transfer-encoding'} // '') eq 'chunked';
	return { status => $status, headers => \%headers, body => $body };
}

# The body without its chunk marks; undef for an answer that was cut.
sub unchunk
{
	my ($body) = @_;
	my $plain = '';
	while ($body =~ s/\A([0-9A-Fa-f]+)\r\n//)
	{
		my $length = hex $1;
		return $plain if $length == 0;
		return undef if length $body < $length + 2;
		$plain .= substr $body, 0, $length;
		$body = substr $body, $length + 2;
	}
	return undef;
}

1;
