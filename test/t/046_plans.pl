# A claim reads a few rows by index, however many there are, also by plans made when the store was empty.
#
# One session has its plans made on empty tables and keeps them. Then twenty thousand instances are dispatchable, and
# thousands claimed, delayed, parked, ended. What a claim reads is counted by the statistics of tables and indexes.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SayiirTest;
use SayiirWorkers;
use Test::More;

# Dead rows stay, and stay uncounted, unless a case says so.
my $node = new_node('plans', conf => "autovacuum = off\n");

install_workers($node, 'postgres');
my $old = $node->background_psql('postgres');

# Every function once, so that each of its plans is made, and the tables are empty again.
$old->query_safe(<<'SQL');
SET sayiir.notify = off;
SELECT test.claims(5, tags => '{gpu}', wf => '{wf}');
SELECT test.put('x'), test.put('y'), test.put('z', NULL, kind => 'AtSignal', signal => 'go'), test.jput('j', 'signal go t2');
SELECT sayiir_claim_task('y', test.id('t1'), 'w', '1 microsecond');
SELECT test.expired('y');
SELECT sayiir_send_event('z', 'go', 'event'), sayiir_send_event('j', 'go', 'event'), sayiir_store_signal('x', 'Pause');
SELECT test.claims(9);
SELECT sayiir_unpause('x');
SELECT test.claims(1);
SELECT sayiir_extend_claim(instance_id, claim_token, '1 hour') FROM sayiir_workflow_claims;
SELECT test.step('x', test.token('x'), 't2', done => 't1', output => 'out', next => '1 hour');
SELECT sayiir_release_claim('x', test.token('x'), '1 hour');
SELECT sayiir_delete_snapshot(i) FROM sayiir_list_snapshots() i;
SQL
is($old->query_safe('SELECT count(*) FROM sayiir_workflow_snapshots, sayiir_workflow_ready'), 0, 'plans are made on an empty store');

# --- Many of each --------------------------------------------------------------------------------

$node->safe_psql('postgres', <<'SQL');
SET sayiir.notify = off;
SELECT count(test.put('claimed' || g)) FROM generate_series(1, 10000) g;
SELECT count(*) FROM sayiir_claim_tasks('busy', 20000, '1 day');
SELECT count(test.put('free' || g, priority => 1 + g % 2)) FROM generate_series(1, 20000) g;
SELECT count(test.put('delayed' || g, wake => '2101-01-01Z')) FROM generate_series(1, 5000) g;
SELECT count(test.put('parked' || g)) FROM generate_series(1, 5000) g;
SELECT count(test.put('parked' || g, NULL, kind => 'AtSignal', signal => 'go')) FROM generate_series(1, 5000) g;
SELECT count(test.put('ended' || g, status => 'Completed', cur => NULL)) FROM generate_series(1, 5000) g;
VACUUM ANALYZE;
SQL

# What a call in a session reads of the extension's tables: sequential scans, and rows or index entries.
sub reads
{
	my ($session, $sql) = @_;
	my $sum = "SELECT sum(seq_scan), sum(seq_tup_read), sum(idx_tup_fetch) + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE relname LIKE 'sayiir%')
		FROM pg_stat_user_tables WHERE relname LIKE 'sayiir%'";

	# A session reports what it has done when it has been idle for a moment, or is told to.
	$session->query_safe('SELECT pg_stat_force_next_flush()');
	$session->query_safe('SELECT 1');
	my @before = split /\|/, $node->safe_psql('postgres', $sum);
	my $answer = $session->query_safe($sql);
	$session->query_safe('SELECT pg_stat_force_next_flush()');
	$session->query_safe('SELECT 1');
	my @after = split /\|/, $node->safe_psql('postgres', $sum);
	return ($answer, map { $after[$_] - $before[$_] } 0 .. 2);
}

my $new = $node->background_psql('postgres');
$new->query_safe('SET sayiir.notify = off');
foreach my $case ([ 'plans made on the empty store' => $old ], [ 'plans made now' => $new ])
{
	my ($which, $session) = @$case;

	foreach my $call (
		[ 'a claim' => 'SELECT test.claims()', qr/^free\d+ at t1$/, 200 ],
		[ 'a claim once more' => 'SELECT test.claims()', qr/^free\d+ at t1$/, 200 ],
		[ 'ten claims in one call' => 'SELECT test.claims(10)', qr/^(free\d+ at t1(, )?){10}$/, 1000 ],
		[ 'a claim with tags and definitions' => "SELECT test.claims(1, tags => '{gpu}', wf => '{wf,other}')", qr/^free\d+ at t1$/, 200 ],
		[ 'a claim that finds nothing' => "SELECT test.claims(1, wf => '{other}')", qr/^nothing$/, 200 ],
		[ 'a claim of one task' => "SELECT count(*) FROM sayiir_claim_task('free20000', test.id('t1'), 'w', '1 day')", qr/^[01]$/, 50 ],
		[ 'a heartbeat' => "SELECT sayiir_extend_claim('free20000', c.claim_token, '1 day') IS NOT NULL FROM sayiir_workflow_claims c WHERE c.instance_id = 'free20000'", qr/^t$/, 50 ],
		[ 'a step' => "SELECT test.step('claimed7', test.token('claimed7'), 't2', done => 't1', output => 'out', next => '1 day')", qr/^\(\d,InProgress,/, 100 ],
		[ 'an event' => "SELECT sayiir_send_event('parked7', 'go', 'x')", qr/^t$/, 100 ],
		[ 'a release' => "SELECT sayiir_release_claim('claimed9', test.token('claimed9')); SELECT count(*) FROM sayiir_claim_task('claimed9', test.id('t1'), 'w', '1 day')", qr/^\s*1$/, 100 ],
		[ 'a pause' => "SELECT sayiir_pause('free19999'); SELECT sayiir_unpause('free19999')", qr/^Paused\n\d+$/, 150 ])
	{
		my ($what, $sql, $expected, $most) = @$call;
		my ($answer, $scans, $scanned, $read) = reads($session, $sql);

		like($answer, $expected, "$which: $what");
		is("$scans $scanned", '0 0', "$which: $what does no sequential scan");
		ok($read > 0 && $read < $most, "$which: $what reads $read rows and index entries, less than $most");
	}
}

# --- Many pending signals and expired claims -------------------------------------------------------

# Stored for instances whose workers are alive: nothing for this call to do, so nothing to read through.
$node->safe_psql('postgres', <<'SQL');
SELECT count(sayiir_store_signal('claimed' || g, 'Cancel')) FROM generate_series(5001, 10000) g;
VACUUM ANALYZE;
SQL
my ($answer, $scans, $scanned, $read) = reads($old, 'SELECT test.claims()');
like($answer, qr/^free\d+ at t1$/, 'a claim beside 5,000 pending signals of claimed instances');
is($scans, 0, '... without a sequential scan');
cmp_ok($read, '<', 500, "... reads $read rows and index entries, not all signals");

# The workers of a thousand instances are gone at once.
$node->safe_psql('postgres', <<'SQL');
DELETE FROM sayiir_workflow_signals;
SELECT count(sayiir_extend_claim(instance_id, claim_token, '1 microsecond')) FROM sayiir_workflow_claims
WHERE instance_id LIKE 'claimed1%';
VACUUM ANALYZE;
SQL
my $expired = $node->safe_psql('postgres', 'SELECT count(*) FROM sayiir_workflow_claims WHERE expires_at <= clock_timestamp()');
cmp_ok($expired, '>', 1000, "$expired claims have expired");
# They are given back once, at so much for each; the calls that follow have nothing of it.
($answer, $scans, $scanned, $read) = reads($old, 'SELECT test.claims()');
is("$scans $scanned", '0 0', 'a claim beside them does no sequential scan');
cmp_ok($read, '<', 15 * $expired, "... and reads $read rows and index entries");
$old->query_safe('SELECT test.claims()') for 1 .. 3;
($answer, $scans, $scanned, $read) = reads($old, 'SELECT test.claims()');
is("$scans $scanned", '0 0', 'nor does a later one');
ok($read > 0 && $read < 500, "... and reads $read rows and index entries: the expired ones are dealt with");
is($node->safe_psql('postgres', 'SELECT count(*) FROM sayiir_workflow_claims WHERE expires_at <= clock_timestamp()'), 0, 'all of them');
integrity_ok($node, 'postgres', 'the store is sound');

$_->quit foreach $old, $new;
$node->stop;
done_testing();
