# What the tests of sayiir.notify = deferred share: a server that preloads the library, the counters,
# the process that sends, and an ear.
package SayiirDeferred;

use strict;
use warnings;

use Exporter 'import';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SayiirTest;
use Test::More;

our @EXPORT = qw(deferred_conf stats settle sender_pid no_sender hold_sender stop_sender listener heard);

# Settings of a server on which every session defers, unless it says otherwise.
sub deferred_conf
{
	return "shared_preload_libraries = 'sayiir_pg'\nsayiir.notify = deferred\n" . join('', map { "$_\n" } @_);
}

# queued, sent, coalesced, dropped of a database
sub stats
{
	my ($node, $db) = @_;
	my %stats;

	@stats{qw(queued sent coalesced dropped)} =
	  split /\|/, $node->safe_psql($db, 'SELECT queued, sent, coalesced, dropped FROM sayiir_wakeup_stats()');
	return \%stats;
}

# Waits until what is in the ring of a database was sent; some of it may have been lost.
sub settle
{
	my ($node, $db, $lost) = @_;

	$lost //= 0;
	$node->poll_query_until($db, "SELECT queued = sent + coalesced + $lost FROM sayiir_wakeup_stats()")
	  or die 'the ring is never empty';
	return;
}

# The process that sends the hints of a database, '' when there is none.
sub sender_pid
{
	my ($node, $db) = @_;

	return $node->safe_psql('postgres',
		"SELECT pid FROM pg_stat_activity WHERE backend_type = 'sayiir_pg wakeups' AND datname = '$db'");
}

# Waits until nobody sends for a database.
sub no_sender
{
	my ($node, $db) = @_;

	return $node->poll_query_until('postgres',
		"SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type = 'sayiir_pg wakeups' AND datname = '$db'");
}

# A session with an open transaction that may bring hints, so that the sender stays; end it by quit.
sub hold_sender
{
	my ($node, $db) = @_;
	my $session = session($node, $db);

	$session->query_safe("BEGIN; SELECT test.save('holder', 'never committed')");
	return $session;
}

# Halts the sender where it waits for hints, with no lock in its hands, and returns its process.
sub stop_sender
{
	my ($node, $db) = @_;
	my $waits = "FROM pg_stat_activity WHERE backend_type = 'sayiir_pg wakeups' AND datname = '$db' AND wait_event_type = 'Extension'";

	for (;;)
	{
		$node->poll_query_until('postgres', "SELECT count(*) = 1 $waits") or die 'no sender waits';
		my $pid = sender_pid($node, $db);
		kill 'STOP', $pid;
		return $pid if $node->safe_psql('postgres', "SELECT count(*) $waits") eq '1';
		kill 'CONT', $pid;
	}
	return;
}

# A session that listens in a database.
sub listener
{
	my ($node, $db) = @_;
	my $ear = $node->background_psql($db);

	$ear->query_safe('LISTEN sayiir_task_ready; LISTEN marker');
	return { session => $ear, node => $node, db => $db, marker => 0 };
}

# The payloads that have come since the last call. What was sent before a marker has come before it.
sub heard
{
	my ($ear) = @_;
	my $heard = '';
	my $marker = ++$ear->{marker};
	my $tries = 10 * $PostgreSQL::Test::Utils::timeout_default;

	$ear->{node}->safe_psql($ear->{db}, "NOTIFY marker, '$marker'");
	until ($heard =~ /"marker" with payload "$marker"/)
	{
		die "the marker never came: $heard" if $tries-- == 0;
		$heard .= $ear->{session}->query_safe('SELECT') . "\n";
	}
	return map { /with payload "(.*)" received/ ? $1 : '' } grep { /"sayiir_task_ready"/ } split /\n/, $heard;
}

1;
